"""The global tree: what was said on a day, told; days told as weeks, weeks as months, months as years.

A day is told by the passages of that local day and by nothing else. It is told anew when something arrives late, and what is
above it too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from pathlib import PurePosixPath

from sapwood.clock import from_ms, now, now_ms
from sapwood.ingest.followup import digesting
from sapwood.jobs.outcome import Superseded
from sapwood.sdk.sources import Kind
from sapwood.store.database import Database
from sapwood.store.days import DayStore, SaidThatDay
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.jobs import JobStore, NewJob
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import TreeRow, TreeStore, tree_id_of
from sapwood.text.fold import index_text
from sapwood.text.tokens import count_tokens
from sapwood.trees import calendar
from sapwood.trees.corrections import corrected
from sapwood.trees.files import file_of, write_file, write_parents
from sapwood.trees.nodes import Node, load_nodes
from sapwood.trees.seal import merged_mentions, summary_id_of
from sapwood.trees.sentences import Part
from sapwood.trees.summarising import Summariser
from sapwood.vault.chunkfile import body_sha256
from sapwood.vault.paths import DAILY, digest_path
from sapwood.workspace import Workspace

__all__ = ["GLOBAL", "Digester", "days_of_chunk", "missed_digests", "place_in_days", "tell_day", "tell_part"]

GLOBAL = "global"
_TITLE = "Days"


def days_of_chunk(database: Database, item: ItemRow, chunk: ChunkRow, zone: tzinfo) -> list[str]:
    """The local days that a chunk tells of; none where the date is only that of a file, or unknown."""
    if not item.is_dated:
        return []
    moments = DayStore(database).moments(item.item_no, chunk.seq) or (
        [item.timestamp_ms] if item.timestamp_ms is not None else []
    )
    return sorted({from_ms(ms).astimezone(zone).date().isoformat() for ms in moments})


def place_in_days(database: Database, item: ItemRow, chunk: ChunkRow, zone: tzinfo, *, dropped: bool) -> list[NewJob]:
    """Note which days a chunk tells of; the jobs that tell those anew that are over already."""
    store = DayStore(database)
    before = store.of_chunk(chunk.chunk_id)
    days = [] if dropped else days_of_chunk(database, item, chunk, zone)
    if days != before:
        store.put(chunk.chunk_id, days)
    today = now().astimezone(zone).date().isoformat()
    return [digesting(day) for day in sorted({*before, *days}) if day < today]


def missed_digests(database: Database, zone: tzinfo) -> list[NewJob]:
    """The jobs that tell days which are over and have not been told, and what is above told ones, once it is over too."""
    today = now().astimezone(zone).date()
    told = {PurePosixPath(path).stem for path in SummaryStore(database).ids_by_path(DAILY)}
    above = {parent for key in told if (parent := calendar.parent_of(key)) is not None}
    due = sorted(key for key in above - told if calendar.days_of(key)[-1] < today)
    return [digesting(key) for key in [*DayStore(database).untold(today.isoformat(), digest_path("{}")), *due]]


def tell_day(database: Database, summariser: Summariser, day: date, zone: tzinfo) -> tuple[str, list[SaidThatDay]]:
    """The text of a day, and what it is told from."""
    return tell_part(database, summariser, day, *calendar.day_bounds_ms(day, zone))


def tell_part(
    database: Database, summariser: Summariser, day: date, start_ms: int, end_ms: int
) -> tuple[str, list[SaidThatDay]]:
    """Likewise, of a part of a day."""
    said = DayStore(database).said(day.isoformat(), start_ms, end_ms)
    parts = _parts(said)
    names = [m.surface for s in said for m in EntityStore(database).of_node(s.chunk_id)]
    return (summariser.summarise(parts, names) if parts else ""), said


def _parts(said: Sequence[SaidThatDay]) -> list[Part]:
    return [Part(s.chunk_id, s.text, Kind(s.kind), s.title) for s in said]


@dataclass(frozen=True, slots=True)
class _Made:
    """A node, and the entities that it names."""

    row: SummaryRow
    mentions: list[Mention]


class Digester:
    """Makes the nodes of the global tree.

    Args:
        workspace: for the files.
        database: the calling thread's connection.
        summariser: makes the texts.
        zone: of the days.
    """

    def __init__(self, workspace: Workspace, database: Database, summariser: Summariser, zone: tzinfo) -> None:
        self._workspace = workspace
        self._db = database
        self._summariser = summariser
        self._zone = zone
        self._trees = TreeStore(database)
        self._summaries = SummaryStore(database)
        self._tree_id = tree_id_of(GLOBAL, GLOBAL)

    def digest(self, key: str) -> Callable[[], None]:
        """Tell a day, week, month or year (`2026-11-30`, `2026-W49`, `2026-12`, `2026`) that is over; what is returned writes it."""
        if calendar.days_of(key)[-1] >= now().astimezone(self._zone).date():
            return lambda: None
        return self.retell(key)

    def retell(self, key: str) -> Callable[[], None]:
        """Likewise, of a period that has been told before. Nothing is kept of one that has no data any more."""
        made = self._day(key) if calendar.level_of(key) == 0 else self._roll_up(key)
        held = self._summaries.of_period(key)
        if made is not None:
            made = _Made(corrected(made.row, held.corrections if held else ""), made.mentions)
        return lambda: self._write(key, made, held.corrections if held else "")

    def parts_of(self, key: str) -> list[Part]:
        """What a summariser is given of a period: what was said on a day, or what is told of the days below."""
        if calendar.level_of(key):
            return [node.part(_TITLE) for node in self._nodes_below(key)]
        bounds = calendar.day_bounds_ms(date.fromisoformat(key), self._zone)
        return _parts(DayStore(self._db).said(key, *bounds))

    def _day(self, key: str) -> _Made | None:
        text, said = tell_day(self._db, self._summariser, date.fromisoformat(key), self._zone)
        if not text:
            return None
        nodes = load_nodes(self._db, [one.chunk_id for one in said])
        span = (min(s.range_ms[0] for s in said), max(s.range_ms[1] for s in said))
        return self._made(key, self._day_id(key, said), text, nodes, span)

    def _day_id(self, key: str, said: Sequence[SaidThatDay]) -> str:
        digest = hashlib.sha256(f"{self._tree_id}\0{key}".encode())
        for one in said:
            digest.update(f"\0{one.chunk_id}\0{body_sha256(one.text)}".encode())
        return f"L0:{digest.hexdigest()[:32]}"

    def _roll_up(self, key: str) -> _Made | None:
        nodes = self._nodes_below(key)
        if not nodes:
            return None
        text = self._summariser.summarise(
            [node.part(_TITLE) for node in nodes], [m.surface for node in nodes for m in node.mentions]
        )
        ranges = [node.range_ms for node in nodes if node.range_ms]
        span = (min(r[0] for r in ranges), max(r[1] for r in ranges))
        return self._made(key, summary_id_of(self._tree_id, calendar.level_of(key), nodes), text, nodes, span)

    def _nodes_below(self, key: str) -> list[Node]:
        paths = [digest_path(part) for part in calendar.parts_of(key)]
        return load_nodes(self._db, self._summaries.at_paths(paths))

    def _is_current(self, key: str, summary_id: str) -> bool:
        """False when what was told of has changed since it was read."""
        level = calendar.level_of(key)
        if level:
            return summary_id == summary_id_of(self._tree_id, level, self._nodes_below(key))
        bounds = calendar.day_bounds_ms(date.fromisoformat(key), self._zone)
        return summary_id == self._day_id(key, DayStore(self._db).said(key, *bounds))

    def _made(self, key: str, summary_id: str, text: str, nodes: Sequence[Node], span: tuple[int, int]) -> _Made:
        mentions = [m for m in merged_mentions(nodes) if m.surface in text]
        row = SummaryRow(
            summary_id, self._tree_id, GLOBAL, calendar.level_of(key), None, tuple(node.node_id for node in nodes), calendar.title_of(key), text,
            count_tokens(text), tuple(m.entity_id for m in mentions), tuple(sorted({tag for node in nodes for tag in node.tags})), span,
            max((node.score for node in nodes), default=0.0), now_ms(), self._summariser.name, False, digest_path(key), body_sha256(text),
        )  # fmt: skip
        return _Made(row, mentions)

    def _write(self, key: str, made: _Made | None, corrections: str) -> None:
        moment = now_ms()
        if made is not None and not self._is_current(key, made.row.summary_id):
            raise Superseded
        old = next(iter(self._summaries.at_paths([digest_path(key)])), None)
        held = self._summaries.get(old) if old is not None else None
        if held is not None and held.corrections != corrections:
            raise Superseded
        if (held and (held.summary_id, held.sha256)) == (made and (made.row.summary_id, made.row.sha256)):
            if old is not None:
                self._summaries.set_fresh(old)
            return
        if old is not None:
            self._summaries.replace_node(old, made.row.summary_id if made else None)
            self._summaries.delete(old)
        if made is not None:
            self._put(made, moment)
        else:
            ItemStore(self._db).log_unlinks([digest_path(key)])
        parent = calendar.parent_of(key)
        if parent is not None:
            JobStore(self._db).enqueue([digesting(parent)], moment)
        if made is not None:
            write_file(self._workspace, made.row.path, file_of(self._db, made.row))
            write_parents(self._workspace, self._db, made.row.child_ids)

    def _tree(self) -> TreeRow:
        tree = self._trees.tree(self._tree_id)
        assert tree is not None
        return tree

    def _put(self, made: _Made, moment: int) -> None:
        row = made.row
        self._trees.open(GLOBAL, GLOBAL, _TITLE, moment)
        tree = self._tree()
        self._summaries.put(row, (index_text(row.title), index_text(row.body)))
        ItemStore(self._db).forget_unlinks([row.path])
        last = row.range_ms[1] if row.range_ms else None
        EntityStore(self._db).put(row.summary_id, "summary", made.mentions, last, tree.tree_id)
        if row.level >= tree.max_level:
            self._trees.set_root(tree.tree_id, row.summary_id, row.level, row.sealed_at_ms)
