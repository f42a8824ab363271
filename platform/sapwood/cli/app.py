"""`sapwood`: the commands over the memory itself."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from sapwood import __version__
from sapwood.cli.backup import backup, restore
from sapwood.cli.commands import Commands, open_memory, with_common_options
from sapwood.cli.connectors import connectors
from sapwood.cli.console import (
    DONE,
    DONE_WITH_FAILURES,
    errors_to_exit_codes,
    fail,
    leave_at_once,
    prepare_streams,
    print_json,
    say,
)
from sapwood.cli.entities import entities
from sapwood.cli.forgetting import forget
from sapwood.cli.jobs import embed, explain, jobs, work
from sapwood.cli.moments import window, with_time
from sapwood.cli.summarise import summarise
from sapwood.cli.syncing import connect, sync
from sapwood.cli.trees import drill, recap, source, topic


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="%(version)s", help="Print the version.")
def app() -> None:
    """A private memory of your documents, mail and chats, on your own disk."""


def main() -> None:
    """The console script."""
    gc.set_threshold(100_000, 20, 20)  # as in plugins.child: many lasting objects, few cycles
    prepare_streams()
    code = DONE
    try:
        app(prog_name="sapwood")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else bool(end.code)
    leave_at_once(code)


@app.command("import")
@click.argument("paths", nargs=-1, required=True)
@click.option("--include", multiple=True, help="Only files that match this pattern; may be repeated, and is kept.")
@click.option("--exclude", multiple=True, help="Leave out what matches this pattern; may be repeated, and is kept.")
@click.option(
    "--password", multiple=True,
    help="A password to try on encrypted files, as env:NAME, file:/path or keyring:service/user.",
)  # fmt: skip
@click.option("--confirm-deletes", is_flag=True, help="Remove what is gone even when it is very much.")
@click.option("--retry-failed", is_flag=True, help="Read failed files again although they have not changed.")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
@click.option("--wait", is_flag=True, help="Do the slow work (scores, entities, vectors) too before returning.")
@with_common_options
def import_(
    paths: tuple[str, ...], workspace: Path | None, include: tuple[str, ...], exclude: tuple[str, ...], password: tuple[str, ...],
    confirm_deletes: bool, retry_failed: bool, dry_run: bool, wait: bool, as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Take in folders of documents. What has not changed is not read again."""
    from sapwood.plugins.launch import stand_by
    from sapwood.workspace import Workspace

    with errors_to_exit_codes(as_json=as_json, debug=debug):
        if not all(path.strip() for path in paths):
            raise click.BadParameter("one is empty", param_hint="PATHS")
        stand_by("folder", Workspace.locate(workspace).tmp)  # it loads its modules while we load ours
        from sapwood.cli.importing import run_import

        code = run_import(
            lambda: open_memory(workspace, create=True), [Path(path) for path in paths], include, exclude, password,
            confirm_deletes=confirm_deletes, retry_failed=retry_failed, dry_run=dry_run, wait=wait, as_json=as_json,
        )  # fmt: skip
    raise click.exceptions.Exit(code)


