"""embeddings.db: a vector for each passage and model. Derived data: the file may be deleted at any time.

One pair of tables a model: the vectors, and their signs as bits. A query ranks by the bits' Hamming distance, and the best
of these exactly. Both are ordinary tables, read with sqlite-vec's functions: in its own vec0 tables the cost grows with
the number of neighbours asked for, scattered deletes free nothing, and filters are limited to columns of their own
(docs/decisions.md has the figures).

A vector belongs to a passage as long as the passage has the text that it was made from: every reader compares the hashes.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sapwood.errors import DamagedStoreError
from sapwood.store.database import Database
from sapwood.store.schema import PASSAGE_BITS

__all__ = ["Model", "VectorStore", "VectorTotals"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS mem_tree_embedding_models (
    model_no INTEGER PRIMARY KEY,
    signature TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    dims INTEGER NOT NULL DEFAULT 0,
    url TEXT NOT NULL DEFAULT '',
    key_reference TEXT NOT NULL DEFAULT '',
    complete_at_ms INTEGER
);
CREATE TABLE IF NOT EXISTS mem_tree_embedding_failures (
    model_no INTEGER NOT NULL,
    text_hash INTEGER NOT NULL,
    passage_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (model_no, text_hash)
) WITHOUT ROWID;
"""
_VECTORS, _BITS = "mem_tree_chunk_embeddings_{}", "mem_tree_chunk_embedding_bits_{}"


@dataclass(frozen=True, slots=True)
class Model:
    """A model with vectors here. `complete` once every passage had one; `url` and `key_reference` say where it is asked."""

    number: int
    signature: str
    name: str
    dims: int
    complete: bool
    url: str = ""
    key_reference: str = ""


@dataclass(frozen=True, slots=True)
class VectorTotals:
    """How far a model is: `stored` vectors of passages as they are now, `missing` ones, and those it gave none for."""

    stored: int
    missing: int
    failed: int


