"""What is left of forgotten things in rows beside those of items: found, taken out, and wiped off the disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from sapwood.store.database import Database
from sapwood.store.packing import unpack
from sapwood.text.entities import canonical_id

__all__ = ["ForgettingStore"]

Holds = Callable[[str], bool]

# Rows that go when one of their texts is to be forgotten: table, key, columns.
_ROWS = (
    ("mem_tree_people", ("name", "address"), ("name", "address")),
    ("mem_tree_entity_aliases", ("alias_id",), ("alias_id", "entity_id")),
    ("mem_tree_entity_names", ("entity_id",), ("entity_id", "name")),
    ("mem_tree_hotness", ("entity_id",), ("entity_id",)),
    ("mem_tree_entity_queries", ("entity_id", "day"), ("entity_id",)),
    ("mem_tree_entity_index", ("entity_id", "node_id"), ("entity_id", "surface")),
    ("mem_tree_item_issues", ("item_id",), ("item_id", "scope", "message", "locator")),
    ("mem_tree_redactions", ("source_id", "class"), ("source_id",)),
    ("mem_tree_edit_conflicts", ("chunk_id",), ("item_id",)),
    ("mem_tree_jobs", ("job_no",), ("payload_json",)),
)
# Texts that are blanked in rows that stay.
_TEXTS = (
    ("mem_tree_jobs", "job_no", "last_error"),
    ("mem_tree_runs", "run_id", "message"),
    ("mem_tree_summaries", "summary_no", "rejected"),
)
_PACKED = {
    "mem_tree_chunk_bodies": ("original", "edited"),
    "mem_tree_summaries": ("body",),
    "mem_tree_edit_conflicts": ("original", "edited"),
}


class ForgettingStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def scrub(self, holds: Holds) -> int:
        """Remove rows that hold what is to be forgotten, outside of items, chunks and summaries; how many."""
        gone = 0
        for table, key, columns in _ROWS:
            rows = self._db.rows(f"SELECT {', '.join((*key, *columns))} FROM {table}")
            wrong = [
                row[: len(key)] for row in rows if any(holds(text) for text in row[len(key) :] if isinstance(text, str))
            ]
            where = " AND ".join(f"{column} = ?" for column in key)
            self._db.run_many(f"DELETE FROM {table} WHERE {where}", wrong)
            gone += len(wrong)
        for table, name, column in _TEXTS:
            rows = self._db.rows(f"SELECT {name}, {column} FROM {table} WHERE {column} != ''")
            self._db.run_many(
                f"UPDATE {table} SET {column} = '' WHERE {name} = ?", [(row[0],) for row in rows if holds(row[1])]
            )
        return gone

    def idle_trees(self) -> list[str]:
        """Trees of sources and topics that tell of nothing any more and that nothing is about to come into."""
        rows = self._db.rows(
            "SELECT id FROM mem_tree_trees t WHERE kind != 'global' AND NOT EXISTS (SELECT 1 FROM mem_tree_buffers b WHERE b.tree_id = t.id) "
            "AND NOT EXISTS (SELECT 1 FROM mem_tree_summaries s WHERE s.tree_id = t.id) AND NOT EXISTS (SELECT 1 FROM mem_tree_items i WHERE i.source_id = t.scope) "
            "AND (root_id IS NULL OR NOT EXISTS (SELECT 1 FROM mem_tree_chunks c WHERE c.id = root_id)) "
            "AND NOT EXISTS (SELECT 1 FROM mem_tree_entity_index e WHERE t.kind = 'topic' AND e.entity_id = t.scope AND e.node_kind = 'leaf') "
            "AND NOT (t.kind = 'topic' AND EXISTS (SELECT 1 FROM mem_tree_jobs j WHERE j.kind = 'extract_chunk'))"
        )
        return [row[0] for row in rows]

    def drop_unnamed_people(self) -> None:
        """Remove names, addresses and what joins them that no item names any more."""
        named = set()
        for (metadata,) in self._db.each(
            "SELECT metadata_json FROM mem_tree_items WHERE metadata_json LIKE '%\"people\"%'"
        ):
            for person in json.loads(metadata).get("people", ()):
                named.add(
                    (" ".join(str(person.get("name", "")).split()), " ".join(str(person.get("address", "")).split()))
                )
        rows = self._db.rows("SELECT name, address FROM mem_tree_people")
        gone = [row for row in rows if tuple(row) not in named]
        self._db.run_many("DELETE FROM mem_tree_people WHERE name = ? AND address = ?", gone)
        for name, address in gone:
            self._db.run(
                "DELETE FROM mem_tree_entity_aliases WHERE origin = 'metadata' AND alias_id = ? AND entity_id IN ('', ?)",
                (canonical_id("person", name), canonical_id("email", address)),
            )

    def drop_unnamed_entities(self) -> None:
        """Remove how hot is what nothing names any more, what was asked about it and what is to be done for it. Former summaries name too:
        they are told anew first."""
        self._db.run(
            "DELETE FROM mem_tree_jobs WHERE kind = 'topic_route' AND json_extract(payload_json, '$.entity') IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM mem_tree_entity_index e WHERE e.entity_id = json_extract(payload_json, '$.entity'))"
        )
        self._db.run(
            "DELETE FROM mem_tree_hotness WHERE NOT EXISTS (SELECT 1 FROM mem_tree_entity_index e WHERE e.entity_id = mem_tree_hotness.entity_id)"
        )
        self._db.run(
            "DELETE FROM mem_tree_entity_queries WHERE NOT EXISTS (SELECT 1 FROM mem_tree_entity_index e WHERE e.entity_id = mem_tree_entity_queries.entity_id)"
        )

    def left(self, holds: Holds) -> dict[str, int]:
        """In how many rows of which tables a text still stands: every text of every table is looked at."""
        found: dict[str, int] = {}
        for table, columns in self._text_columns():
            packed = _PACKED.get(table, ())
            for row in self._db.each(f"SELECT {', '.join((*columns, *packed))} FROM {table}"):
                texts = [*row[: len(columns)], *(unpack(body) for body in row[len(columns) :] if body is not None)]
                if any(isinstance(text, str) and holds(text) for text in texts):
                    found[table] = found.get(table, 0) + 1
        return found

    def _text_columns(self) -> Iterator[tuple[str, list[str]]]:
        names = self._db.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'mem!_tree!_%' ESCAPE '!' AND name NOT LIKE '%!_fts%' ESCAPE '!'"
        )
        for (table,) in names:
            columns = [
                row[0] for row in self._db.rows("SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,))
            ]
            if columns or table in _PACKED:
                yield table, columns

    def wipe(self) -> bool:
        """Write the file anew without anything that was ever deleted; False when another program kept that from being done."""
        for table in ("mem_tree_passages_fts", "mem_tree_summaries_fts"):
            self._db.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._db.run("VACUUM")
        row = self._db.row("PRAGMA wal_checkpoint(TRUNCATE)")
        return row is not None and row[0] == 0
