"""Items, their chunks and passages: the writing side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sapwood.sdk.sources import DateSource
from sapwood.store.database import Database
from sapwood.store.packing import pack, unpack
from sapwood.store.schema import PASSAGE_BITS
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import tree_id_of

_ITEM_COLUMNS = (
    "item_no, item_id, connection_id, source_id, scope, kind, title, author, timestamp_ms, date_source, revision, final, "
    "metadata_json, segments_json, content_sha256, metadata_sha256, locator, size, mtime_ns, digest, ingested_at_ms, updated_at_ms"
)
_CHUNKS = (
    "SELECT c.id, ic.seq, ic.start_at, ic.end_at, ic.prefix, ic.suffix, c.source_ref, c.time_range_start_ms, c.time_range_end_ms, "
    "c.token_count, c.content_path, c.content_sha256, c.headings_json, c.pages_json, b.original, b.edited, b.original_lost, "
    "c.lifecycle_status, c.created_at_ms, ic.item_no "
    "FROM mem_tree_item_chunks ic JOIN mem_tree_chunks c ON c.id = ic.chunk_id JOIN mem_tree_chunk_bodies b ON b.chunk_id = c.id"
)
_CHUNK_PASSAGES = (
    f"FROM mem_tree_item_chunks ic JOIN mem_tree_passages p ON p.passage_id >= ic.item_no << {PASSAGE_BITS} "
    f"AND p.passage_id < (ic.item_no + 1) << {PASSAGE_BITS} AND p.seq = ic.seq"
)


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A row of `mem_tree_items`. Times in milliseconds, `mtime_ns` in nanoseconds."""

    item_no: int
    item_id: str
    connection_id: int
    source_id: str
    scope: str
    kind: str
    title: str
    author: str
    timestamp_ms: int | None
    date_source: str
    revision: str
    final: bool
    metadata_json: str
    segments_json: str
    content_sha256: str
    metadata_sha256: str
    locator: str
    size: int
    mtime_ns: int
    digest: str
    ingested_at_ms: int
    updated_at_ms: int

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> ItemRow:
        """From a database row."""
        values = list(row)
        values[11] = bool(values[11])
        return cls(*values)

    @property
    def is_dated(self) -> bool:
        """True when it is known when it was said: the time of a file only says when that was copied."""
        return self.date_source in (DateSource.SAID.value, DateSource.HEADER.value)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that have no column of their own."""
        return dict(json.loads(self.metadata_json))

    @property
    def segments(self) -> list[list[Any]]:
        """Rows as `ingest.prepare.segment_rows` makes them."""
        return list(json.loads(self.segments_json))


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk with its place in one item and its two bodies; `edited` is the user's version or None."""

    chunk_id: str
    seq: int
    start: int
    end: int
    prefix: str
    suffix: str
    source_ref: str
    range_ms: tuple[int, int] | None
    token_count: int
    content_path: str
    content_sha256: str
    headings: tuple[str, ...]
    pages: tuple[int, ...]
    original: str
    edited: str | None
    original_lost: bool
    lifecycle: str
    created_at_ms: int

    @classmethod
    def of(cls, r: tuple[Any, ...]) -> ChunkRow:
        """From a row of the chunk query."""
        return cls(
            r[0], r[1], r[2], r[3], r[4], r[5], r[6] or "", (r[7], r[8]) if r[7] is not None else None, r[9], r[10], r[11],
            tuple(json.loads(r[12])), tuple(json.loads(r[13])), unpack(r[14]), unpack(r[15]) if r[15] is not None else None,
            bool(r[16]), r[17], r[18],
        )  # fmt: skip

    @property
    def shown(self) -> str:
        """What a person sees."""
        return self.original if self.edited is None else self.edited


SIGNALS = ("token_count", "unique_words", "metadata_weight", "source_weight", "interaction_weight", "entity_density")


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A chunk's total and signals, each 0 to 1, and what a model said of it; None where none was asked."""

    total: float
    signals: dict[str, float]
    importance: float | None
    importance_reason: str


