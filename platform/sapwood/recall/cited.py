"""Of a chunk that is shown, the passages that matter: those on which a summary rests, or that were said in a window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from sapwood.clock import from_ms, iso_z, to_ms
from sapwood.recall.hits import PassageHit, RetrievalHit
from sapwood.store.database import Database
from sapwood.store.search import PassageRow, SearchStore

__all__ = ["as_passage", "said_within", "with_cited", "within"]

_SHOWN = 5  # passages of a chunk
_SENTENCE = re.compile(r"[^.!?。！？\n]{12,}")  # shorter ones stand in many summaries


def with_cited(
    database: Database, hit: RetrievalHit, summary: RetrievalHit, matches: Mapping[int, float]
) -> RetrievalHit:
    """The chunk with at most five of its passages, in order: those that match, else those of which a sentence stands in the summary,
    else the first ones. Of a summary of days, only what was said in them.

    Args:
        database: the store.
        hit: a leaf.
        summary: the one above it.
        matches: passages that match a query, with their scores.
    """
    rows = SearchStore(database).passages_of_chunk(hit.node_id)
    if summary.tree_kind == "global" and summary.time_range_start and summary.time_range_end:
        first, last = (to_ms(datetime.fromisoformat(end)) for end in (summary.time_range_start, summary.time_range_end))
        rows = within(rows, first, last + 999) or rows  # the summary's moments are of whole seconds
    matching = sorted((row for row in rows if row.passage_id in matches), key=lambda row: -matches[row.passage_id])
    cited = [
        row
        for row in rows
        if any(s.strip() in summary.content for s in _SENTENCE.findall(hit.content[row.start : row.end]))
    ]
    chosen = sorted((matching or cited or rows)[:_SHOWN], key=lambda row: row.start)
    return replace(hit, passages=tuple(as_passage(hit, row) for row in chosen))


def said_within(database: Database, hit: RetrievalHit, since_ms: int | None, until_ms: int | None) -> RetrievalHit:
    """The chunk with the first five of its passages that were said in a window; as it is where none has a time."""
    dated = [row for row in SearchStore(database).passages_of_chunk(hit.node_id) if row.timestamp_ms is not None]
    rows = within(dated, since_ms, until_ms)
    return replace(hit, passages=tuple(as_passage(hit, row) for row in rows[:_SHOWN])) if rows else hit


def within(rows: list[PassageRow], since_ms: int | None, until_ms: int | None) -> list[PassageRow]:
    """The passages that were said in a window, and those of which nobody knows when."""
    return [
        row
        for row in rows
        if row.timestamp_ms is None
        or ((since_ms is None or row.timestamp_ms >= since_ms) and (until_ms is None or row.timestamp_ms <= until_ms))
    ]


def as_passage(hit: RetrievalHit, row: PassageRow) -> PassageHit:
    """A passage of a chunk as it is shown."""
    date = iso_z(from_ms(row.timestamp_ms)) if row.timestamp_ms is not None else hit.date
    text = hit.content[row.start : row.end].strip("\n")
    return PassageHit(text, row.start, row.end, date, row.author, row.page, row.source_ref, row.native_id, hit.score)
