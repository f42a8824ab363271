"""Hits and reports for people."""

from __future__ import annotations

import re
import shutil
from datetime import datetime
from typing import TYPE_CHECKING

import click

from sapwood.checks import Report
from sapwood.cli.console import print_json, say
from sapwood.recall.hits import QueryResponse, RetrievalHit
from sapwood.vault.chunkfile import without_heading

if TYPE_CHECKING:
    from sapwood.memory import Memory
    from sapwood.recall.recap import Recap

_SNIPPET = 280
_NAMED = 14


def show_hits(query: str, response: QueryResponse, memory: Memory) -> None:
    """A block a hit: title and date, origin and vault path, the best passage."""
    if not response.hits:
        if not response.told:
            say(f"Nothing found for: {query}")
        _show_legs(response)
        return
    width = min(shutil.get_terminal_size((100, 20)).columns, 120)
    for number, hit in enumerate(response.hits, 1):
        when = _day(hit.date, memory) + (" (file)" if hit.date and hit.date_source == "file" else "")
        click.secho(f"{number}. {hit.title}", bold=True, nl=False)
        say(f"  {when}" + (f"  {hit.author}" if hit.author else "") + f"  [{hit.score:.2f}]")
        click.secho(f"   {hit.source_ref or hit.source_id}", fg="cyan")
        click.secho(f"   {memory.workspace.root / hit.path}  {hit.node_id[:12]}", fg="bright_black")
        text = hit.passages[0].text if hit.passages else hit.content
        say("   " + _snippet(without_heading(text), query)[: max(width * 3, 200)])
        say()
    _show_legs(response)
    more = f" of {response.total}" if response.truncated else ""
    say(f"{len(response.hits)}{more} {'hit' if len(response.hits) == 1 and not more else 'hits'}")


def show_recap(found: Recap, memory: Memory) -> None:
    """A block a period, and what the answer does not cover."""
    for hit in found.hits:
        click.secho(hit.title, bold=True, nl=False)
        say(f"  {memory.workspace.root / hit.path}  {hit.node_id[:19]}" if hit.path else "  (told for this answer)")
        say("   " + hit.content.rstrip().replace("\n", "\n   "))
        say()
    span = found.first if found.first == found.last else f"{found.first} to {found.last}"
    if not found.hits:
        say(f"Nothing is known of {span}.")
    elif found.silent:
        runs = _runs(found.silent)
        more = f" and {len(runs) - _NAMED} more spans" if len(runs) > _NAMED else ""
        say(f"Nothing is known of {', '.join(runs[:_NAMED])}{more}.")
    if found.weak:
        say(f"{_counted(found.weak, 'document is', 'documents are')} dated {span} by their files alone.")
    if found.pending:
        say(f"{_counted(found.pending, 'chunk has', 'chunks have')} not been examined yet; `sapwood work` does it.")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _day(moment: str | None, memory: Memory) -> str:
    """The user's day of a moment in ISO 8601."""
    return datetime.fromisoformat(moment).astimezone(memory.zone).date().isoformat() if moment else "date unknown"


def _runs(days: tuple[str, ...]) -> list[str]:
    """Days in a row as their first and last."""
    from datetime import date, timedelta

    runs: list[list[date]] = []
    for day in map(date.fromisoformat, days):
        if runs and day - runs[-1][-1] == timedelta(days=1):
            runs[-1].append(day)
        else:
            runs.append([day])
    return [run[0].isoformat() if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]


def show_told(response: QueryResponse, memory: Memory) -> None:
    """The summaries that come beside the hits."""
    if response.told and response.hits:
        say()
    for hit in response.told:
        click.secho(hit.title, bold=True, nl=False)
        say(f"  summary of {len(hit.child_ids)}, level {hit.level}")
        click.secho(f"   {memory.workspace.root / hit.path}  {hit.node_id[:19]}", fg="bright_black")
        say("   " + hit.content.rstrip().replace("\n", "\n   "))
        say()


