"""The entity index: which chunk or summary mentions what, under one id for each person or thing."""

from __future__ import annotations

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

    def put(self, node_id: str, node_kind: str, mentions: Iterable[Mention], timestamp_ms: int | None) -> None:
        """All mentions of a node, in place of those that it had."""
        self._db.run("DELETE FROM mem_tree_entity_index WHERE node_id = ?", (node_id,))
        self._db.run_many(
            "INSERT OR REPLACE INTO mem_tree_entity_index (entity_id, node_id, node_kind, entity_kind, surface, score, timestamp_ms) "
            "VALUES (?,?,?,?,?,?,?)",
            [(m.entity_id, node_id, node_kind, m.kind, m.surface, m.score, timestamp_ms) for m in mentions],
        )
