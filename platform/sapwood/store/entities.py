"""The entity index: which chunk or summary mentions what, under one id for each person or thing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

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

    def put(self, node_id: str, node_kind: str, mentions: Iterable[Mention], timestamp_ms: int | None) -> None:
        """All mentions of a node, in place of those that it had."""
        self._db.run("DELETE FROM mem_tree_entity_index WHERE node_id = ?", (node_id,))
        self._db.run_many(
            "INSERT OR REPLACE INTO mem_tree_entity_index (entity_id, node_id, node_kind, entity_kind, surface, score, timestamp_ms) "
            "VALUES (?,?,?,?,?,?,?)",
            [(m.entity_id, node_id, node_kind, m.kind, m.surface, m.score, timestamp_ms) for m in mentions],
        )

    def of_node(self, node_id: str) -> list[Mention]:
        """The mentions of a node, surest first."""
        rows = self._db.rows(
            "SELECT entity_id, entity_kind, surface, score FROM mem_tree_entity_index WHERE node_id = ? ORDER BY score DESC, entity_id",
            (node_id,),
        )
        return [Mention(*row) for row in rows]

    def search(self, query: str, kinds: tuple[str, ...], limit: int) -> list[dict[str, Any]]:
        """Entities whose id or surface holds the query, whatever its case: most often mentioned first.

        Returns: `entity_id`, `kind`, `surface`, `mentions` (nodes), `last_seen_ms`.
        """
        wanted = "%" + query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").lower() + "%"
        marks = ",".join("?" * len(kinds))
        rows = self._db.rows(
            "SELECT entity_id, entity_kind, surface, count(*) AS mentions, max(timestamp_ms) FROM mem_tree_entity_index "  # noqa: S608
            "WHERE (entity_id LIKE ? ESCAPE '\\' OR lower(surface) LIKE ? ESCAPE '\\') "
            + (f"AND entity_kind IN ({marks}) " if kinds else "")
            + "GROUP BY entity_id ORDER BY mentions DESC, entity_id LIMIT ?",
            (wanted, wanted, *kinds, limit),
        )
        return [
            dict(zip(("entity_id", "kind", "surface", "mentions", "last_seen_ms"), row, strict=True)) for row in rows
        ]

    # -- aliases ----------------------------------------------------------------------------------------------------------

    def alias(self, entity_ids: Iterable[str], canonical: str, origin: str) -> None:
        """These ids are other names of one entity. What a person said (`user`) is never overwritten by a source."""
        self._db.run_many(
            "INSERT INTO mem_tree_entity_aliases (alias_id, entity_id, origin) VALUES (?,?,?) ON CONFLICT (alias_id) DO UPDATE SET "
            "entity_id = excluded.entity_id, origin = excluded.origin WHERE mem_tree_entity_aliases.origin != 'user' OR excluded.origin = 'user'",
            [(alias, canonical, origin) for alias in entity_ids if alias != canonical],
        )

    def resolved(self, entity_ids: Iterable[str]) -> dict[str, str]:
        """The canonical id of each that has another one."""
        found: dict[str, str] = {}
        for entity_id in entity_ids:
            current, seen = entity_id, {entity_id}
            while (
                following := self._db.value(
                    "SELECT entity_id FROM mem_tree_entity_aliases WHERE alias_id = ?", (current,)
                )
            ) and following not in seen:
                seen.add(following)
                current = following
            if current != entity_id:
                found[entity_id] = current
        return found

    def known_names(self) -> list[str]:
        """Names of people from senders, authors and profiles, longest first."""
        rows = self._db.rows(
            "SELECT DISTINCT surface FROM mem_tree_entity_index WHERE entity_kind = 'person' AND score = 1.0 AND length(surface) > 1"
        )
        return sorted((row[0] for row in rows), key=lambda name: (-len(name), name))
