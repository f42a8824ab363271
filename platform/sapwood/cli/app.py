"""`sapwood`: import, search, fetch, open, status, doctor, rebuild."""

from __future__ import annotations

import gc
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from sapwood import __version__
from sapwood.cli.console import (
    DONE_WITH_FAILURES,
    errors_to_exit_codes,
    fail,
    prepare_streams,
    print_json,
    say,
    start_logging,
)

app = typer.Typer(
    name="sapwood",
    help="A private memory of your documents, mail and chats, on your own disk.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
edits = typer.Typer(help="Edits of yours that wait because their source changed.", no_args_is_help=True)
app.add_typer(edits, name="edits")

WorkspaceOption = Annotated[
    Path | None, typer.Option("--workspace", "-w", help="The workspace; default $SAPWOOD_WORKSPACE or ~/.sapwood.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]


def main() -> None:
    """The console script."""
    gc.set_threshold(100_000, 20, 20)  # as in plugins.child: many lasting objects, few cycles
    prepare_streams()
    app()


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        say(__version__)
        raise typer.Exit


def _memory(workspace: Path | None, *, create: bool = False) -> Any:
    from sapwood.memory import Memory

    memory = Memory(workspace, create=create)
    start_logging(memory.workspace)
    return memory


@app.command("import")
def import_(
    paths: Annotated[list[Path], typer.Argument(help="Folders, or single files.")],
    workspace: WorkspaceOption = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Only files that match this pattern; may be repeated, and is kept.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave out what matches this pattern; may be repeated, and is kept.")
    ] = None,
    password: Annotated[
        list[str] | None,
        typer.Option(help="A password to try on encrypted files, as env:NAME, file:/path or keyring:service/user."),
    ] = None,
    confirm_deletes: Annotated[
        bool, typer.Option("--confirm-deletes", help="Remove what is gone even when it is very much.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Read failed files again although they have not changed.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen and write nothing.")] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Take in folders of documents. What has not changed is not read again."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        from sapwood.cli.importing import run_import

        code = run_import(
            lambda: _memory(workspace, create=True), paths, include or [], exclude or [], password or [],
            confirm_deletes=confirm_deletes, retry_failed=retry_failed, dry_run=dry_run, as_json=as_json,
        )  # fmt: skip
    raise typer.Exit(code)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Words, in any language; every sign is taken literally.")],
    workspace: WorkspaceOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many hits.")] = 10,
    unit: Annotated[str, typer.Option(help="What a hit is: passage, chunk or item.")] = "chunk",
    source: Annotated[str | None, typer.Option(help="Only this source_id.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only chat, email or document.")] = None,
    author: Annotated[str | None, typer.Option(help="Only by authors whose name holds this.")] = None,
    since: Annotated[str | None, typer.Option(help="Not before this date or time.")] = None,
    until: Annotated[str | None, typer.Option(help="Not after this date or time.")] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find passages, with date, title, origin and file."""
    from sapwood.cli.showing import show_hits

    if unit not in ("passage", "chunk", "item"):
        raise typer.BadParameter("is passage, chunk or item", param_hint="--unit")
    if kind not in (None, "chat", "email", "document"):
        raise typer.BadParameter("is chat, email or document", param_hint="--kind")
    with errors_to_exit_codes(as_json=as_json, debug=debug), _memory(workspace) as memory:
        response = memory.search(
            query, limit=limit, unit=unit, source_id=source, kind=kind, author=author,
            since=_moment(since, memory.zone, "--since"), until=_moment(until, memory.zone, "--until", end=True),
        )  # fmt: skip
        if as_json:
            print_json(response.to_json())
        else:
            show_hits(query, response, memory.workspace.root)


@app.command()
def fetch(
    ids: Annotated[
        list[str], typer.Argument(help="node_id (whole, or its first eight or more digits) or item_id of a hit.")
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print chunks in full."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), _memory(workspace) as memory:
        found = {node_id: memory.fetch([node_id]) for node_id in ids}
        hits = [hit for several in found.values() for hit in several]
        missing = [node_id for node_id, several in found.items() if not several]
        if not hits:
            fail(
                f"{', '.join(ids)}: nothing has this id. Take the node_id or item_id of a search hit.", as_json=as_json
            )
        if as_json:
            print_json({"hits": [hit.to_json() for hit in hits], "missing": missing})
        for hit in () if as_json else hits:
            say(
                f"{hit.title}  ({hit.date or 'date unknown'}, {hit.source_ref or hit.source_id})\n{hit.path}\n\n{hit.content}\n"
            )
        if missing:
            typer.echo(f"{', '.join(missing)}: nothing has this id.", err=True)
            raise typer.Exit(DONE_WITH_FAILURES)


@app.command("open")
def open_(
    node: Annotated[str, typer.Argument(help="node_id or item_id of a hit.")],
    workspace: WorkspaceOption = None,
    original: Annotated[
        bool, typer.Option("--original", help="The file that it came from, instead of the vault's.")
    ] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the path only.")] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Open the vault file of a hit, or its original, with the program that the system has for it."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), _memory(workspace) as memory:
        path = memory.locate(node, original=original)
        if as_json:
            print_json({"path": str(path), "exists": path.exists()})
        elif show:
            say(str(path))
        elif not path.exists():
            fail(
                f"{path}: the file is not there any more. Run `sapwood doctor --repair` to write vault files again.",
                as_json=False,
            )
        elif typer.launch(str(path)) != 0:
            fail(f"{path}: the system has no program to open it with. --print gives the path alone.", as_json=False)


@app.command()
def status(workspace: WorkspaceOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """What is stored and searchable, what failed and why, what waits for you."""
    from sapwood.cli.showing import show_report

    with errors_to_exit_codes(as_json=as_json, debug=debug), _memory(workspace) as memory:
        report = memory.status()
        show_report(report, as_json=as_json)
    raise typer.Exit(0 if report.ok else DONE_WITH_FAILURES)


@app.command()
def doctor(
    workspace: WorkspaceOption = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write vault files again that are missing or damaged.")
    ] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Prove that database, index and vault agree, and that every plugin loads."""
    from sapwood.cli.showing import show_report

    with errors_to_exit_codes(as_json=as_json, debug=debug), _memory(workspace) as memory:
        report = memory.doctor(repair=repair)
        show_report(report, as_json=as_json)
    raise typer.Exit(0 if report.ok else DONE_WITH_FAILURES)


@app.command()
def rebuild(workspace: WorkspaceOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Make the database anew out of the vault: same ids, same answers, your edits kept."""
    from sapwood.cli.showing import show_report

    with errors_to_exit_codes(as_json=as_json, debug=debug), _memory(workspace) as memory:
        report = memory.rebuild()
        show_report(report, as_json=as_json)
    raise typer.Exit(0 if report.ok else DONE_WITH_FAILURES)


@edits.command("keep")
def edits_keep(
    chunk: Annotated[str, typer.Argument(help="The chunk that `status` names.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Put your edit over what the source says now."""
    _settle(chunk, "keep", workspace, as_json, debug)


@edits.command("drop")
def edits_drop(
    chunk: Annotated[str, typer.Argument(help="The chunk that `status` names.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Forget your edit; the source's text stays."""
    _settle(chunk, "drop", workspace, as_json, debug)


def _settle(chunk: str, choice: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    with errors_to_exit_codes(as_json=as_json, debug=debug), _memory(workspace) as memory:
        if not memory.settle_edit(chunk, choice):
            fail(f"{chunk}: no edit waits for this chunk. `sapwood status` lists those that do.", as_json=as_json)
        if as_json:
            print_json({"chunk_id": chunk, "choice": choice})
        else:
            say(f"{chunk}: {'kept' if choice == 'keep' else 'dropped'}.")


def _moment(text: str | None, zone: Any, option: str, *, end: bool = False) -> datetime | None:
    """An aware time out of a date or time; a bare date is its first or, for `end`, its last moment in the user's zone."""
    if text is None:
        return None
    from datetime import time as clock_time

    from sapwood.text.dates import parse_date

    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        found = parse_date(text, zone)
        if found is None:
            raise typer.BadParameter(
                f"{text!r} is no date; write 2024-05-06, 2024-05-06T15:00 or 2024年5月6日", param_hint=option
            ) from None
        moment = found.astimezone(zone)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    only_date = ":" not in text
    return datetime.combine(moment.date(), clock_time.max, moment.tzinfo) if end and only_date else moment


__all__ = ["app", "main"]
