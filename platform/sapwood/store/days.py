"""Which chunks tell of which local day: by what was said on it, never by the time of a file."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.store.database import Database
from sapwood.store.packing import unpack
from sapwood.store.schema import PASSAGE_BITS

__all__ = ["DayStore", "SaidThatDay"]


@dataclass(frozen=True, slots=True)
class SaidThatDay:
    """What a chunk says of one day: the passages of that day, joined."""

    chunk_id: str
    kind: str
    title: str
    text: str
    range_ms: tuple[int, int]


class DayStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, chunk_id: str, days: list[str]) -> None:
        """The days (`2026-11-30`) of a chunk, in place of those that it had."""
        self._db.run("DELETE FROM mem_tree_days WHERE chunk_id = ?", (chunk_id,))
        self._db.run_many("INSERT INTO mem_tree_days (day, chunk_id) VALUES (?, ?)", [(day, chunk_id) for day in days])

    def of_chunk(self, chunk_id: str) -> list[str]:
        """The days of a chunk, ascending."""
        return [
            row[0]
            for row in self._db.rows("SELECT day FROM mem_tree_days WHERE chunk_id = ? ORDER BY day", (chunk_id,))
        ]

    def untold(self, before: str, path: str) -> list[str]:
        """Days before this one of which chunks tell and no summary; `path` is that of a day's summary, with `{}` for the day."""
        start, end = path.split("{}")
        rows = self._db.rows(
            "SELECT DISTINCT d.day FROM mem_tree_days d WHERE d.day < ? AND NOT EXISTS (SELECT 1 FROM mem_tree_summaries s "
            "WHERE s.content_path = ? || d.day || ?) ORDER BY d.day",
            (before, start, end),
        )
        return [row[0] for row in rows]

    def moments(self, item_no: int, seq: int) -> list[int]:
        """When the passages of a chunk were said, in milliseconds."""
        rows = self._db.rows(
            "SELECT DISTINCT timestamp_ms FROM mem_tree_passages WHERE passage_id >= ? AND passage_id < ? AND seq = ? AND timestamp_ms IS NOT NULL",
            (item_no << PASSAGE_BITS, (item_no + 1) << PASSAGE_BITS, seq),
        )
        return [row[0] for row in rows]

    def with_data(self, first: str, last: str) -> dict[str, int]:
        """Days of a span of which chunks tell, with how many."""
        return dict(
            self._db.rows(
                "SELECT day, count(*) FROM mem_tree_days WHERE day BETWEEN ? AND ? GROUP BY day ORDER BY day",
                (first, last),
            )
        )

    def said(self, day: str, start_ms: int, end_ms: int) -> list[SaidThatDay]:
        """What was said on a day, in the order of time; the bounds are those of the day.

        Chunks of the days beside it are looked at too: their days may have been noted in another zone.
        """
        chunks = self._db.rows(
            "SELECT d.chunk_id, ic.item_no, ic.seq, i.kind, i.title, coalesce(b.edited, b.original), i.timestamp_ms FROM mem_tree_days d "
            "JOIN mem_tree_item_chunks ic ON ic.chunk_id = d.chunk_id AND ic.item_no = (SELECT min(item_no) FROM mem_tree_item_chunks WHERE chunk_id = d.chunk_id) JOIN mem_tree_items i ON i.item_no = ic.item_no "
            "JOIN mem_tree_chunk_bodies b ON b.chunk_id = d.chunk_id WHERE d.day BETWEEN date(?1, '-1 day') AND date(?1, '+1 day') GROUP BY d.chunk_id",
            (day,),
        )
        found: list[SaidThatDay] = []
        for chunk_id, item_no, seq, kind, title, body, item_ms in chunks:
            content = unpack(body)
            rows = self._db.rows(
                "SELECT start_at, end_at, coalesce(timestamp_ms, ?) FROM mem_tree_passages WHERE passage_id >= ? AND passage_id < ? AND seq = ? "
                "AND coalesce(timestamp_ms, ?) >= ? AND coalesce(timestamp_ms, ?) < ? ORDER BY passage_id",
                (
                    item_ms,
                    item_no << PASSAGE_BITS,
                    (item_no + 1) << PASSAGE_BITS,
                    seq,
                    item_ms,
                    start_ms,
                    item_ms,
                    end_ms,
                ),
            )
            if rows:
                text = "".join(content[start:end] for start, end, _ in rows)
                moments = [moment for _, _, moment in rows]
                found.append(SaidThatDay(chunk_id, kind, title, text, (min(moments), max(moments))))
        return sorted(found, key=lambda s: (s.range_ms, s.chunk_id))

    def span(self) -> tuple[str, str] | None:
        """The first and the last day of which something is known; None for nothing."""
        told = (
            "(SELECT {} (substr(content_path, 7, 10)) FROM mem_tree_summaries WHERE tree_kind = 'global' AND level = 0)"
        )
        noted = "(SELECT {} (day) FROM mem_tree_days)"  # each by itself is one look at an index
        ends = [
            [day for day in self._db.row(f"SELECT {told.format(which)}, {noted.format(which)}") or () if day]
            for which in ("min", "max")
        ]
        return (min(ends[0]), max(ends[1])) if ends[0] and ends[1] else None

    def first(self) -> str | None:
        """The first day of which chunks tell."""
        day = self._db.value("SELECT min(day) FROM mem_tree_days")
        return str(day) if day else None

    def pending(self) -> int:
        """How many chunks have not been examined, so that their days are not known."""
        return int(self._db.value("SELECT count(*) FROM mem_tree_chunks WHERE lifecycle_status = 'pending_extraction'"))

    def weak(self, start_ms: int, end_ms: int) -> int:
        """How many items have no other date than that of their file, and that lies in this span."""
        return int(
            self._db.value(
                "SELECT count(*) FROM mem_tree_items WHERE timestamp_ms >= ? AND timestamp_ms < ? AND date_source = 'file'",
                (start_ms, end_ms),
            )
        )