class VectorStore:
    """embeddings.db seen from a connection to chunks.db, to which it is attached.

    Args:
        database: connection to chunks.db; a writing one to write.
        path: of embeddings.db.
    """

    def __init__(self, database: Database, path: Path) -> None:
        self._db = database
        self._path = path

    @contextlib.contextmanager
    def attached(self, *, create: bool = False) -> Iterator[bool]:
        """Attach the file for what is done inside; False when there is none.

        A file that is no database is removed when it may be made anew.

        Raises:
            DamagedStoreError: it is damaged, and `create` is not set.
        """
        if not create and not (self._path.exists() and self._path.stat().st_size):
            yield False
            return
        try:
            self._attach(create=create)
        except DamagedStoreError:
            if not create:
                raise
            self.remove()
            self._attach(create=True)
        try:
            yield True
        except DamagedStoreError as error:
            raise DamagedStoreError(
                str(self._path), error.cause, "Run `sapwood rebuild --vectors`: it is made anew from the texts."
            ) from error
        finally:
            self._db.detach("vectors")

    def _attach(self, *, create: bool) -> None:
        if create and not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        self._db.load_vector_functions()
        self._db.attach(self._path, "vectors")
        try:
            if create:
                self._db.rows("PRAGMA vectors.page_size = 8192")
                self._db.rows("PRAGMA vectors.journal_mode = WAL")
                self._db.rows("PRAGMA vectors.synchronous = NORMAL")
                self._db.run(_SCHEMA.replace("IF NOT EXISTS ", "IF NOT EXISTS vectors."))
            self._db.rows("SELECT 1 FROM vectors.mem_tree_embedding_models LIMIT 1")
        except BaseException:
            self._db.detach("vectors")
            raise

    def remove(self) -> None:
        """Delete the file and what SQLite keeps beside it."""
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    # -- models ---------------------------------------------------------------------------------------------------

    def models(self) -> list[Model]:
        """All models with tables here, oldest first."""
        rows = self._db.rows(
            "SELECT model_no, signature, name, dims, complete_at_ms IS NOT NULL, url, key_reference FROM vectors.mem_tree_embedding_models ORDER BY model_no"
        )
        return [Model(r[0], r[1], r[2], r[3], bool(r[4]), r[5], r[6]) for r in rows]

    def model(self, signature: str) -> Model | None:
        """The model of a signature."""
        return next((m for m in self.models() if m.signature == signature), None)

    def add_model(self, signature: str, name: str, url: str = "", key_reference: str = "") -> Model:
        """The model of a signature, with tables of its own when it is new, and where it is asked from now on."""
        with self._db.transaction(immediate=False):
            self._db.run(
                "INSERT INTO vectors.mem_tree_embedding_models (signature, name, url, key_reference) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (signature) DO UPDATE SET url = excluded.url, key_reference = excluded.key_reference",
                (signature, name, url, key_reference),
            )
            found = self.model(signature)
            assert found is not None
            table, bits = _VECTORS.format(found.number), _BITS.format(found.number)
            self._db.run(
                f"CREATE TABLE IF NOT EXISTS vectors.{table} (passage_id INTEGER PRIMARY KEY, text_hash INTEGER NOT NULL, vector BLOB NOT NULL); "
                f"CREATE INDEX IF NOT EXISTS vectors.{table}_by_text ON {table} (text_hash); "
                f"CREATE TABLE IF NOT EXISTS vectors.{bits} (passage_id INTEGER PRIMARY KEY, bits BLOB NOT NULL)"
            )
        return found

    def set_dims(self, model: Model, dims: int) -> None:
        """What the model's first vector had."""
        self._db.run("UPDATE vectors.mem_tree_embedding_models SET dims = ? WHERE model_no = ?", (dims, model.number))

    def set_complete(self, model: Model, now_ms: int) -> None:
        """Every passage has a vector: the model may answer."""
        self._db.run(
            "UPDATE vectors.mem_tree_embedding_models SET complete_at_ms = coalesce(complete_at_ms, ?) WHERE model_no = ?",
            (now_ms, model.number),
        )

    def drop(self, model: Model) -> None:
        """Remove a model with its vectors."""
        with self._db.transaction(immediate=False):
            self._db.run(
                f"DROP TABLE IF EXISTS vectors.{_VECTORS.format(model.number)}; DROP TABLE IF EXISTS vectors.{_BITS.format(model.number)}"
            )
            for table in ("models", "failures"):
                self._db.run(f"DELETE FROM vectors.mem_tree_embedding_{table} WHERE model_no = ?", (model.number,))

    # -- filling --------------------------------------------------------------------------------------------------

    def purge(self) -> int:
        """Remove vectors whose passage is gone, reads otherwise by now, or is dropped, of all models; how many."""
        removed = 0
        for model in self.models():
            table, bits = _VECTORS.format(model.number), _BITS.format(model.number)
            gone = self._db.rows(self._gone(model))
            failed = (
                "DELETE FROM vectors.mem_tree_embedding_failures WHERE model_no = ? AND NOT EXISTS (SELECT 1 FROM main.mem_tree_passages p "
                "WHERE p.passage_id = mem_tree_embedding_failures.passage_id AND p.text_hash = mem_tree_embedding_failures.text_hash)"
            )
            with self._db.transaction(immediate=False):
                self._db.run_many(f"DELETE FROM vectors.{table} WHERE passage_id = ?", gone)
                self._db.run_many(f"DELETE FROM vectors.{bits} WHERE passage_id = ?", gone)
                self._db.run(failed, (model.number,))
            removed += len(gone)
        return removed

    def missing_by_connection(self, model: Model | None) -> dict[int, int]:
        """How many passages of each connection have no vector of a model; with None all of them."""
        without = self._without(model) if model else "WHERE 1"
        dropped = "AND p.passage_id NOT IN (SELECT passage_id FROM main.mem_tree_dropped_passages)"
        return dict(
            self._db.rows(
                f"SELECT i.connection_id, count(*) FROM main.mem_tree_passages p JOIN main.mem_tree_items i ON i.item_no = p.passage_id >> {PASSAGE_BITS} "
                f"{without} {dropped} GROUP BY i.connection_id"
            )
        )

    def wipe(self) -> None:
        """Write the file anew without anything that was ever deleted."""
        self._db.run("VACUUM vectors")
        self._db.run("PRAGMA vectors.wal_checkpoint(TRUNCATE)")

    def missing(self, model: Model, below: int, limit: int) -> list[tuple[int, int]]:
        """`(passage_id, text_hash)` of passages without a vector, the newest first, from below an id on."""
        return self._db.rows(
            f"SELECT p.passage_id, p.text_hash FROM main.mem_tree_passages p {self._without(model)} AND p.passage_id < ? "
            "ORDER BY p.passage_id DESC LIMIT ?",
            (below, limit),
        )

    @staticmethod
    def _without(model: Model) -> str:
        return (
            f"LEFT JOIN vectors.{_VECTORS.format(model.number)} v ON v.passage_id = p.passage_id AND v.text_hash = p.text_hash "
            "LEFT JOIN main.mem_tree_dropped_passages d ON d.passage_id = p.passage_id "
            f"LEFT JOIN vectors.mem_tree_embedding_failures f ON f.model_no = {model.number} AND f.text_hash = p.text_hash "
            "WHERE v.passage_id IS NULL AND d.passage_id IS NULL AND f.text_hash IS NULL"
        )

    def known(self, model: Model, hashes: list[int]) -> dict[int, bytes]:
        """Vectors of texts that the model has seen already, by hash."""
        rows = self._db.rows(
            f"SELECT text_hash, vector FROM vectors.{_VECTORS.format(model.number)} WHERE text_hash IN (SELECT value FROM json_each(?)) "
            "GROUP BY text_hash",
            (json.dumps(hashes),),
        )
        return dict(rows)

    def put(self, model: Model, rows: list[tuple[int, int, bytes]], failures: list[tuple[int, int, str]]) -> None:
        """Store `(passage_id, text_hash, vector)`, and `(passage_id, text_hash, reason)` of texts that have none."""
        table, bits = _VECTORS.format(model.number), _BITS.format(model.number)
        with self._db.transaction(immediate=False):
            self._db.run_many(
                f"INSERT OR REPLACE INTO vectors.{table} (passage_id, text_hash, vector) VALUES (?, ?, ?)",
                list(rows),
            )
            self._db.run_many(
                f"INSERT OR REPLACE INTO vectors.{bits} (passage_id, bits) VALUES (?, vec_quantize_binary(vec_f32(?)))",
                [(row[0], row[2]) for row in rows],
            )
            self._db.run_many(
                "INSERT OR REPLACE INTO vectors.mem_tree_embedding_failures (model_no, passage_id, text_hash, reason) VALUES (?, ?, ?, ?)",
                [(model.number, *failure) for failure in failures],
            )

    def forget_failures(self) -> None:
        """Texts that had no vector may be tried again."""
        self._db.run("DELETE FROM vectors.mem_tree_embedding_failures")

    # -- asking ---------------------------------------------------------------------------------------------------

    def totals(self, model: Model) -> VectorTotals:
        """See `VectorTotals`."""
        stored = self._db.value(
            f"SELECT count(*) FROM vectors.{_VECTORS.format(model.number)} v JOIN main.mem_tree_passages p "
            "ON p.passage_id = v.passage_id AND p.text_hash = v.text_hash "
            "WHERE v.passage_id NOT IN (SELECT passage_id FROM main.mem_tree_dropped_passages)"
        )
        missing = self._db.value(f"SELECT count(*) FROM main.mem_tree_passages p {self._without(model)}")
        failed = self._db.value(
            "SELECT count(*) FROM vectors.mem_tree_embedding_failures WHERE model_no = ?", (model.number,)
        )
        return VectorTotals(int(stored), int(missing), int(failed))

    def strays(self, model: Model) -> int:
        """Vectors whose passage is gone, reads otherwise by now, or is dropped."""
        return int(self._db.value(f"SELECT count(*) FROM ({self._gone(model)})"))

    @staticmethod
    def _gone(model: Model) -> str:
        return (
            f"SELECT v.passage_id FROM vectors.{_VECTORS.format(model.number)} v LEFT JOIN main.mem_tree_passages p "
            "ON p.passage_id = v.passage_id AND p.text_hash = v.text_hash "
            "LEFT JOIN main.mem_tree_dropped_passages d ON d.passage_id = v.passage_id "
            "WHERE p.passage_id IS NULL OR d.passage_id IS NOT NULL"
        )

    def failures(self, model: Model, limit: int) -> list[tuple[int, str]]:
        """`(passage_id, reason)` of texts that the model gave no vector for."""
        return self._db.rows(
            "SELECT passage_id, reason FROM vectors.mem_tree_embedding_failures WHERE model_no = ? ORDER BY passage_id LIMIT ?",
            (model.number, limit),
        )

    def nearest(self, model: Model, vector: bytes, limit: int, where: str, bindings: list[object]) -> list[int]:
        """Passages whose vectors' signs are nearest to the query's.

        Args:
            where: a condition over `p` (passages) and `i` (items); empty for none.
            bindings: of its question marks.
        """
        joined = (
            f"JOIN main.mem_tree_passages p ON p.passage_id = b.passage_id JOIN main.mem_tree_items i ON i.item_no = b.passage_id >> {PASSAGE_BITS} "
            f"WHERE {where}"
            if where
            else ""
        )
        rows = self._db.rows(
            f"SELECT b.passage_id FROM vectors.{_BITS.format(model.number)} b {joined} "
            "ORDER BY vec_distance_hamming(vec_bit(b.bits), vec_quantize_binary(vec_f32(?))), b.passage_id LIMIT ?",
            [*bindings, vector, limit],
        )
        return [row[0] for row in rows]

    def cosines(self, model: Model, vector: bytes, passage_ids: list[int]) -> dict[int, float]:
        """The exact cosine of each of these passages that has a vector of its present text."""
        rows = self._db.rows(
            f"SELECT v.passage_id, 1 - vec_distance_cosine(vec_f32(v.vector), vec_f32(?)) FROM json_each(?) j "
            f"JOIN vectors.{_VECTORS.format(model.number)} v ON v.passage_id = j.value "
            "JOIN main.mem_tree_passages p ON p.passage_id = v.passage_id AND p.text_hash = v.text_hash",
            (vector, json.dumps(passage_ids)),
        )
        return dict(rows)
