"""What passages say: cut out of their chunks' bodies."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sapwood.store.database import Database
from sapwood.store.packing import unpack
from sapwood.store.schema import PASSAGE_BITS

__all__ = ["PassageBody", "PassageTexts"]


@dataclass(frozen=True, slots=True)
class PassageBody:
    """The kind of a passage's item, who said it, and its part of the chunk as it is shown."""

    kind: str
    author: str
    body: str


class PassageTexts:
    """Read-only queries."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of(self, passage_ids: list[int]) -> dict[int, PassageBody]:
        """The texts of these passages; each chunk is unpacked once."""
        rows = self._db.rows(
            "SELECT p.passage_id, i.kind, p.author, p.start_at, p.end_at, ic.chunk_id, coalesce(b.edited, b.original) "
            "FROM mem_tree_passages p "
            f"JOIN mem_tree_items i ON i.item_no = p.passage_id >> {PASSAGE_BITS} "
            "JOIN mem_tree_item_chunks ic ON ic.item_no = i.item_no AND ic.seq = p.seq "
            "JOIN mem_tree_chunk_bodies b ON b.chunk_id = ic.chunk_id "
            "WHERE p.passage_id IN (SELECT value FROM json_each(?)) ORDER BY ic.chunk_id",
            (json.dumps(passage_ids),),
        )
        found: dict[int, PassageBody] = {}
        opened, content = "", ""
        for passage_id, kind, author, start, end, chunk_id, packed in rows:
            if chunk_id != opened:
                opened, content = chunk_id, unpack(packed)
            found[passage_id] = PassageBody(kind, author, content[start:end])
        return found
