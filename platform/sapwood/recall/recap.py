"""What happened: the days of a span, told by the fewest nodes of the global tree that cover exactly them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from sapwood.clock import from_ms, iso_z, now, to_ms
from sapwood.recall.hits import RetrievalHit
from sapwood.recall.trees import fetch_nodes
from sapwood.store.database import Database
from sapwood.store.days import DayStore, SaidThatDay
from sapwood.store.summaries import SummaryStore
from sapwood.trees import calendar
from sapwood.trees.digest import GLOBAL, tell_day, tell_part
from sapwood.trees.summarising import EXTRACTIVE, Extractive
from sapwood.vault.paths import DAILY

__all__ = ["Recap", "recap", "recap_part"]

_NAMED = 400  # days
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Recap:
    """What happened on the days from `first` to `last`, in order.

    `hits` cover exactly these days; one of a day that is not over yet, or not told yet, is made for the answer and has no file.
    `silent` are days of which nothing is known, `weak` counts documents whose only date is that of their file, `pending` chunks
    that have not been examined and may belong here.
    """

    first: str
    last: str
    hits: tuple[RetrievalHit, ...]
    silent: tuple[str, ...]
    weak: int
    pending: int

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "first": self.first, "last": self.last, "hits": [hit.to_json() for hit in self.hits], "days_without_data": list(self.silent),
            "documents_dated_by_file_only": self.weak, "pending_chunks": self.pending,
        }  # fmt: skip


def recap(database: Database, first: date, last: date, zone: tzinfo) -> Recap:
    """Tell a span of local days, both ends included."""
    days, summaries = DayStore(database), SummaryStore(database)
    told = summaries.ids_by_path(DAILY, fresh=True)  # what has changed since is told from what there is
    keys = {path.rpartition("/")[2].removesuffix(".md"): summary_id for path, summary_id in told.items()}
    with_data = days.with_data(first.isoformat(), last.isoformat())
    hits: list[RetrievalHit] = []
    known: set[str] = set()
    last_known = min(last, now().astimezone(zone).date())  # nothing can be known of days to come
    first_asked, last_asked = first, last
    # Beyond the years of which something is known there is nothing to be looked for.
    span = days.span()
    if span is None:
        last = first - _DAY
    else:
        first = max(first, date(int(span[0][:4]), 1, 1) - 7 * _DAY)
        last = min(last, date(int(span[1][:4]), 12, 31) + 7 * _DAY)
    for key in calendar.cover(first, last, keys):
        if key in keys:
            hits += fetch_nodes(database, [keys[key]])
            is_day = not calendar.level_of(key)
            known.update(day.isoformat() for day in calendar.days_of(key) if is_day or day.isoformat() in with_data)
        elif key in with_data and (live := _live(database, date.fromisoformat(key), zone)):
            hits += live
            known.add(key)
    first, last = first_asked, last_asked
    start, end = calendar.day_bounds_ms(first, zone)[0], calendar.day_bounds_ms(last, zone)[1]
    # Of a long span only the days between those of which something is known are named.
    if (last_known - first).days > _NAMED and span:
        first, last_known = max(first, date.fromisoformat(span[0])), min(last_known, date.fromisoformat(span[1]))
    silent = [day.isoformat() for day in calendar.days_between(first, last_known) if day.isoformat() not in known]
    return Recap(
        first_asked.isoformat(), last.isoformat(), tuple(hits), tuple(silent), days.weak(start, end), days.pending()
    )


def recap_part(database: Database, start: datetime, end: datetime, zone: tzinfo) -> Recap:
    """Tell a part of a local day, from a moment to another (not included)."""
    day = start.astimezone(zone).date()
    text, said = tell_part(database, Extractive(), day, to_ms(start), to_ms(end))
    title = f"{day.isoformat()} {start.astimezone(zone):%H:%M} – {end.astimezone(zone):%H:%M}"
    hits = [_made_now(title, text, said)] if text else []
    days = DayStore(database)
    return Recap(title, title, tuple(hits), (), 0, days.pending())


def _live(database: Database, day: date, zone: tzinfo) -> list[RetrievalHit]:
    text, said = tell_day(database, Extractive(), day, zone)
    return [_made_now(day.isoformat(), text, said)] if text else []


def _made_now(title: str, text: str, said: Sequence[SaidThatDay]) -> RetrievalHit:
    start, end = (iso_z(from_ms(ms)) for ms in (min(s.range_ms[0] for s in said), max(s.range_ms[1] for s in said)))
    return RetrievalHit(
        node_id=f"day:{title}", node_kind="summary", title=title, author="", date=end, date_source="said", item_id="", source_id=GLOBAL,
        source_kind=GLOBAL, path="", content=text, score=0.0, breakdown={}, passages=(), time_range_start=start, time_range_end=end, source_ref="",
        child_ids=tuple(s.chunk_id for s in said), tree_kind=GLOBAL, tree_scope=GLOBAL, summariser=EXTRACTIVE,
    )  # fmt: skip
