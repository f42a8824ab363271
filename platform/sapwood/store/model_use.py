"""What language models were asked, a day: calls and tokens."""

from __future__ import annotations

from sapwood.store.database import Database

__all__ = ["ModelUseStore"]


class ModelUseStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, day: str, model: str, read: int, written: int) -> None:
        """One more call."""
        self._db.run(
            "INSERT INTO mem_tree_model_use (day, model, calls, tokens_read, tokens_written) VALUES (?1, ?2, 1, ?3, ?4) ON CONFLICT (day, model) DO UPDATE "
            "SET calls = calls + 1, tokens_read = tokens_read + ?3, tokens_written = tokens_written + ?4",
            (day, model, read, written),
        )

    def of_day(self, day: str) -> tuple[int, int, int]:
        """`(calls, tokens read, tokens written)` of all models on a day."""
        row = self._db.row(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(tokens_read), 0), coalesce(sum(tokens_written), 0) FROM mem_tree_model_use WHERE day = ?",
            (day,),
        )
        assert row is not None
        return int(row[0]), int(row[1]), int(row[2])
