"""`source`, `topic`, `recap` and `drill`: what is told of what."""

from __future__ import annotations

from pathlib import Path

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import errors_to_exit_codes, fail, print_json, say
from sapwood.cli.moments import days, moment

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
@click.argument("name")
@click.option("--since", help="Not before this date or time.")
@click.option("--until", help="Not after this date or time.")
@click.option("--limit", "-n", default=10, show_default=True, help="How many chunks.")
@with_common_options
def topic(
    name: str, since: str | None, until: str | None, limit: int, workspace: Path | None, as_json: bool, debug: bool
) -> None:
    """What is known of a person or a thing, the newest first.

    NAME is a name, an address, a handle or a tag.
    """
    from sapwood.cli.showing import show_mentions

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        response = memory.query_topic(
            name, limit=limit, since=moment(since, memory.zone, "--since"), until=moment(until, memory.zone, "--until", end=True)
        )  # fmt: skip
        if as_json:
            print_json(response.to_json())
        else:
            show_mentions(response, memory.workspace.root)


@click.command()
@click.option("--on", "on", help="A day, or words for one or several: 2026-05-03, yesterday, last week, 上周.")
@click.option("--since", help="The first day; the first of which something is known without it.")
@click.option("--until", help="The last day; today without it.")
@with_common_options
def recap(
    on: str | None, since: str | None, until: str | None, workspace: Path | None, as_json: bool, debug: bool
) -> None:
    """What happened: today, or on the days that are asked for.

    Covers exactly these days, and says of which nothing is known.
    """
    from sapwood.cli.showing import show_recap

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if on and (since or until):
            raise click.BadParameter("use it alone, or --since with --until", param_hint="--on")
        first, last = days(on or "today", memory.zone, "--on")
        if since or until:
            last = days(until or "today", memory.zone, "--until")[1]
            first = days(since, memory.zone, "--since")[0] if since else memory.first_day() or last
        if first > last:
            raise click.BadParameter(f"{first} is after {last}", param_hint="--since")
        found = memory.query_global(first, last)
        if as_json:
            print_json(found.to_json())
        else:
            show_recap(found, memory.workspace.root)


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
        found = memory.fetch([node])
        if not found:
            fail(
                f"{node}: nothing has this id. Take the node_id of a hit of `sapwood source`, or a day such as 2026-05-03.",
                as_json=as_json,
            )
        response = memory.drill_down(node, depth=depth, limit=limit)
        if as_json:
            print_json(response.to_json())
        elif found[0].node_kind == "leaf":
            say(f"{node} is original text, nothing stands below it. `sapwood fetch {node}` prints it whole.")
        else:
            show_nodes(response, memory.workspace.root)
