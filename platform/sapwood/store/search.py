"""Full-text search and the look-ups that turn its rows into hits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sapwood.store.database import Database
from sapwood.store.packing import unpack
from sapwood.store.schema import PASSAGE_BITS
from sapwood.text.fold import fold

_JOINED = (
    f"JOIN mem_tree_passages p ON p.passage_id = f.rowid JOIN mem_tree_items i ON i.item_no = f.rowid >> {PASSAGE_BITS}"
)
_CHUNK = "EXISTS (SELECT 1 FROM mem_tree_item_chunks ic WHERE ic.item_no = i.item_no AND ic.seq = p.seq"
COLUMN_WEIGHTS = "1.0, 1.0, 0.5"  # title with headings, body, date words


@dataclass(frozen=True, slots=True)
class Filters:
    """What hits must satisfy. Times in milliseconds, inclusive. `author` matches any part of the name, folded,
    of who wrote the message, or of the item's author where a passage has none. `source_ids` and `chunk_ids` are those of which one
    must hold it, `entity_ids` those of which its chunk must name one; None for any."""

    source_ids: tuple[str, ...] | None = None
    kind: str | None = None
    author: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    include_dropped: bool = False
    entity_ids: tuple[str, ...] | None = None
    chunk_ids: tuple[str, ...] | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """Conditions over `p` (passages) and `i` (items); empty when nothing is asked."""
        conditions: list[str] = []
        bindings: list[Any] = []
        for condition, values in (
            ("i.source_id IN (SELECT value FROM json_each(?))", self.source_ids),
            (f"{_CHUNK} AND ic.chunk_id IN (SELECT value FROM json_each(?)))", self.chunk_ids),
            (
                f"{_CHUNK} AND ic.chunk_id IN (SELECT node_id FROM mem_tree_entity_index WHERE entity_id IN (SELECT value FROM json_each(?))))",
                self.entity_ids,
            ),
        ):
            if values is not None:
                conditions.append(condition)
                bindings.append(json.dumps(values, ensure_ascii=False))
        if self.kind:
            conditions.append("i.kind = ?")
            bindings.append(self.kind)
        if self.author:
            conditions.append("instr(fold(iif(p.author = '', i.author, p.author)), ?)")
            bindings.append(fold(self.author))
        if self.since_ms is not None:
            conditions.append("coalesce(p.timestamp_ms, i.timestamp_ms) >= ?")
            bindings.append(self.since_ms)
        if self.until_ms is not None:
            conditions.append("coalesce(p.timestamp_ms, i.timestamp_ms) <= ?")
            bindings.append(self.until_ms)
        return " AND ".join(conditions), bindings


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage with its chunk and item, as a hit shows it."""

    passage_id: int
    seq: int
    start: int
    end: int
    timestamp_ms: int | None
    author: str
    native_id: str
    source_ref: str
    page: int | None


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk with its item, as a hit shows it."""

    chunk_id: str
    item_no: int
    item_id: str
    source_id: str
    kind: str
    title: str
    author: str
    timestamp_ms: int | None
    date_source: str
    range_ms: tuple[int, int] | None
    source_ref: str
    content_path: str
    content: str
    edited: bool
    seq: int
    headings: tuple[str, ...]
    pages: tuple[int, ...]
    score: float
    locator: str


class SearchStore:
    """Read-only queries."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @cached_property
    def _any_dropped(self) -> bool:
        return bool(self._db.value("SELECT EXISTS (SELECT 1 FROM mem_tree_dropped_passages)"))

    def _not_dropped(self, filters: Filters, passage: str) -> str:
        """A condition that leaves out passages of dropped chunks; empty when nothing is to be left out."""
        if filters.include_dropped or not self._any_dropped:
            return ""
        return f"{passage} NOT IN (SELECT passage_id FROM main.mem_tree_dropped_passages)"

    def where(self, filters: Filters, passage: str) -> tuple[str, list[Any]]:
        """All that hits must satisfy, as a condition over the passage's id, `p` (passages) and `i` (items)."""
        where, bindings = filters.sql()
        return " AND ".join(part for part in (where, self._not_dropped(filters, passage)) if part), bindings

    def size(self) -> tuple[int, int]:
        """Numbers of items and of passages."""
        return int(self._db.value("SELECT count(*) FROM mem_tree_items")), int(
            self._db.value("SELECT count(*) FROM mem_tree_passages")
        )

    def match(self, expression: str, filters: Filters, limit: int) -> list[tuple[int, float]]:
        """`(passage_id, bm25)` of the best passages, higher is better; ties by id."""
        where, bindings = self.where(filters, "f.rowid")
        joined = _JOINED if filters.sql()[0] else ""
        sql = (
            f"SELECT f.rowid, -bm25(mem_tree_passages_fts, {COLUMN_WEIGHTS}) AS score FROM mem_tree_passages_fts f {joined} "
            f"WHERE mem_tree_passages_fts MATCH ? {'AND ' + where if where else ''} ORDER BY score DESC, f.rowid LIMIT ?"
        )
        return self._db.rows(sql, [expression, *bindings, limit])

    def count(self, expression: str, filters: Filters) -> int:
        """How many passages match."""
        where, bindings = self.where(filters, "f.rowid")
        joined = _JOINED if filters.sql()[0] else ""
        sql = f"SELECT count(*) FROM mem_tree_passages_fts f {joined} WHERE mem_tree_passages_fts MATCH ? {'AND ' + where if where else ''}"
        return int(self._db.value(sql, [expression, *bindings]))

    def passages_by_item(self, term: str) -> list[tuple[int, int]]:
        """`(item_no, passages that hold the term)`."""
        return self._db.rows(
            f"SELECT rowid >> {PASSAGE_BITS}, count(*) FROM mem_tree_passages_fts WHERE mem_tree_passages_fts MATCH ? GROUP BY 1",
            (term,),
        )

    def visible(self, passage_ids: list[int], filters: Filters) -> set[int]:
        """Those of these passages that hits may be."""
        where, bindings = self.where(filters, "p.passage_id")
        rows = self._db.rows(
            f"SELECT p.passage_id FROM json_each(?) j JOIN mem_tree_passages p ON p.passage_id = j.value "
            f"JOIN mem_tree_items i ON i.item_no = p.passage_id >> {PASSAGE_BITS} {'WHERE ' + where if where else ''}",
            [json.dumps(passage_ids), *bindings],
        )
        return {row[0] for row in rows}

    def dates(self, passage_ids: list[int]) -> dict[int, int]:
        """When passages were said or written, in milliseconds; not that of a file, which says little."""
        rows = self._db.rows(
            "SELECT p.passage_id, coalesce(p.timestamp_ms, i.timestamp_ms) FROM json_each(?) j JOIN mem_tree_passages p ON p.passage_id = j.value "
            f"JOIN mem_tree_items i ON i.item_no = p.passage_id >> {PASSAGE_BITS} "
            "WHERE i.date_source NOT IN ('file', 'unknown') AND coalesce(p.timestamp_ms, i.timestamp_ms) IS NOT NULL",
            (json.dumps(passage_ids),),
        )
        return dict(rows)

    def passages_naming(self, entity_ids: list[str], passage_ids: list[int]) -> list[int]:
        """Those of these passages in whose chunk one of these entities is named, under whatever name."""
        known = self._db.rows(
            "SELECT j.value FROM json_each(?) j WHERE EXISTS (SELECT 1 FROM mem_tree_entity_index e WHERE e.entity_id = j.value) "
            "UNION SELECT a.entity_id FROM json_each(?) j JOIN mem_tree_entity_aliases a ON a.alias_id = j.value",
            (names := json.dumps(entity_ids), names),
        )
        if not known:
            return []
        rows = self._db.rows(
            "SELECT DISTINCT p.passage_id FROM json_each(?) j JOIN mem_tree_passages p ON p.passage_id = j.value "
            f"JOIN mem_tree_item_chunks ic ON ic.item_no = p.passage_id >> {PASSAGE_BITS} AND ic.seq = p.seq "
            "JOIN mem_tree_entity_index e ON e.node_id = ic.chunk_id AND e.entity_id IN (SELECT value FROM json_each(?))",
            (json.dumps(passage_ids), json.dumps([row[0] for row in known])),
        )
        return [row[0] for row in rows]

    def passage_counts(self, item_numbers: list[int]) -> tuple[dict[int, int], set[int]]:
        """Passages of each item, and which items are documents (the others hold messages)."""
        rows = self._db.rows(
            "SELECT item_no, passage_count, kind = 'document' FROM mem_tree_items WHERE item_no IN (SELECT value FROM json_each(?))",
            (json.dumps(item_numbers),),
        )
        return {row[0]: row[1] for row in rows}, {row[0] for row in rows if row[2]}

    def passages(self, ids: list[int]) -> dict[int, PassageRow]:
        """Passages by id."""
        rows = self._db.rows(
            "SELECT passage_id, seq, start_at, end_at, timestamp_ms, author, native_id, source_ref, page FROM mem_tree_passages "
            "WHERE passage_id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        return {row[0]: PassageRow(*row) for row in rows}

    def passages_of_chunk(self, chunk_id: str) -> list[PassageRow]:
        """The passages of a chunk, in order, as the first item that holds it has them."""
        rows = self._db.rows(
            "SELECT p.passage_id, p.seq, p.start_at, p.end_at, p.timestamp_ms, p.author, p.native_id, p.source_ref, p.page FROM mem_tree_item_chunks ic "
            f"JOIN mem_tree_passages p ON p.passage_id >= ic.item_no << {PASSAGE_BITS} AND p.passage_id < (ic.item_no + 1) << {PASSAGE_BITS} AND p.seq = ic.seq "
            "WHERE ic.chunk_id = ?1 AND ic.item_no = (SELECT min(item_no) FROM mem_tree_item_chunks WHERE chunk_id = ?1) ORDER BY p.passage_id",
            (chunk_id,),
        )
        return [PassageRow(*row) for row in rows]

    def chunks_of(self, passage_ids: list[int], scores: list[float]) -> list[tuple[str, float]]:
        """`(chunk, score)` for each passage, in their order."""
        rows = self._db.rows(
            f"SELECT ic.chunk_id, j.key FROM json_each(?) j JOIN mem_tree_passages p ON p.passage_id = j.value "
            f"JOIN mem_tree_item_chunks ic ON ic.item_no = p.passage_id >> {PASSAGE_BITS} AND ic.seq = p.seq ORDER BY j.key",
            (json.dumps(passage_ids),),
        )
        return [(chunk_id, scores[place]) for chunk_id, place in rows]

    def authors_of_chunk(self, item_no: int, seq: int) -> list[str]:
        """Who wrote the passages of a chunk, sorted."""
        rows = self._db.rows(
            "SELECT DISTINCT author FROM mem_tree_passages WHERE passage_id >= ? AND passage_id < ? AND seq = ? AND author != '' ORDER BY author",
            (item_no << PASSAGE_BITS, (item_no + 1) << PASSAGE_BITS, seq),
        )
        return [row[0] for row in rows]

    def chunks(self, places: list[tuple[int, int]]) -> dict[tuple[int, int], ChunkHit]:
        """Chunks by `(item_no, seq)`."""
        rows = self._db.rows(
            "SELECT c.id, i.item_no, i.item_id, i.source_id, i.kind, i.title, i.author, i.timestamp_ms, i.date_source, c.time_range_start_ms, "
            "c.time_range_end_ms, c.source_ref, c.content_path, coalesce(b.edited, b.original), b.edited IS NOT NULL, ic.seq, c.headings_json, "
            "c.pages_json, coalesce(s.total, 0), i.locator FROM json_each(?) j "
            "JOIN mem_tree_item_chunks ic ON ic.item_no = j.value ->> 0 AND ic.seq = j.value ->> 1 "
            "JOIN mem_tree_items i ON i.item_no = ic.item_no JOIN mem_tree_chunks c ON c.id = ic.chunk_id "
            "JOIN mem_tree_chunk_bodies b ON b.chunk_id = c.id LEFT JOIN mem_tree_score s ON s.chunk_id = c.id",
            (json.dumps(places),),
        )
        found: dict[tuple[int, int], ChunkHit] = {}
        for r in rows:
            hit = ChunkHit(
                r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], (r[9], r[10]) if r[9] is not None else None, r[11] or "", r[12],
                unpack(r[13]), bool(r[14]), r[15], tuple(json.loads(r[16])), tuple(json.loads(r[17])), r[18], r[19],
            )  # fmt: skip
            found[hit.item_no, hit.seq] = hit
        return found

    def chunk_places(self, item_no: int) -> list[tuple[int, int]]:
        """`(item_no, seq)` of all chunks of an item."""
        return [
            (item_no, row[0])
            for row in self._db.rows("SELECT seq FROM mem_tree_item_chunks WHERE item_no = ? ORDER BY seq", (item_no,))
        ]

    def places_of(self, node_id: str) -> list[tuple[int, int]]:
        """Where a chunk id (whole, or its first 8 or more digits) or an item id stands."""
        rows = self._db.rows(
            "SELECT ic.item_no, ic.seq FROM mem_tree_items i JOIN mem_tree_item_chunks ic USING (item_no) WHERE i.item_id = ? ORDER BY ic.seq",
            (node_id,),
        )
        if not rows and len(node_id) >= 8:
            rows = self._db.rows(
                "SELECT item_no, seq FROM mem_tree_item_chunks WHERE chunk_id >= ? AND chunk_id < ? ORDER BY chunk_id, item_no LIMIT 2",
                (node_id, node_id + "g"),
            )
        return rows

    def newest(self, filters: Filters, limit: int) -> list[int]:
        """Passage ids of the newest items' first passages, then by score."""
        where, bindings = filters.sql()
        visible = self._not_dropped(filters, "f.passage_id")
        sql = (
            f"SELECT p.passage_id FROM mem_tree_items i JOIN mem_tree_passages p ON p.passage_id = (SELECT min(f.passage_id) FROM mem_tree_passages f "
            f"WHERE f.passage_id >= i.item_no << {PASSAGE_BITS} AND f.passage_id < (i.item_no + 1) << {PASSAGE_BITS} {'AND ' + visible if visible else ''}) "
            f"{'WHERE ' + where if where else ''} ORDER BY i.timestamp_ms IS NULL, i.timestamp_ms DESC, i.item_no LIMIT ?"
        )
        return [row[0] for row in self._db.rows(sql, [*bindings, limit])]

    def statistics(self) -> dict[str, int]:
        """Counts for `status`."""
        value = self._db.value
        return {
            "items": int(value("SELECT count(*) FROM mem_tree_items")),
            "chunks": int(value("SELECT count(*) FROM mem_tree_chunks")),
            "passages": int(value("SELECT count(*) FROM mem_tree_passages")),
            "searchable_by_text": int(value("SELECT count(*) FROM mem_tree_passages_fts_docsize")),
            "edited_chunks": int(value("SELECT count(*) FROM mem_tree_chunk_bodies WHERE edited IS NOT NULL")),
            "waiting_edits": int(value("SELECT count(*) FROM mem_tree_edit_conflicts")),
            "dropped_passages": int(value("SELECT count(*) FROM mem_tree_dropped_passages")),
            "dropped_chunks": int(value("SELECT count(*) FROM mem_tree_score WHERE dropped")),
            "failed": int(value("SELECT count(*) FROM mem_tree_item_issues WHERE state = 'failed'")),
            "skipped": int(value("SELECT count(*) FROM mem_tree_item_issues WHERE state = 'skipped'")),
        }

    def redactions(self) -> dict[str, int]:
        """Secrets cut out, by class."""
        return dict(self._db.rows("SELECT class, sum(hits) FROM mem_tree_redactions GROUP BY class ORDER BY class"))