class ItemStore:
    """Queries over one connection; the caller holds the transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @property
    def database(self) -> Database:
        """The connection, for another store in the same transaction."""
        return self._db

    def find(self, item_id: str) -> ItemRow | None:
        """The item with this id."""
        row = self._db.row(f"SELECT {_ITEM_COLUMNS} FROM mem_tree_items WHERE item_id = ?", (item_id,))
        return ItemRow.of(row) if row else None

    def by_number(self, item_no: int) -> ItemRow | None:
        """The item with this number."""
        row = self._db.row(f"SELECT {_ITEM_COLUMNS} FROM mem_tree_items WHERE item_no = ?", (item_no,))
        return ItemRow.of(row) if row else None

    def next_number(self) -> int:
        """The number that the next new item gets."""
        return int(self._db.value("SELECT coalesce(max(item_no), 0) + 1 FROM mem_tree_items"))

    def put_item(self, item: ItemRow) -> None:
        """Insert or replace the row of an item; its chunks stay."""
        self._db.run(
            f"INSERT INTO mem_tree_items ({_ITEM_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
            "ON CONFLICT (item_no) DO UPDATE SET source_id = excluded.source_id, scope = excluded.scope, kind = excluded.kind, "
            "title = excluded.title, author = excluded.author, timestamp_ms = excluded.timestamp_ms, date_source = excluded.date_source, "
            "revision = excluded.revision, final = excluded.final, metadata_json = excluded.metadata_json, segments_json = excluded.segments_json, "
            "content_sha256 = excluded.content_sha256, metadata_sha256 = excluded.metadata_sha256, locator = excluded.locator, size = excluded.size, "
            "mtime_ns = excluded.mtime_ns, digest = excluded.digest, updated_at_ms = excluded.updated_at_ms",
            (
                item.item_no, item.item_id, item.connection_id, item.source_id, item.scope, item.kind, item.title, item.author,
                item.timestamp_ms, item.date_source, item.revision, item.final, item.metadata_json, item.segments_json,
                item.content_sha256, item.metadata_sha256, item.locator, item.size, item.mtime_ns, item.digest,
                item.ingested_at_ms, item.updated_at_ms,
            ),
        )  # fmt: skip

    def touch(self, item_id: str, revision: str, locator: str, size: int, mtime_ns: int, digest: str) -> None:
        """The original was touched but says the same."""
        self._db.run(
            "UPDATE mem_tree_items SET revision = ?, locator = ?, size = ?, mtime_ns = ?, digest = ? WHERE item_id = ?",
            (revision, locator, size, mtime_ns, digest, item_id),
        )

    def chunks(self, item_no: int) -> list[ChunkRow]:
        """The chunks of an item in order."""
        return [
            ChunkRow.of(row) for row in self._db.rows(f"{_CHUNKS} WHERE ic.item_no = ? ORDER BY ic.seq", (item_no,))
        ]

    def chunk_count(self, item_no: int) -> int:
        """How many chunks an item has."""
        return int(self._db.value("SELECT count(*) FROM mem_tree_item_chunks WHERE item_no = ?", (item_no,)))

    def with_chunk(self, chunk_id: str) -> tuple[ItemRow, ChunkRow] | None:
        """A chunk, with the first of the items that hold it; None when it is retired."""
        row = self._db.row(f"{_CHUNKS} WHERE ic.chunk_id = ? ORDER BY ic.item_no LIMIT 1", (chunk_id,))
        item = self.by_number(row[19]) if row else None
        return (item, ChunkRow.of(row)) if row and item else None

    def path_of(self, chunk_id: str) -> str | None:
        """Where the file of a chunk lies."""
        path = self._db.value("SELECT content_path FROM mem_tree_chunks WHERE id = ?", (chunk_id,))
        return str(path) if path else None

    def put_chunk(self, item: ItemRow, chunk: ChunkRow, file: tuple[int, int], preview: str, now_ms: int) -> None:
        """Insert a chunk, or bring the metadata of an equal one up to date, and hold it by the item. An edit is set apart.

        `file` is size and time of its file, `preview` the start of what is shown.
        """
        metadata = item.metadata
        start, end = chunk.range_ms or (None, None)
        self._db.run(
            "INSERT INTO mem_tree_chunks (id, source_kind, source_id, source_ref, owner, timestamp_ms, time_range_start_ms, time_range_end_ms, "
            "tags_json, content, token_count, seq_in_source, created_at_ms, content_path, content_sha256, headings_json, pages_json, file_size, file_mtime_ns) "
            "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET source_ref = excluded.source_ref, owner = excluded.owner, "
            "timestamp_ms = excluded.timestamp_ms, time_range_start_ms = excluded.time_range_start_ms, time_range_end_ms = excluded.time_range_end_ms, "
            "tags_json = excluded.tags_json, content = excluded.content, headings_json = excluded.headings_json, pages_json = excluded.pages_json, "
            "file_size = excluded.file_size, file_mtime_ns = excluded.file_mtime_ns",
            (
                chunk.chunk_id, item.kind, item.source_id, chunk.source_ref, metadata.get("owner", ""),
                start if start is not None else item.timestamp_ms, start, end, json.dumps(metadata.get("tags", []), ensure_ascii=False), preview,
                chunk.token_count, chunk.seq, now_ms, chunk.content_path, chunk.content_sha256,
                json.dumps(chunk.headings, ensure_ascii=False), json.dumps(chunk.pages), *file,
            ),
        )  # fmt: skip
        self._db.run(
            "INSERT INTO mem_tree_chunk_bodies (chunk_id, original) VALUES (?, ?) ON CONFLICT (chunk_id) DO NOTHING",
            (chunk.chunk_id, pack(chunk.original)),
        )
        self._db.run(
            "INSERT INTO mem_tree_item_chunks (item_no, seq, chunk_id, start_at, end_at, prefix, suffix) VALUES (?,?,?,?,?,?,?)",
            (item.item_no, chunk.seq, chunk.chunk_id, chunk.start, chunk.end, chunk.prefix, chunk.suffix),
        )

    def put_scores(self, rows: list[tuple[Any, ...]]) -> None:
        """Fast scores `(chunk_id, total, six signals, now_ms)`; an edited chunk is scored anew."""
        self._db.run_many(
            "INSERT INTO mem_tree_score (chunk_id, total, token_count_signal, unique_words_signal, metadata_weight, source_weight, "
            "interaction_weight, entity_density, computed_at_ms) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (chunk_id) DO UPDATE SET total = excluded.total, "
            "token_count_signal = excluded.token_count_signal, unique_words_signal = excluded.unique_words_signal, "
            "entity_density = excluded.entity_density, computed_at_ms = excluded.computed_at_ms",
            rows,
        )

    def put_assessment(
        self, chunk_id: str, total: float, signals: dict[str, float], dropped: bool, reason: str, now_ms: int
    ) -> None:
        """The deep score of a chunk, and what became of it: admitted or dropped."""
        self._db.run(
            "UPDATE mem_tree_score SET total = ?, token_count_signal = ?, unique_words_signal = ?, metadata_weight = ?, source_weight = ?, "
            "interaction_weight = ?, entity_density = ?, dropped = ?, reason = ?, computed_at_ms = ?, llm_importance = NULL, llm_importance_reason = NULL WHERE chunk_id = ?",
            (
                total, signals["token_count"], signals["unique_words"], signals["metadata_weight"], signals["source_weight"],
                signals["interaction_weight"], signals["entity_density"], dropped, reason or None, now_ms, chunk_id,
            ),
        )  # fmt: skip
        self._db.run(
            "UPDATE mem_tree_chunks SET lifecycle_status = ? WHERE id = ? AND lifecycle_status IN ('pending_extraction', 'admitted', 'dropped')",
            ("dropped" if dropped else "admitted", chunk_id),
        )
        if dropped:
            self._mark_dropped("ic.chunk_id = ?", chunk_id)
        elif self._db.value("SELECT 1 FROM mem_tree_dropped_passages LIMIT 1"):
            self._db.run(
                f"DELETE FROM mem_tree_dropped_passages WHERE passage_id IN (SELECT p.passage_id {_CHUNK_PASSAGES} WHERE ic.chunk_id = ?)",
                (chunk_id,),
            )

    def put_importance(self, chunk_id: str, importance: float, reason: str) -> None:
        """What a model said of a chunk."""
        self._db.run(
            "UPDATE mem_tree_score SET llm_importance = ?, llm_importance_reason = ? WHERE chunk_id = ?",
            (importance, reason or None, chunk_id),
        )

    def score(self, chunk_id: str) -> ScoreRow:
        """The stored score of a chunk."""
        row = self._db.row(
            "SELECT total, token_count_signal, unique_words_signal, metadata_weight, source_weight, interaction_weight, entity_density, "
            "llm_importance, llm_importance_reason FROM mem_tree_score WHERE chunk_id = ?",
            (chunk_id,),
        )
        assert row is not None  # every chunk has one
        return ScoreRow(row[0], dict(zip(SIGNALS, row[1:7], strict=True)), row[7], row[8] or "")

    def release_chunks(self, item_no: int) -> None:
        """The item holds no chunk any more; `retire_unheld` decides which ones end."""
        self._db.run("DELETE FROM mem_tree_item_chunks WHERE item_no = ?", (item_no,))

    def chunk_ids(self, item_no: int) -> list[str]:
        """The ids of an item's chunks, in order."""
        rows = self._db.rows("SELECT chunk_id FROM mem_tree_item_chunks WHERE item_no = ? ORDER BY seq", (item_no,))
        return [row[0] for row in rows]

    def retire_unheld(self, candidates: list[str]) -> list[str]:
        """Delete those of the chunks that no item holds, in trees and indexes too; the paths of their files."""
        gone: list[str] = []
        for chunk_id in candidates:
            path = self._db.value(
                "SELECT content_path FROM mem_tree_chunks WHERE id = ? AND NOT EXISTS (SELECT 1 FROM mem_tree_item_chunks WHERE chunk_id = ?)",
                (chunk_id, chunk_id),
            )
            if path:
                self._db.run("DELETE FROM mem_tree_chunks WHERE id = ?", (chunk_id,))
                self._db.run("DELETE FROM mem_tree_entity_index WHERE node_id = ?", (chunk_id,))
                SummaryStore(self._db).replace_node(chunk_id, None)
                gone.append(path)
        return gone

    def set_edit(self, chunk_id: str, edited: str | None, now_ms: int, *, original_lost: bool = False) -> None:
        """Store or drop the user's version of a chunk."""
        self._db.run(
            "UPDATE mem_tree_chunk_bodies SET edited = ?, edited_at_ms = ?, original_lost = max(original_lost, ?) WHERE chunk_id = ?",
            (
                pack(edited) if edited is not None else None,
                now_ms if edited is not None else None,
                original_lost,
                chunk_id,
            ),
        )

    def set_preview(self, chunk_id: str, preview: str) -> None:
        """The first 2,000 characters of what is shown."""
        self._db.run("UPDATE mem_tree_chunks SET content = ? WHERE id = ?", (preview, chunk_id))

    def set_file(self, chunk_id: str, size: int, mtime_ns: int) -> None:
        """Remember what the chunk's file looked like when it was last read or written."""
        self._db.run(
            "UPDATE mem_tree_chunks SET file_size = ?, file_mtime_ns = ? WHERE id = ?", (size, mtime_ns, chunk_id)
        )

    def replace_passages(
        self, item_no: int, rows: list[tuple[Any, ...]], texts: list[tuple[str, str, str]], *, fresh: bool = False
    ) -> None:
        """All passages of an item: rows `(seq, start, end, timestamp_ms, author, native_id, source_ref, page, text_hash)`,
        and their columns of the index. `fresh` says that there are none yet."""
        first, last = item_no << PASSAGE_BITS, (item_no + 1) << PASSAGE_BITS
        if not fresh:
            old = self._db.rows(
                "SELECT passage_id FROM mem_tree_passages WHERE passage_id >= ? AND passage_id < ?", (first, last)
            )
            self._db.run_many("DELETE FROM mem_tree_passages_fts WHERE rowid = ?", old)
            self._db.run_many("DELETE FROM mem_tree_passages WHERE passage_id = ?", old)
            self._db.run(
                "DELETE FROM mem_tree_dropped_passages WHERE passage_id >= ? AND passage_id < ?", (first, last)
            )
        self._db.run_many(
            "INSERT INTO mem_tree_passages (passage_id, seq, start_at, end_at, timestamp_ms, author, native_id, source_ref, page, text_hash) VALUES (?,?,?,?,?,?,?,?,?,?)",
            [(first + n, *row) for n, row in enumerate(rows)],
        )
        self._db.run_many(
            "INSERT INTO mem_tree_passages_fts (rowid, title, body, dates) VALUES (?,?,?,?)",
            [(first + n, *text) for n, text in enumerate(texts)],
        )
        self._db.run("UPDATE mem_tree_items SET passage_count = ? WHERE item_no = ?", (len(rows), item_no))
        if not fresh:  # a chunk that stays may have been dropped before
            self._mark_dropped("ic.item_no = ?", item_no)

    def _mark_dropped(self, condition: str, value: int | str) -> None:
        """List the passages of dropped chunks, so that a search can pass over them."""
        self._db.run(
            f"INSERT OR IGNORE INTO mem_tree_dropped_passages (passage_id) SELECT p.passage_id {_CHUNK_PASSAGES} "
            f"JOIN mem_tree_score s ON s.chunk_id = ic.chunk_id AND s.dropped WHERE {condition}",
            (value,),
        )

    def delete_item(self, item_no: int) -> list[str]:
        """Remove an item with its passages and the chunks that only it held; the paths of their files."""
        held = [
            row[0] for row in self._db.rows("SELECT chunk_id FROM mem_tree_item_chunks WHERE item_no = ?", (item_no,))
        ]
        source_id = self._db.value("SELECT source_id FROM mem_tree_items WHERE item_no = ?", (item_no,))
        self.replace_passages(item_no, [], [])
        self.release_chunks(item_no)
        self._db.run("DELETE FROM mem_tree_items WHERE item_no = ?", (item_no,))
        gone = self.retire_unheld(held)
        if not self._db.value("SELECT 1 FROM mem_tree_items WHERE source_id = ? LIMIT 1", (source_id,)):
            tree_id = tree_id_of("source", source_id)
            gone += SummaryStore(self._db).dissolve(tree_id)
            self._db.run("DELETE FROM mem_tree_trees WHERE id = ?", (tree_id,))
        return gone

    # -- edits that wait ------------------------------------------------------------------------------------------

    def put_conflict(self, chunk_id: str, item_id: str, original: str, edited: str, now_ms: int) -> None:
        """An edit whose chunk the source has changed."""
        self._db.run(
            "INSERT OR REPLACE INTO mem_tree_edit_conflicts (chunk_id, item_id, original, edited, noticed_at_ms) VALUES (?,?,?,?,?)",
            (chunk_id, item_id, pack(original), pack(edited), now_ms),
        )

    def conflicts(self) -> list[tuple[str, str, str, str]]:
        """`(chunk_id, item_id, original, edited)` of the edits that wait, sorted."""
        rows = self._db.rows(
            "SELECT chunk_id, item_id, original, edited FROM mem_tree_edit_conflicts ORDER BY item_id, chunk_id"
        )
        return [(r[0], r[1], unpack(r[2]), unpack(r[3])) for r in rows]

    def drop_conflict(self, chunk_id: str) -> None:
        """The user has decided."""
        self._db.run("DELETE FROM mem_tree_edit_conflicts WHERE chunk_id = ?", (chunk_id,))

    def drop_conflicts_of(self, item_id: str) -> None:
        """The item is gone, and its waiting edits with it."""
        self._db.run("DELETE FROM mem_tree_edit_conflicts WHERE item_id = ?", (item_id,))

    # -- files to be removed after a commit -----------------------------------------------------------------------

    def log_unlinks(self, paths: list[str]) -> None:
        """Files to be removed once the transaction is durable."""
        self._db.run_many("INSERT OR IGNORE INTO mem_tree_unlinks (path) VALUES (?)", [(path,) for path in paths])

    def unlinks(self) -> list[str]:
        """Logged files that no chunk has taken into use again."""
        return [row[0] for row in self._db.rows("SELECT path FROM mem_tree_unlinks")]

    def forget_unlinks(self, paths: list[str]) -> None:
        """They are gone."""
        self._db.run_many("DELETE FROM mem_tree_unlinks WHERE path = ?", [(path,) for path in paths])

    def count_redactions(self, source_id: str, counts: dict[str, int]) -> None:
        """Add what was cut out of a source, by class; never what it was."""
        self._db.run_many(
            "INSERT INTO mem_tree_redactions (source_id, class, hits) VALUES (?,?,?) ON CONFLICT (source_id, class) DO UPDATE SET hits = excluded.hits",
            [(source_id, name, hits) for name, hits in counts.items()],
        )
