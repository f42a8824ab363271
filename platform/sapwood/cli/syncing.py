"""`sapwood connect` and `sapwood sync`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import COULD_NOT_RUN, DONE_WITH_FAILURES, INTERRUPTED, errors_to_exit_codes, print_json, say

if TYPE_CHECKING:
    from sapwood.memory import Memory
    from sapwood.plugins.forms import Field
    from sapwood.sync.run import RunReport

__all__ = ["ask_field", "connect", "sync"]

_SHOWN = 15
_INLINE = click.option(
    "--inline",
    is_flag=True,
    help="Run the connector in this process, for its author's debugger. Nothing guards against it.",
)


@click.command()
@click.argument("key")
@click.option(
    "--set", "given", multiple=True, metavar="FIELD=VALUE", help="A field of its configuration; may be repeated."
)
@click.option("--name", default="", help="By which it is called; what the service calls the account without it.")
@_INLINE
@click.option("--no-sync", is_flag=True, help="Only keep the connection, and fetch nothing yet.")
@with_common_options
def connect(
    key: str,
    given: tuple[str, ...],
    name: str,
    inline: bool,
    no_sync: bool,
    workspace: Path | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Connect an account of the connector KEY, and fetch it for the first time.

    It is checked before it is kept. Secrets are given as references:
    env:NAME, file:/path or keyring:service/user.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace, create=True) as memory:
        asking = not as_json and sys.stdin.isatty()
        connection = memory.connect(key, list(given), name=name, ask=ask_field if asking else None, inline=inline)
        if not as_json:
            say(f"Connected {connection.name} ({connection.connector}:{connection.account}).")
        reports = (
            [] if no_sync else _run(memory, [connection.name], confirm_deletes=False, inline=inline, as_json=as_json)
        )
        if as_json:
            told = {"connector": connection.connector, "name": connection.name, "account": connection.account}
            print_json({"connection": told, "runs": [_as_json(report) for report in reports]})
        _exit(reports)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--confirm-deletes", is_flag=True, help="Remove also what is so much that it looks like a mistake.")
@_INLINE
@with_common_options
def sync(
    names: tuple[str, ...], confirm_deletes: bool, inline: bool, workspace: Path | None, as_json: bool, debug: bool
) -> None:
    """Fetch what is new of the connections NAMES, or of all.

    A name is that of a connection, its account, or that of its connector.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        reports = _run(memory, list(names), confirm_deletes=confirm_deletes, inline=inline, as_json=as_json)
        if as_json:
            print_json({"runs": [_as_json(report) for report in reports]})
        elif not reports:
            say("Nothing is connected yet. `sapwood connect KEY` connects an account.")
        _exit(reports)


def ask_field(field: Field) -> str:
    """The text of a field, from the person at the terminal."""
    if field.description:
        say(field.description)
    return str(click.prompt(f"{field.title} ({field.accepts})"))


def _run(memory: Memory, names: list[str], *, confirm_deletes: bool, inline: bool, as_json: bool) -> list[RunReport]:
    from sapwood.cli.importing import Progress, Stopper

    progress, stopper = Progress(live=sys.stderr.isatty()), Stopper()
    before = [signal.signal(number, stopper) for number in (signal.SIGINT, signal.SIGTERM)]
    reports: list[RunReport] = []
    try:
        for report in memory.sync(
            names, confirm_deletes=confirm_deletes, inline=inline, observer=progress, started=stopper.watch, stopped=lambda: stopper.stopped,
            on_wait=lambda: click.echo("Waiting for another Sapwood that is writing …", err=True),
        ):  # fmt: skip
            progress.close()
            if not as_json:
                _show(report)
            reports.append(report)
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
        progress.close()
    return reports


def _show(report: RunReport) -> None:
    counts = ", ".join(f"{n} {s}" for s, n in sorted(report.counts.items()) if n) or "nothing new"
    click.secho(report.connection.name, bold=True, nl=False)
    say(f"  {report.connection.connector}: {report.status}, {counts}")
    if report.message:
        say(f"   {report.message}")
    for outcome in [o for o in report.outcomes if o.state in ("failed", "skipped")][:_SHOWN]:
        say(f"   {outcome.state}: {outcome.locator}: {outcome.reason}. {outcome.next_step}".rstrip())
    if report.held:
        say(
            f"   {report.held} stored items were not found any more. That is so many that nothing was removed: look there, "
            f"then run: sapwood sync {report.connection.name!r} --confirm-deletes"
        )


def _as_json(report: RunReport) -> dict[str, Any]:
    return {
        "connector": report.connection.connector, "name": report.connection.name, "account": report.connection.account, "status": report.status,
        "message": report.message, "counts": dict(report.counts), "removed": report.removed, "held_deletes": report.held,
        "items": [{"item_id": o.item_id, "state": o.state, "title": o.title, "reason": o.reason, "next_step": o.next_step} for o in report.outcomes],
    }  # fmt: skip


def _exit(reports: list[RunReport]) -> None:
    states = {report.status for report in reports}
    if "cancelled" in states:
        raise click.exceptions.Exit(INTERRUPTED)
    if states == {"failed"}:
        raise click.exceptions.Exit(COULD_NOT_RUN)
    if states & {"failed", "partial"} or any(r.held or r.counts["failed"] for r in reports):
        raise click.exceptions.Exit(DONE_WITH_FAILURES)
