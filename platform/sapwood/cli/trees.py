"""`source` and `drill`: reading the trees."""

from __future__ import annotations

from pathlib import Path

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import errors_to_exit_codes, fail, print_json, say
from sapwood.cli.moments import moment

_LISTED = 40


@click.command()
@click.argument("name", required=False)
@click.option("--since", help="Not before this date or time.")
@click.option("--until", help="Not after this date or time.")
@click.option("--limit", "-n", default=10, show_default=True, help="How many summaries and chunks.")
@with_common_options
def source(
    name: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    workspace: Path | None,
    as_json: bool,
    debug: bool,
) -> None:
    """What a source tells: a file, a folder, a channel, a mailbox. Without NAME list all but the files.

    NAME is a source_id, a title, or the end of one, such as a folder's name.
    """
    from sapwood.cli.showing import show_nodes

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if name is None:
            found = memory.sources()
            if as_json:
                print_json({"sources": found})
                return
            for row in found[:_LISTED]:
                say(f"{row['title']}  {row['summaries']} summaries, {row['waiting']} at the top")
                click.secho(f"   {row['scope']}", fg="cyan")
            say(f"{len(found)} sources" + (f", {_LISTED} shown; --json lists all" if len(found) > _LISTED else ""))
            return
        response = memory.query_source(
            name, limit=limit, since=moment(since, memory.zone, "--since"), until=moment(until, memory.zone, "--until", end=True)
        )  # fmt: skip
        if as_json:
            print_json(response.to_json())
        else:
            show_nodes(response, memory.workspace.root)


@click.command()
@click.argument("node")
@click.option("--depth", "-d", default=1, show_default=True, help="How many levels down.")
@click.option("--limit", "-n", default=0, help="How many at most; all without it.")
@with_common_options
def drill(node: str, depth: int, limit: int, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """What a summary tells of: the summaries and chunks below it, down to the original text.

    NODE is the id of a summary, or its first digits.
    """
    from sapwood.cli.showing import show_nodes

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if not memory.fetch([node]):
            fail(f"{node}: nothing has this id. Take the node_id of a hit of `sapwood source`.", as_json=as_json)
        response = memory.drill_down(node, depth=depth, limit=limit)
        if as_json:
            print_json(response.to_json())
        else:
            show_nodes(response, memory.workspace.root)
