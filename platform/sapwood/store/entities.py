"""The entity index: which chunk or summary mentions what."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from sapwood.store.database import Database

__all__ = ["EntityStore", "Mention"]


class Mention(NamedTuple):
    """One entity in one node: its id, kind, an example of how it is written there, and how sure the find is, 0 to 1."""

    entity_id: str
    kind: str
    surface: str
    score: float


class EntityStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(
        self,
        node_id: str,
        node_kind: str,
        mentions: Iterable[Mention],
        timestamp_ms: int | None,
        tree_id: str | None = None,
    ) -> bool:
        """All mentions of a node, in place of those that it had; True when they are others. A summary names its tree."""
        rows = [(m.entity_id, node_id, node_kind, m.kind, m.surface, m.score, timestamp_ms, tree_id) for m in mentions]
        before = {
            row[0] for row in self._db.rows("SELECT entity_id FROM mem_tree_entity_index WHERE node_id = ?", (node_id,))
        }
        if before:
            self._db.run("DELETE FROM mem_tree_entity_index WHERE node_id = ?", (node_id,))
        self._db.run_many(
            "INSERT OR REPLACE INTO mem_tree_entity_index (entity_id, node_id, node_kind, entity_kind, surface, score, timestamp_ms, tree_id) "
            "VALUES (?,?,?,?,?,?,?,?)",
            rows,
        )
        return before != {row[0] for row in rows}

    def of_node(self, node_id: str) -> list[Mention]:
        """The mentions of a node."""
        return [
            Mention(*row)
            for row in self._db.rows(
                "SELECT entity_id, entity_kind, surface, score FROM mem_tree_entity_index WHERE node_id = ? ORDER BY entity_id",
                (node_id,),
            )
        ]

    def ids_of_node(self, node_id: str) -> list[str]:
        """The ids of what a node names."""
        rows = self._db.rows("SELECT entity_id FROM mem_tree_entity_index WHERE node_id = ?", (node_id,))
        return [row[0] for row in rows]

    def moment_of(self, node_id: str) -> int | None:
        """When the last thing in a node was said, as the index has it; None when nobody knows, or it names nothing."""
        moment = self._db.value("SELECT max(timestamp_ms) FROM mem_tree_entity_index WHERE node_id = ?", (node_id,))
        return None if moment is None else int(moment)

    # -- asking -------------------------------------------------------------------------------------------------------

    def leaves(self, entity_ids: list[str], since_ms: int | None, until_ms: int | None, limit: int) -> list[str]:
        """Chunks that name one of these, the newest first; those without a date last, and not at all within a window. A chunk lies within
        when some of it may have been said then."""
        window, bounds = _window(since_ms, until_ms)
        newest: dict[str, int | None] = {}
        for (
            entity_id
        ) in entity_ids:  # each by itself is read off an index from its newest end, however often it is named
            rows = self._db.rows(
                f"SELECT node_id, timestamp_ms FROM mem_tree_entity_index e WHERE entity_id = ? AND node_kind = 'leaf'{window} "
                "ORDER BY timestamp_ms DESC, node_id LIMIT ?",
                (entity_id, *bounds, limit),
            )
            for node_id, moment in rows:
                known = newest.get(node_id)
                newest[node_id] = moment if known is None or (moment or 0) > known else known
        ranked = sorted(newest.items(), key=lambda entry: (entry[1] is None, -(entry[1] or 0), entry[0]))
        return [node_id for node_id, _ in ranked[:limit]]

    def leaf_count(self, entity_ids: list[str], since_ms: int | None, until_ms: int | None) -> int:
        """How many chunks name one of these in a window."""
        window, bounds = _window(since_ms, until_ms)
        if len(entity_ids) == 1:  # a chunk names it once
            which, what = "entity_id = ?", entity_ids[0]
        else:
            which, what = "entity_id IN (SELECT value FROM json_each(?))", json.dumps(entity_ids, ensure_ascii=False)
        counted = "count(*)" if len(entity_ids) == 1 else "count(DISTINCT node_id)"
        return int(
            self._db.value(
                f"SELECT {counted} FROM mem_tree_entity_index e WHERE {which} AND node_kind = 'leaf'{window}",
                (what, *bounds),
            )
        )

    def named_with(self, entity_ids: list[str]) -> list[tuple[str, str, int]]:
        """`(id, kind, chunks)` of what is named in the newest two hundred chunks that name one of these, the most frequent first."""
        ids = json.dumps(entity_ids, ensure_ascii=False)
        return self._db.rows(
            "SELECT e.entity_id, min(e.entity_kind), count(*) FROM mem_tree_entity_index e WHERE e.node_id IN (SELECT value FROM json_each(?1)) "
            "AND e.entity_id NOT IN (SELECT value FROM json_each(?2)) GROUP BY e.entity_id HAVING count(*) > 1 ORDER BY count(*) DESC, e.entity_id LIMIT 100",
            (json.dumps(self.leaves(entity_ids, None, None, 200)), ids),
        )

    def written_as(self, entity_ids: list[str]) -> list[str]:
        """Every way in which these are written, each once; as fast for what is named often as for what is named once."""
        rows = self._db.rows(
            "WITH RECURSIVE name (entity_id, surface) AS ("
            "SELECT j.value, (SELECT min(surface) FROM mem_tree_entity_index WHERE entity_id = j.value) FROM json_each(?) j UNION ALL "
            "SELECT n.entity_id, (SELECT min(surface) FROM mem_tree_entity_index WHERE entity_id = n.entity_id AND surface > n.surface) FROM name n "
            "WHERE n.surface IS NOT NULL) SELECT DISTINCT surface FROM name WHERE surface IS NOT NULL ORDER BY surface",
            (json.dumps(entity_ids, ensure_ascii=False),),
        )
        return [row[0] for row in rows]

    def surfaces(self, entity_ids: list[str]) -> list[str]:
        """How these are written, the most frequent way first."""
        rows = self._db.rows(
            "SELECT surface FROM mem_tree_entity_index WHERE entity_id IN (SELECT value FROM json_each(?)) GROUP BY surface ORDER BY count(*) DESC, surface",
            (json.dumps(entity_ids, ensure_ascii=False),),
        )
        return [row[0] for row in rows]

    def spellings(self, entity_ids: list[str]) -> list[tuple[str, str]]:
        """`(kind, surface)` of every way in which these are written."""
        return self._db.rows(
            "SELECT DISTINCT entity_kind, surface FROM mem_tree_entity_index WHERE entity_id IN (SELECT value FROM json_each(?)) AND node_kind = 'leaf' ORDER BY 1, 2",
            (json.dumps(entity_ids, ensure_ascii=False),),
        )

    def search(self, query: str, kinds: list[str], limit: int) -> list[tuple[str, str, str, int, int | None]]:
        """`(id, kind, example, leaves, last seen)` of entities whose id or spelling holds a text, the most frequent first."""
        like = "%" + query.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        return self._db.rows(
            "SELECT entity_id, min(entity_kind), max(surface), count(*), max(timestamp_ms) FROM mem_tree_entity_index WHERE node_kind = 'leaf' "
            "AND (lower(surface) LIKE ?1 ESCAPE '\\' OR entity_id LIKE ?1 ESCAPE '\\') AND (?2 = '[]' OR entity_kind IN (SELECT value FROM json_each(?2))) "
            "GROUP BY entity_id ORDER BY count(*) DESC, entity_id LIMIT ?3",
            (like, json.dumps(kinds), limit),
        )

    # -- tags in the vault ----------------------------------------------------------------------------------------

    def mark_untagged(self, chunk_id: str) -> None:
        """The chunk's note does not show its entities yet."""
        self._db.run("INSERT OR IGNORE INTO mem_tree_note_tags (chunk_id) VALUES (?)", (chunk_id,))

    def untagged(self, limit: int) -> list[str]:
        """Chunks whose notes do not show their entities yet."""
        return [
            row[0]
            for row in self._db.rows("SELECT chunk_id FROM mem_tree_note_tags ORDER BY chunk_id LIMIT ?", (limit,))
        ]

    def forget_untagged(self, chunk_ids: list[str]) -> None:
        """They do now, or are gone."""
        self._db.run_many("DELETE FROM mem_tree_note_tags WHERE chunk_id = ?", [(chunk_id,) for chunk_id in chunk_ids])

    def shown(self, chunk_ids: list[str]) -> dict[str, list[tuple[str, str]]]:
        """`(kind, surface)` of the entities of chunks, the surest first."""
        rows = self._db.rows(
            "SELECT node_id, entity_kind, surface FROM mem_tree_entity_index WHERE node_id IN (SELECT value FROM json_each(?)) "
            "ORDER BY node_id, score DESC, entity_id",
            (json.dumps(chunk_ids),),
        )
        found: dict[str, list[tuple[str, str]]] = {}
        for node_id, kind, surface in rows:
            found.setdefault(node_id, []).append((kind, surface))
        return found


def _window(since_ms: int | None, until_ms: int | None) -> tuple[str, tuple[int, ...]]:
    """Conditions of a window, and their values: the index has the end of a chunk, the chunk its beginning."""
    condition, bounds = "", []
    if since_ms is not None:
        condition += " AND e.timestamp_ms >= ?"
        bounds.append(since_ms)
    if until_ms is not None:
        condition += " AND coalesce((SELECT c.time_range_start_ms FROM mem_tree_chunks c WHERE c.id = e.node_id), e.timestamp_ms) <= ?"
        bounds.append(until_ms)
    return condition, tuple(bounds)
