"""The entity index: which chunk or summary mentions what, under one id for each person or thing; and who is who."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from sapwood.store.database import Database
from sapwood.text.entities import canonical_id

__all__ = ["EntityStore", "Mention"]


_KINDS = ("person", "organization", "location", "product", "event", "technology", "artifact", "misc", "topic", "email", "handle", "hashtag", "url")  # fmt: skip


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

    # -- asking -------------------------------------------------------------------------------------------------------

    def resolve(self, name: str) -> list[str]:
        """The ids of everybody and everything that is called so, with all other ids that stand for the same; sorted."""
        wanted = [canonical_id(kind, name) for kind in _KINDS]
        if ":" in name:
            wanted.append(name.lower())
        rows = self._db.rows(
            "WITH named (id) AS (SELECT value FROM json_each(?1)), "
            "same (id) AS (SELECT id FROM named UNION SELECT a.entity_id FROM mem_tree_entity_aliases a JOIN named n ON n.id = a.alias_id WHERE a.entity_id != ''), "
            "whole (id) AS (SELECT id FROM same UNION SELECT a.alias_id FROM mem_tree_entity_aliases a JOIN same s ON s.id = a.entity_id) "
            "SELECT id FROM whole WHERE EXISTS (SELECT 1 FROM mem_tree_entity_index e WHERE e.entity_id = whole.id) ORDER BY id",
            (json.dumps(wanted, ensure_ascii=False),),
        )
        return sorted({row[0] for row in rows} | set(self._full_names(name)))

    def _full_names(self, name: str) -> list[str]:
        """The person whose first or last name this is, with their other ids; nobody when there are several."""
        word = " ".join(name.lower().split())
        if not word or " " in word or ":" in word:
            return []
        like = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        rows = self._db.rows(
            "SELECT DISTINCT e.entity_id, coalesce(nullif(a.entity_id, ''), e.entity_id) FROM mem_tree_entity_index e LEFT JOIN mem_tree_entity_aliases a "
            "ON a.alias_id = e.entity_id WHERE e.entity_kind = 'person' AND (e.entity_id LIKE ?1 ESCAPE '\\' OR e.entity_id LIKE ?2 ESCAPE '\\')",
            (f"person:{like} %", f"person:% {like}"),
        )
        if len({who for _, who in rows}) != 1:
            return []
        return [*(entity_id for entity_id, _ in rows), rows[0][1]]

    def leaves(self, entity_ids: list[str], since_ms: int | None, until_ms: int | None) -> list[str]:
        """Chunks that name one of these, the newest first; those without a date last, and not at all within a window."""
        rows = self._db.rows(
            "SELECT node_id, max(timestamp_ms) AS moment FROM mem_tree_entity_index WHERE entity_id IN (SELECT value FROM json_each(?1)) AND node_kind = 'leaf' "
            "AND (?2 IS NULL OR timestamp_ms >= ?2) AND (?3 IS NULL OR timestamp_ms <= ?3) GROUP BY node_id ORDER BY moment IS NULL, moment DESC, node_id",
            (json.dumps(entity_ids, ensure_ascii=False), since_ms, until_ms),
        )
        return [row[0] for row in rows]

    def surfaces(self, entity_ids: list[str]) -> list[str]:
        """How these are written, the most frequent way first."""
        rows = self._db.rows(
            "SELECT surface FROM mem_tree_entity_index WHERE entity_id IN (SELECT value FROM json_each(?)) GROUP BY surface ORDER BY count(*) DESC, surface",
            (json.dumps(entity_ids, ensure_ascii=False),),
        )
        return [row[0] for row in rows]

    def search(self, query: str, kinds: list[str], limit: int) -> list[tuple[str, str, str, int, int | None]]:
        """`(id, kind, example, leaves, last seen)` of entities whose id or spelling holds a text, the most frequent first."""
        like = "%" + query.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        return self._db.rows(
            "SELECT entity_id, min(entity_kind), max(surface), count(*), max(timestamp_ms) FROM mem_tree_entity_index WHERE node_kind = 'leaf' "
            "AND (lower(surface) LIKE ?1 ESCAPE '\\' OR entity_id LIKE ?1 ESCAPE '\\') AND (?2 = '[]' OR entity_kind IN (SELECT value FROM json_each(?2))) "
            "GROUP BY entity_id ORDER BY count(*) DESC, entity_id LIMIT ?3",
            (like, json.dumps(kinds), limit),
        )

    # -- people ---------------------------------------------------------------------------------------------------

    def add_people(self, people: Iterable[Any]) -> None:
        """Names and addresses out of an item's metadata; a name with one address only is an alias of the address.

        The outcome does not depend on the order in which items come.
        """
        for person in people:
            name, address = (" ".join(str(value or "").split()) for value in (person.name, person.address))
            if (
                not name
                or self._db.run("INSERT OR IGNORE INTO mem_tree_people (name, address) VALUES (?, ?)", (name, address))
                == 0
            ):
                continue
            if address:
                # A second address makes the name ambiguous: then it stands for nobody in particular.
                self._db.run(
                    "INSERT INTO mem_tree_entity_aliases (alias_id, entity_id, origin) VALUES (?, ?, 'metadata') ON CONFLICT (alias_id) DO UPDATE "
                    "SET entity_id = '' WHERE origin = 'metadata' AND entity_id != excluded.entity_id",
                    (canonical_id("person", name), canonical_id("email", address)),
                )

    def people_count(self) -> int:
        """How many pairs of name and address there are."""
        return int(self._db.value("SELECT count(*) FROM mem_tree_people"))

    def people_names(self) -> list[str]:
        """Every name that an item's metadata gave, sorted."""
        return [row[0] for row in self._db.rows("SELECT DISTINCT name FROM mem_tree_people ORDER BY name")]

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
