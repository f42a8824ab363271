"""`forget`: show what would go, take it out, bring it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import DONE_WITH_FAILURES, counted, errors_to_exit_codes, print_json, say

_FEW = 1000  # jobs
_TEXTS = 3
_WIDTH = 160


@click.command()
@click.argument("target", required=False)
@click.option("--match", help="Forget every message and paragraph that holds this text.")
@click.option("--yes", is_flag=True, help="Do it; without this it is only shown.")
@click.option(
    "--purge",
    is_flag=True,
    help="At once and for good, off the disk; with the number of a receipt as TARGET, what that keeps.",
)
@click.option("--undo", metavar="RECEIPT", help="Bring back what a receipt took.")
@click.option("--list", "list_", is_flag=True, help="What was forgotten, and what can be brought back.")
@click.option("--resume", is_flag=True, help="Do to the end what was interrupted.")
@click.option(
    "--limit", "-n", default=20, show_default=True, type=click.IntRange(min=1), help="How many items are shown."
)
@with_common_options
def forget(
    target: str | None, match: str | None, yes: bool, purge: bool, undo: str | None, list_: bool, resume: bool, limit: int, workspace: Path | None,
    as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Forget an item, a source, a person or thing, or a text; it does not come back with the next sync.

    TARGET is an item_id or node_id, the name or id of a source or connection, or a name that `sapwood entities` lists.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if sum((target is not None, match is not None, undo is not None, list_, resume)) != 1:
            raise click.UsageError("Give one of TARGET, --match, --undo, --list or --resume.")
        if purge and (undo is not None or list_ or resume):
            raise click.UsageError("--purge goes with TARGET or --match.")
        if list_:
            _list(memory, as_json=as_json)
        elif resume:
            memory.finish_forgetting()
            _settle(memory)
            _list(memory, as_json=as_json)
        elif undo is not None:
            _undo(memory, undo, as_json=as_json)
        elif (
            purge
            and yes
            and any(receipt.number == target and receipt.state == "kept" for receipt in memory.forgotten())
        ):
            _purge(memory, str(target), as_json=as_json)
        elif not yes:
            _show(memory, target, match, limit, as_json=as_json)
        else:
            _act(memory, target, match, purge=purge, as_json=as_json)


def _settle(memory: Any) -> None:
    """Examine what came of it, unless much else waits to be done."""
    waiting = sum(sum(states.values()) for states in memory.jobs()[0].values())
    if waiting <= _FEW:
        memory.work(drain=True)


def _show(memory: Any, target: str | None, match: str | None, limit: int, *, as_json: bool) -> None:
    choice, affected = memory.to_forget(target, match=match)
    if as_json:
        items = [
            {"item_id": one.item.item_id, "title": one.item.title, "whole": one.whole, "why": one.why, "texts": one.shown} for one in affected
        ]  # fmt: skip
        print_json({"would_forget": items, "done": False})
        return
    for one in affected[:limit]:
        say(f"{one.item.title}  {'all of it: ' + one.why if one.whole else _parts(one)}")
        click.secho(f"   {one.item.item_id}", fg="cyan")
        for text in () if one.whole else one.shown[:_TEXTS]:
            say(f"   - {_around(choice, ' '.join(text.split()))}")
    if len(affected) > limit:
        say(f"and {len(affected) - limit} more; --limit shows them")
    if affected:
        whole = sum(one.whole for one in affected)
        say(
            f"{counted(whole, 'item')} would go as a whole, {len(affected) - whole} in part. Nothing was changed; add --yes to do it."
        )
    else:
        say("Nothing that is stored holds it.")
    if choice.scopes:
        say("What comes into it later will not be taken in either.")


def _around(choice: Any, line: str) -> str:
    """The part of a line that holds what is to go."""
    if len(line) <= _WIDTH:
        return line
    for at in range(0, len(line), _WIDTH // 2):
        if choice.holds(line[at : at + _WIDTH]):
            return f"{'… ' * (at > 0)}{line[at : at + _WIDTH]}{' …' * (at + _WIDTH < len(line))}"
    return line[:_WIDTH] + " …"


def _parts(one: Any) -> str:
    names = (
        ("message", len(one.cut.segments)),
        ("paragraph", len(one.cut.units)),
        ("name", len(one.cut.names)),
        ("edit", len(one.edits)),
    )
    return ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in names if count)


def _act(memory: Any, target: str | None, match: str | None, *, purge: bool, as_json: bool) -> None:
    done = memory.forget(target, match=match, purge=purge)
    _settle(memory)
    if as_json:
        print_json(done)
    elif not done["receipt"]:
        say("Nothing that is stored holds it; nothing was changed.")
    else:
        counts = (
            ", ".join(counted(count, name) for name, count in done["counts"].items() if count)
            or "nothing of what is stored"
        )
        say(f"Forgotten: {counts}. Receipt {done['receipt']}.")
        if purge:
            say("Backups that you made elsewhere are yours to delete.")
        else:
            say(
                f"It can be brought back for {memory.settings.forgotten_days} days: sapwood forget --undo {done['receipt']}"
            )
    _say_left(done["left"], as_json=as_json, must_go=purge)


def _say_left(left: list[str], *, as_json: bool, must_go: bool = True) -> None:
    for place in () if as_json else left:
        say(f"still there: {place}")
    if left and must_go:
        raise click.exceptions.Exit(DONE_WITH_FAILURES)


def _purge(memory: Any, receipt: str, *, as_json: bool) -> None:
    left = memory.purge_receipt(receipt)
    if as_json:
        print_json({"receipt": receipt, "purged": True, "left": left})
    else:
        say(f"What receipt {receipt} kept is gone for good.")
    _say_left(left, as_json=as_json)


def _undo(memory: Any, receipt: str, *, as_json: bool) -> None:
    back = memory.remember(receipt)
    _settle(memory)
    if as_json:
        print_json({"restored": back.restored, "changed": back.changed})
        return
    say(f"{counted(len(back.restored), 'item')} came back. What comes in later of it is taken in again.")
    for title in back.changed:
        say(f"{title} has changed since; the next sync reads it again, whole.")


def _list(memory: Any, *, as_json: bool) -> None:
    found = memory.forgotten()
    if as_json:
        print_json(
            {"receipts": [{"receipt": r.number, "at": r.at, "state": r.state, "counts": r.counts} for r in found]}
        )
        return
    for receipt in found:
        counts = ", ".join(counted(count, name) for name, count in receipt.counts.items() if count)
        state = {
            "kept": "can be brought back",
            "purged": "gone for good",
            "begun": "was interrupted; sapwood forget --resume",
        }[receipt.state]
        say(f"{receipt.number}  {receipt.at[:16]}  {counts or 'nothing'}; {state}")
    say(f"{len(found)} {'receipt' if len(found) == 1 else 'receipts'}")