def show_mentions(response: QueryResponse, memory: Memory) -> None:
    """A block a chunk: when and where, and the passages that speak of what was asked for."""
    for hit in response.hits:
        click.secho(f"{_first_day(hit, memory)}  {hit.title}", bold=True)
        click.secho(f"   {memory.workspace.root / hit.path}  {hit.node_id[:12]}", fg="bright_black")
        if hit.passages:
            _say_passages(hit, memory)
        else:
            say("   " + _snippet(without_heading(hit.content), ""))
        say()
    _show_legs(response)
    more = f" of {response.total}" if response.truncated else ""
    say(f"{len(response.hits)}{more} {'chunk' if len(response.hits) == 1 and not more else 'chunks'}")


def _first_day(hit: RetrievalHit, memory: Memory) -> str:
    """The day of the first passage that is shown, or of the hit itself."""
    moment = hit.passages[0].date if hit.passages else hit.date
    return _day(moment if hit.date_source != "file" else None, memory)


def _say_passages(hit: RetrievalHit, memory: Memory) -> None:
    """Who said what; a day where it is another one than that of the heading, since a chunk of a slow chat spans days."""
    shown = _first_day(hit, memory)
    for passage in hit.passages:
        who = f"{passage.author}: " if passage.author else ""
        day = _day(passage.date, memory) if passage.date and hit.date_source != "file" else shown
        if day != shown:
            say(f"   {day}")
            shown = day
        say(f"   {who}{_snippet(without_heading(passage.text), '')}")


def show_nodes(response: QueryResponse, memory: Memory) -> None:
    """A block a node: title, file and id, then its whole text if it is a summary, the start of it if it is a chunk."""
    for number, hit in enumerate(response.hits, 1):
        is_summary = hit.node_kind == "summary"
        click.secho(f"{number}. {hit.title}", bold=True, nl=False)
        kind = f"  summary of {len(hit.child_ids)}, level {hit.level}" if is_summary else f"  {_first_day(hit, memory)}"
        say(kind + ("  (something in it has changed; it is made anew)" if hit.stale else ""))
        click.secho(
            f"   {memory.workspace.root / hit.path}  {hit.node_id[:19] if is_summary else hit.node_id[:12]}",
            fg="bright_black",
        )
        if hit.passages:
            _say_passages(hit, memory)
        else:
            text = hit.content if is_summary else _snippet(without_heading(hit.content), "")
            say("   " + text.rstrip().replace("\n", "\n   "))
        say()
    more = f" of {response.total}" if response.truncated else ""
    say(f"{len(response.hits)}{more} {'node' if len(response.hits) == 1 and not more else 'nodes'}")


def _show_legs(response: QueryResponse) -> None:
    """Which ways of searching were not live, and why."""
    for leg, state in response.legs.items():
        if state != "live":
            click.secho(f"({leg}: {state})", fg="bright_black")


def _snippet(text: str, query: str) -> str:
    """The part of a passage around the first word of the query, on one line."""
    flat = " ".join(text.split())
    if len(flat) <= _SNIPPET:
        return flat
    words = [w for w in re.split(r"\W+", query) if len(w) > 2 or not w.isascii()]
    at = min((i for w in words if (i := flat.lower().find(w.lower())) >= 0), default=0)
    start = max(0, at - _SNIPPET // 3)
    return ("… " if start else "") + flat[start : start + _SNIPPET] + (" …" if start + _SNIPPET < len(flat) else "")


def show_report(report: Report, *, as_json: bool) -> None:
    """One line a check."""
    if as_json:
        print_json(report.to_json())
        return
    for check in report.checks:
        click.secho("ok   " if check.ok else "LOOK ", fg="green" if check.ok else "yellow", nl=False)
        say(f"{check.name}: {check.detail}" + (f". {check.next_step}" if check.next_step else ""))
    say("All is well." if report.ok else "Some things need a look.")
