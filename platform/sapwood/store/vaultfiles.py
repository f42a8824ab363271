"""What the database says about the vault's files, for scans, repairs and the doctor."""

from __future__ import annotations

from collections.abc import Iterator

from sapwood.store.database import Database
from sapwood.store.schema import PASSAGE_BITS


class VaultFiles:
    """Read-only queries."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def stats(self) -> Iterator[tuple[str, int, int]]:
        """`(path, size, mtime_ns)` of every chunk's file as last seen, folder by folder."""
        return self._db.each("SELECT content_path, file_size, file_mtime_ns FROM mem_tree_chunks ORDER BY content_path")

    def paths(self) -> Iterator[str]:
        """Paths of chunks' and summaries' files, and of files that are to be removed."""
        for (path,) in self._db.each(
            "SELECT content_path FROM mem_tree_chunks UNION ALL SELECT content_path FROM mem_tree_summaries "
            "UNION ALL SELECT path FROM mem_tree_unlinks"
        ):
            yield path

    def chunk_at(self, path: str) -> str:
        """The id of the chunk whose file lies at a path; empty when none does."""
        return str(self._db.value("SELECT id FROM mem_tree_chunks WHERE content_path = ?", (path,)) or "")

    def holders(self, chunk_id: str) -> list[int]:
        """Numbers of the items that hold a chunk, ascending."""
        return [
            row[0]
            for row in self._db.rows(
                "SELECT item_no FROM mem_tree_item_chunks WHERE chunk_id = ? ORDER BY item_no", (chunk_id,)
            )
        ]

    def holders_of_path(self, path: str) -> list[int]:
        """Numbers of the items whose chunk lies at a path."""
        chunk_id = self.chunk_at(path)
        return self.holders(chunk_id) if chunk_id else []

    def connection_of(self, connection_id: int) -> tuple[str, str, str]:
        """`(connector, account, name)`"""
        row = self._db.row(
            "SELECT connector, account, name FROM mem_tree_connections WHERE connection_id = ?", (connection_id,)
        )
        assert row is not None
        return row[0], row[1], row[2]

    def items(self) -> Iterator[tuple[int, str]]:
        """`(item_no, item_id)` of every item."""
        yield from self._db.each("SELECT item_no, item_id FROM mem_tree_items ORDER BY item_no")

    def all_numbers(self) -> list[int]:
        """Numbers of all items."""
        return [row[0] for row in self._db.rows("SELECT item_no FROM mem_tree_items ORDER BY item_no")]

    def passages_without_text(self) -> int:
        """Live passages that the full-text index does not hold, and rows of the index that are no passage."""
        passages = {row[0] for row in self._db.each("SELECT passage_id FROM mem_tree_passages")}
        indexed = {row[0] for row in self._db.each("SELECT id FROM mem_tree_passages_fts_docsize")}
        return len(passages ^ indexed)

    def orphans(self) -> dict[str, int]:
        """Counts of rows that should not be: chunks that no item holds, passages without an item, chunks without a body."""
        value = self._db.value
        return {
            "chunks held by no item": int(
                value(
                    "SELECT count(*) FROM mem_tree_chunks WHERE id NOT IN (SELECT chunk_id FROM mem_tree_item_chunks)"
                )
            ),
            "chunks without a body": int(
                value(
                    "SELECT count(*) FROM mem_tree_chunks WHERE id NOT IN (SELECT chunk_id FROM mem_tree_chunk_bodies)"
                )
            ),
            "bodies without a chunk": int(
                value(
                    "SELECT count(*) FROM mem_tree_chunk_bodies WHERE chunk_id NOT IN (SELECT id FROM mem_tree_chunks)"
                )
            ),
            "scores without a chunk": int(
                value("SELECT count(*) FROM mem_tree_score WHERE chunk_id NOT IN (SELECT id FROM mem_tree_chunks)")
            ),
            "chunks without a score": int(
                value("SELECT count(*) FROM mem_tree_chunks WHERE id NOT IN (SELECT chunk_id FROM mem_tree_score)")
            ),
            "items without a chunk": int(
                value(
                    "SELECT count(*) FROM mem_tree_items WHERE item_no NOT IN (SELECT item_no FROM mem_tree_item_chunks)"
                )
            ),
            "passages without an item": int(
                value(
                    "SELECT count(*) FROM mem_tree_passages WHERE passage_id >> ? NOT IN (SELECT item_no FROM mem_tree_items)",
                    (PASSAGE_BITS,),
                )
            ),
        }

    def integrity(self) -> str:
        """`ok`, or what SQLite finds wrong."""
        return str(self._db.value("PRAGMA quick_check"))

    def index_integrity(self) -> None:
        """Raises when the full-text index contradicts itself."""
        self._db.run("INSERT INTO mem_tree_passages_fts (mem_tree_passages_fts) VALUES ('integrity-check')")
