"""What makes an entity hot: how often, where and with whom it was named lately, and how often it was asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sapwood.store.database import Database

__all__ = ["MOMENTS", "HotnessStore", "Named"]

_DAY_MS = 86_400_000
MOMENTS = ("datetime", "quantity", "url")
"""Kinds that are no subject of a topic: they are looked up, not told about."""
_SAMPLE = 200  # leaves out of which it is seen who is named together


@dataclass(frozen=True, slots=True)
class Named:
    """What is known of the last thirty days: leaves that name it, sources they are of, others named in the same leaves, times that it
    was asked for, and when it was named last."""

    mentions: int
    sources: int
    neighbours: int
    queries: int
    last_ms: int | None


class HotnessStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def named(self, entity_ids: list[str], since_ms: int, until_ms: int) -> Named:
        """Counts for a group of ids, of what was said in a window of time.

        A file counts by its folder: a folder full of files is one source, not many.
        """
        ids = json.dumps(entity_ids, ensure_ascii=False)
        window = (ids, since_ms, until_ms)
        leaves = (
            "SELECT node_id, max(timestamp_ms) AS moment FROM mem_tree_entity_index WHERE entity_id IN (SELECT value FROM json_each(?1)) "
            "AND node_kind = 'leaf' AND timestamp_ms BETWEEN ?2 AND ?3 GROUP BY node_id"
        )
        count, last = self._db.row(f"SELECT count(*), max(moment) FROM ({leaves})", window) or (0, None)
        sources = self._db.value(
            # The part of a path before its last `/`, or all of an id that is none.
            "SELECT count(DISTINCT CASE WHEN i.item_id = i.source_id THEN i.connection_id || ' ' || rtrim(i.source_id, replace(i.source_id, '/', '')) ELSE i.source_id END) "
            f"FROM ({leaves}) l JOIN mem_tree_item_chunks ic ON ic.chunk_id = l.node_id JOIN mem_tree_items i ON i.item_no = ic.item_no",
            window,
        )
        neighbours = self._db.value(
            f"SELECT count(DISTINCT e.entity_id) FROM (SELECT node_id FROM ({leaves}) ORDER BY moment DESC, node_id LIMIT {_SAMPLE}) l "
            "JOIN mem_tree_entity_index e ON e.node_id = l.node_id WHERE e.entity_id NOT IN (SELECT value FROM json_each(?1)) "
            f"AND e.entity_kind NOT IN {MOMENTS}",
            window,
        )
        queries = self._db.value(
            "SELECT coalesce(sum(hits), 0) FROM mem_tree_entity_queries WHERE entity_id IN (SELECT value FROM json_each(?1)) AND day BETWEEN ?2 AND ?3",
            (ids, since_ms // _DAY_MS, until_ms // _DAY_MS),
        )
        return Named(int(count), int(sources), int(neighbours), int(queries), last)

    def leaves(self, entity_ids: list[str], since_ms: int, until_ms: int, limit: int) -> list[str]:
        """The newest chunks of a window that name one of these and are whole: the last one of what may still go on is not."""
        rows = self._db.rows(
            "SELECT e.node_id, max(e.timestamp_ms) AS moment FROM mem_tree_entity_index e JOIN mem_tree_item_chunks ic ON ic.chunk_id = e.node_id "
            "JOIN mem_tree_items i ON i.item_no = ic.item_no JOIN mem_tree_chunks c ON c.id = e.node_id "
            "WHERE e.entity_id IN (SELECT value FROM json_each(?1)) AND e.node_kind = 'leaf' AND e.timestamp_ms BETWEEN ?2 AND ?3 "
            "AND c.lifecycle_status IN ('admitted', 'buffered', 'sealed') "
            "AND (i.final OR ic.seq < (SELECT max(seq) FROM mem_tree_item_chunks WHERE item_no = i.item_no)) "
            "GROUP BY e.node_id ORDER BY moment DESC, e.node_id LIMIT ?4",
            (json.dumps(entity_ids, ensure_ascii=False), since_ms, until_ms, limit),
        )
        return [row[0] for row in rows]

    def count(self, entity_id: str, moment_ms: int) -> tuple[int, int]:
        """One more leaf names it; how many have come since it was looked at, and how many there were then."""
        row = self._db.row(
            "INSERT INTO mem_tree_hotness (entity_id, last_ms, unseen) VALUES (?1, ?2, 1) ON CONFLICT (entity_id) DO UPDATE "
            "SET unseen = unseen + 1, last_ms = max(last_ms, ?2) RETURNING unseen, mentions",
            (entity_id, moment_ms),
        )
        assert row is not None
        return int(row[0]), int(row[1])

    def put(self, entity_id: str, hotness: float, mentions: int, last_ms: int) -> None:
        """It has been looked at."""
        self._db.run(
            "INSERT INTO mem_tree_hotness (entity_id, hotness, mentions, last_ms, unseen) VALUES (?1, ?2, ?3, ?4, 0) ON CONFLICT (entity_id) DO UPDATE "
            "SET hotness = ?2, mentions = ?3, last_ms = ?4, unseen = 0",
            (entity_id, hotness, mentions, last_ms),
        )

    def worth_a_look(self, unseen: int, hotness: float) -> list[str]:
        """Those that may have become hot, or cold, since they were looked at."""
        rows = self._db.rows(
            "SELECT entity_id FROM mem_tree_hotness WHERE unseen >= ? OR hotness >= ? ORDER BY entity_id",
            (unseen, hotness),
        )
        return [row[0] for row in rows]

    def hottest(self, limit: int) -> list[tuple[str, float]]:
        """`(id, hotness)`, the hottest first."""
        return self._db.rows(
            "SELECT entity_id, hotness FROM mem_tree_hotness WHERE hotness > 0 ORDER BY hotness DESC, entity_id LIMIT ?",
            (limit,),
        )

    def forget(self, named_before_ms: int) -> None:
        """Let go of what nobody has named or asked for since a time."""
        self._db.run("DELETE FROM mem_tree_hotness WHERE last_ms < ?", (named_before_ms,))
        self._db.run("DELETE FROM mem_tree_entity_queries WHERE day < ?", (named_before_ms // _DAY_MS,))

    def drop(self, entity_ids: list[str]) -> None:
        """Nothing is known of these any more."""
        self._db.run(
            "DELETE FROM mem_tree_hotness WHERE entity_id IN (SELECT value FROM json_each(?))",
            (json.dumps(entity_ids, ensure_ascii=False),),
        )

    def asked(self, entity_id: str, moment_ms: int) -> None:
        """Somebody has asked for it."""
        self._db.run(
            "INSERT INTO mem_tree_entity_queries (entity_id, day, hits) VALUES (?, ?, 1) ON CONFLICT (entity_id, day) DO UPDATE SET hits = hits + 1",
            (entity_id, moment_ms // _DAY_MS),
        )