@app.command(context_settings={"ignore_unknown_options": True})  # a query may begin with a hyphen
@click.argument("query")
@click.option("--limit", "-n", default=10, show_default=True, help="How many hits.")
@click.option(
    "--unit", default="chunk", show_default=True, type=click.Choice(["passage", "chunk", "item"]), help="What a hit is."
)
@click.option("--source", help="Only this source_id.")
@click.option("--kind", type=click.Choice(["chat", "email", "document"]), help="Only items of this kind.")
@click.option("--author", help="Only by authors whose name holds this.")
@with_time
@click.option("--include-dropped", is_flag=True, help="Also what was dropped because it says nothing, such as `ok`.")
@with_common_options
def search(
    query: str, workspace: Path | None, limit: int, unit: str, source: str | None, kind: str | None, author: str | None,
    since: str | None, until: str | None, on: str | None, include_dropped: bool, as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Find passages, with date, title, origin and file.

    QUERY is words, in any language; every sign is taken literally.
    """
    from sapwood.cli.showing import show_hits, show_told

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        first, last = window(since, until, on, memory.zone)
        response = memory.search(
            query, limit=limit, unit=unit, source_id=source, kind=kind, author=author, since=first, until=last, include_dropped=include_dropped
        )  # fmt: skip
        if as_json:
            print_json(response.to_json())
        else:
            show_hits(query, response, memory)
            show_told(response, memory)


@app.command()
@click.argument("ids", nargs=-1, required=True)
@with_common_options
def fetch(ids: tuple[str, ...], workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Print chunks and summaries in full.

    IDS are node_ids of hits (whole, or their first eight or more digits) or item_ids.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
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
            click.echo(f"{', '.join(missing)}: nothing has this id.", err=True)
            raise click.exceptions.Exit(DONE_WITH_FAILURES)


@app.command("open")
@click.argument("node")
@click.option("--original", is_flag=True, help="The file that it came from, instead of the vault's.")
@click.option("--print", "show", is_flag=True, help="Print the path only.")
@with_common_options
def open_(node: str, workspace: Path | None, original: bool, show: bool, as_json: bool, debug: bool) -> None:
    """Open the vault file of a hit, or its original, with the program that the system has for it.

    NODE is the node_id or item_id of a hit.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
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
        elif click.launch(str(path)) != 0:
            fail(f"{path}: the system has no program to open it with. --print gives the path alone.", as_json=False)


@app.command()
@with_common_options
def status(workspace: Path | None, as_json: bool, debug: bool) -> None:
    """What is stored and searchable, what failed and why, what waits for you."""
    from sapwood.cli.showing import show_report

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        report = memory.status()
        show_report(report, as_json=as_json)
    raise click.exceptions.Exit(0 if report.ok else DONE_WITH_FAILURES)


@app.command()
@click.option("--repair", is_flag=True, help="Write vault files again that are missing or damaged.")
@with_common_options
def doctor(workspace: Path | None, repair: bool, as_json: bool, debug: bool) -> None:
    """Prove that database, index and vault agree, and that every plugin loads."""
    from sapwood.cli.showing import show_report

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        report = memory.doctor(repair=repair)
        show_report(report, as_json=as_json)
    raise click.exceptions.Exit(0 if report.ok else DONE_WITH_FAILURES)


@app.command()
@click.option("--vectors", is_flag=True, help="Only the vectors: they are removed, and `sapwood work` makes them anew.")
@with_common_options
def rebuild(vectors: bool, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Make the database anew out of the vault: same ids, same answers, your edits kept."""
    from sapwood.cli.showing import show_report

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if vectors:
            memory.drop_vectors()
        report = memory.status() if vectors else memory.rebuild()
        show_report(report, as_json=as_json)
    raise click.exceptions.Exit(0 if report.ok else DONE_WITH_FAILURES)


@app.group(cls=Commands)
def edits() -> None:
    """Edits of yours that wait because their source changed."""


@edits.command("keep")
@click.argument("chunk")
@with_common_options
def edits_keep(chunk: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Put your edit over what the source says now.

    CHUNK is the chunk that `status` names.
    """
    _settle(chunk, "keep", workspace, as_json, debug)


@edits.command("drop")
@click.argument("chunk")
@with_common_options
def edits_drop(chunk: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Forget your edit; the source's text stays.

    CHUNK is the chunk that `status` names.
    """
    _settle(chunk, "drop", workspace, as_json, debug)


for command in (
    recap,
    topic,
    source,
    drill,
    entities,
    forget,
    summarise,
    jobs,
    work,
    explain,
    embed,
    backup,
    restore,
    connectors,
    connect,
    sync,
):
    app.add_command(command)


def _settle(chunk: str, choice: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if not memory.settle_edit(chunk, choice):
            fail(f"{chunk}: no edit waits for this chunk. `sapwood status` lists those that do.", as_json=as_json)
        if as_json:
            print_json({"chunk_id": chunk, "choice": choice})
        else:
            say(f"{chunk}: {'kept' if choice == 'keep' else 'dropped'}.")


__all__ = ["app", "main"]
