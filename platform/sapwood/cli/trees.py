"""`source`, `topic`, `recap` and `drill`: what is told of what."""

from __future__ import annotations

from pathlib import Path

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import errors_to_exit_codes, fail, print_json, say
from sapwood.cli.moments import days, hours, window, with_time

_LISTED = 40


@click.command()
@click.argument("name", required=False)
@click.option("--query", "-q", default="", help="Only what speaks of this, the best first.")
@with_time
@click.option("--limit", "-n", default=10, show_default=True, help="How many summaries and chunks.")
@with_common_options
def source(
    name: str | None,
    query: str,
    since: str | None,
    until: str | None,
    on: str | None,
    limit: int,
    workspace: Path | None,
    as_json: bool,
    debug: bool,
) -> None:
    """What a source tells: a file, a folder, a channel, a mailbox. Without NAME list all but the files.

    NAME is a source_id, a title, or the end of one, such as a folder's name.
    """
    from sapwood.cli.showing import show_hits, show_nodes, show_told

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if name is None:
            found = memory.sources()
            if as_json:
                print_json({"sources": found})
                return
            for row in found[:_LISTED]:
                say(f"{row['title']}  {row['summaries']} summaries, {row['waiting']} parts not yet told as one")
                click.secho(f"   {row['scope']}", fg="cyan")
            say(f"{len(found)} sources" + (f", {_LISTED} shown; --json lists all" if len(found) > _LISTED else ""))
            return
        first, last = window(since, until, on, memory.zone)
        response = memory.query_source(name, query, limit=limit, since=first, until=last)
        if as_json:
            print_json(response.to_json())
        elif query.strip():
            show_hits(query, response, memory)
            show_told(response, memory)
        else:
            show_nodes(response, memory)


@click.command()
@click.argument("name")
@click.option("--query", "-q", default="", help="Only what speaks of this, the best first.")
@with_time
@click.option("--limit", "-n", default=10, show_default=True, help="How many chunks.")
@with_common_options
def topic(
    name: str, query: str, since: str | None, until: str | None, on: str | None, limit: int, workspace: Path | None,
    as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """What is known of a person or a thing, the newest first.

    NAME is a name, an address, a handle or a tag.
    """
    from sapwood.cli.showing import show_hits, show_mentions, show_told

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        first, last = window(since, until, on, memory.zone)
        response = memory.query_topic(name, query, limit=limit, since=first, until=last)
        if as_json:
            print_json(response.to_json())
            return
        if query.strip():
            show_hits(query, response, memory)
        else:
            show_mentions(response, memory)
        show_told(response, memory)


@click.command()
@click.option(
    "--on",
    "on",
    help="A day, a time, or words for one or several days: 2026-05-03, yesterday, last week, 上周二下午三点.",
)
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
        if on is not None and (since or until):
            raise click.BadParameter("use it alone, or --since with --until", param_hint="--on")
        first, last = days("today" if on is None else on, memory.zone, "--on")
        if since or until:
            last = days(until or "today", memory.zone, "--until")[1]
            first = days(since, memory.zone, "--since")[0] if since else memory.first_day() or last
        if first > last:
            raise click.BadParameter(f"{first} is after {last}", param_hint="--since")
        part = hours(on, memory.zone, "--on") if on is not None else None
        found = memory.query_hours(*part) if part else memory.query_global(first, last)
        if as_json:
            print_json(found.to_json())
        else:
            show_recap(found, memory)


@click.command()
@click.argument("node")
@click.option("--depth", "-d", type=click.IntRange(1, 32), default=1, show_default=True, help="How many levels down.")
@click.option("--limit", "-n", type=click.IntRange(min=1), help="How many at most; all without it.")
@click.option("--query", "-q", default="", help="What speaks most of this comes first.")
@with_common_options
def drill(
    node: str, depth: int, limit: int | None, query: str, workspace: Path | None, as_json: bool, debug: bool
) -> None:
    """What a summary tells of: the summaries and chunks below it, down to the original text.

    NODE is the id of a summary, or its first digits; or a day, week, month
    or year: 2026-05-03, 2026-W18, 2026-05, 2026.
    """
    from sapwood.cli.showing import show_nodes
    from sapwood.clock import now
    from sapwood.text.spans import parse_span

    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        found = memory.fetch([node])
        if not found and parse_span(node, now().astimezone(memory.zone)):
            fail(
                f"{node}: nothing is told of it yet, since it is not over or nothing is known of it. `sapwood recap --on {node}` tells what there is.",
                as_json=as_json,
            )
        if not found:
            fail(
                f"{node}: nothing has this id. Take the node_id of a hit of `sapwood source`, or a day such as 2026-05-03.",
                as_json=as_json,
            )
        response = memory.drill_down(node, depth=depth, limit=limit or 0, query=query)
        if as_json:
            print_json(response.to_json())
        elif found[0].node_kind == "leaf":
            say(f"{node} is original text, nothing stands below it. `sapwood fetch {node}` prints it whole.")
        else:
            show_nodes(response, memory)
