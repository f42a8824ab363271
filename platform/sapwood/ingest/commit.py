"""Items into database and vault, a batch at a time.

`Writer` collects changes; `flush` plans the files, stages them, writes all rows in one transaction with the caller's
own (checkpoint, failures), publishes the files right before COMMIT, and removes retired files after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any

from sapwood.clock import now_ms
from sapwood.ingest import decisions
from sapwood.ingest.clean import clean
from sapwood.ingest.followup import followups
from sapwood.ingest.forgotten import Forgotten
from sapwood.ingest.notes import PREVIEW, chunk_text, manifest_text
from sapwood.ingest.prepare import (
    ItemView,
    PreparedChunk,
    PreparedItem,
    dump,
    original_text,
    prepare,
    segments_from_rows,
    stored_segments,
)
from sapwood.ingest.score import fast_score
from sapwood.ingest.topic_pages import pages_about
from sapwood.sdk.sources import CanonicalisedSource, DateSource, Kind, Metadata, Segment
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.jobs import JobStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import TreeStore, tree_id_of
from sapwood.text.redact import Redaction
from sapwood.vault import chunkfile
from sapwood.vault.files import FileBatch
from sapwood.vault.paths import SUMMARY_FOLDERS, chunk_path, is_inside, manifest_path
from sapwood.workspace import Workspace

BATCH_ITEMS = 200
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of an item: `stored`, `unchanged`, or `forgotten` when it may not come back; under its redacted id and title."""

    item_id: str
    outcome: str
    title: str
    chunks: int
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Plan:
    """An item's rows and files, decided before the transaction."""

    item: ItemRow
    chunks: list[ChunkRow]
    prepared: PreparedItem
    old: list[ChunkRow]
    redactions: dict[str, int]
    conflicts: list[ChunkRow] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def gone(self) -> set[str]:
        """The chunks that the item held and holds no more."""
        return {chunk.chunk_id for chunk in self.old} - {chunk.chunk_id for chunk in self.chunks}


class Writer:
    """Writes items of one connection. The caller holds the workspace's writer lock.

    Args:
        workspace, database: where to.
        connection: `(id, connector, account, name)`.
        zone: of calendar days.
        owner: for items that name none.
        personal: also redact personal numbers.
    """

    def __init__(
        self,
        workspace: Workspace,
        database: Database,
        connection: tuple[int, str, str, str],
        *,
        zone: tzinfo = UTC,
        owner: str = "me",
        personal: bool = False,
    ) -> None:
        self._workspace = workspace
        self._db = database
        self._connection = connection
        self._zone = zone
        self._owner = owner
        self._redaction = Redaction(personal)
        self.forgotten = Forgotten(workspace)
        self._items = ItemStore(database)
        self._plans: dict[str, _Plan] = {}
        self._removals: dict[str, ItemRow] = {}
        self._touches: dict[str, tuple[str, str, int, int, str]] = {}
        self._bytes = 0
        self._next_number = self._items.next_number()

    @property
    def full(self) -> bool:
        """True when the batch should be flushed."""
        return len(self._plans) + len(self._removals) >= BATCH_ITEMS or self._bytes >= BATCH_BYTES

    def add(self, source: CanonicalisedSource) -> Stored:
        """Take an item in; written at the next `flush`.

        An equal revision writes nothing but a moved or touched original; equal content and metadata likewise.
        """
        redaction = self._redaction
        redaction.counts.clear()
        item_id = redaction.identifier(source.item_id)
        if item_id in self._plans or item_id in self._removals:
            self.flush()
        old = self._items.find(item_id)
        if old and old.revision and old.revision == source.metadata.revision and not source.metadata.merge:
            self._touch(old, source, redaction)
            return Stored(item_id, "unchanged", old.title, 0)
        source = clean(source, redaction, self._owner)
        if self.forgotten:
            kept = self.forgotten.kept_of(source)
            if kept is None and source.metadata.merge and not self.forgotten.has_item(item_id) and old:
                kept = replace(source, segments=())  # what it takes away is taken away all the same
            if kept is None:
                if not source.metadata.merge:
                    self.remove(item_id)
                return Stored(item_id, "forgotten", "", 0)
            source = kept
        if source.metadata.merge:
            source = self._merged(old, source)
        return self.store(source, dict(redaction.counts))

    def store(self, source: CanonicalisedSource, redactions: dict[str, int] | None = None) -> Stored:
        """Take in an item that is clean and whole, in place of the version that there is; written at the next `flush`.

        Equal content and metadata write nothing but a moved or touched original.
        """
        item_id = source.item_id
        if item_id in self._plans or item_id in self._removals:
            self.flush()
        old = self._items.find(item_id)
        mark = source.metadata.fingerprint
        prepared = prepare(source, self._zone)
        if old and (old.content_sha256, old.metadata_sha256) == (prepared.content_sha256, prepared.metadata_sha256):
            self._touch(old, source, self._redaction)
            return Stored(item_id, "unchanged", old.title, len(prepared.chunks))
        now = now_ms()
        number = old.item_no if old else self._next_number
        if not old:
            self._next_number += 1
        item = ItemRow(
            item_no=number, item_id=item_id, connection_id=self._connection[0], source_id=source.source_id, scope=source.scope,
            kind=source.kind.value, title=source.title, author=prepared.author, timestamp_ms=prepared.view.timestamp_ms,
            date_source=source.metadata.date_source.value, revision=source.metadata.revision, final=source.metadata.final,
            metadata_json=prepared.metadata_json, segments_json=dump(prepared.segment_rows),
            content_sha256=prepared.content_sha256, metadata_sha256=prepared.metadata_sha256,
            locator=source.metadata.fingerprint.locator if source.metadata.fingerprint else "",
            size=mark.size if mark else 0, mtime_ns=mark.mtime_ns if mark else 0, digest=mark.digest if mark else "",
            ingested_at_ms=old.ingested_at_ms if old else now, updated_at_ms=now,
        )  # fmt: skip
        self._plans[item_id] = self._plan(item, prepared, old, redactions or {}, now)
        self._bytes += len(prepared.text) * 2
        return Stored(item_id, "stored", item.title, len(prepared.chunks), source.metadata.warnings)

    def touch(self, item_id: str, revision: str, locator: str, size: int, mtime_ns: int, digest: str) -> None:
        """The original lies elsewhere or has another time, and says the same."""
        self._touches[item_id] = (revision, locator, size, mtime_ns, digest)

    def _leaving(self) -> Iterator[str]:
        """The chunks that this batch takes from an item."""
        for item in self._removals.values():
            yield from self._items.chunk_ids(item.item_no)
        for plan in self._plans.values():
            yield from plan.gone

    def remove(self, item_id: str) -> bool:
        """Take an item out at the next `flush`; False when it is not stored."""
        if item_id in self._plans:
            self.flush()
        old = self._items.find(item_id)
        if old is None or old.connection_id != self._connection[0]:
            return False
        self._removals[item_id] = old
        return True

    def flush(self, also: Callable[[], None] | None = None) -> None:
        """Write the batch; `also` runs inside of its transaction, before the files are published.

        Raises:
            WorkspaceError: the disk refuses; nothing of the batch is stored.
        """
        batch = FileBatch(self._workspace)
        for plan in self._plans.values():
            for path, text in plan.texts.items():
                batch.add(path, text)
        stats = batch.stage()
        unlinks: list[str] = []
        forgotten: list[str] = []
        now = now_ms()
        with self._db.transaction():
            for item_id, mark in self._touches.items():
                self._items.touch(item_id, *mark)
            pages = pages_about(self._db, self._leaving())
            for item in self._removals.values():
                unlinks += [*self._items.delete_item(item.item_no), manifest_path(item.item_id)]
                self._items.drop_conflicts_of(item.item_id)
                forgotten.append(item.item_id)
            for plan in self._plans.values():
                unlinks += self._write_rows(plan, stats, now)
            stored = (chunk.chunk_id for plan in self._plans.values() for chunk in plan.chunks)
            JobStore(self._db).enqueue([*followups(stored, stale=SummaryStore(self._db).any_stale()), *pages], now)
            written = set(stats)
            self._items.forget_unlinks(sorted(written))
            self._items.log_unlinks([path for path in unlinks if path not in written])
            if also:
                also()
            batch.publish()
        batch.finish()
        for plan in self._plans.values():
            for chunk in plan.conflicts:
                decisions.record_conflict(self._workspace, plan.item.item_id, chunk.chunk_id, chunk.content_sha256)
        if forgotten:
            decisions.forget_items(self._workspace, set(forgotten))
        self._plans.clear()
        self._removals.clear()
        self._touches.clear()
        self._bytes = 0
        remove_files(self._workspace, self._items)

    # -- planning -------------------------------------------------------------------------------------------------

    def _plan(
        self, item: ItemRow, prepared: PreparedItem, old: ItemRow | None, redactions: dict[str, int], now: int
    ) -> _Plan:
        old_chunks = self._items.chunks(old.item_no) if old else []
        notes, unseen = self._take_in_unseen_edits(old, old_chunks) if old else ({}, False)
        if old and unseen:
            old_chunks = self._items.chunks(old.item_no)
        by_id = {chunk.chunk_id: chunk for chunk in old_chunks}
        new_ids = {chunk.chunk_id for chunk in prepared.chunks}
        waiting = {
            chunk.content_sha256: chunk
            for chunk in old_chunks
            if chunk.edited is not None and chunk.chunk_id not in new_ids
        }
        chunks: list[ChunkRow] = []
        for chunk in prepared.chunks:
            held = by_id.get(chunk.chunk_id)
            moved = waiting.pop(chunk.sha256, None) if held is None else None
            edited = held.edited if held else moved.edited if moved else None
            chunks.append(_row(chunk, item, edited, now))
        plan = _Plan(item, chunks, prepared, old_chunks, redactions, list(waiting.values()))
        named = EntityStore(self._db).shown([row.chunk_id for row in chunks]) if old else {}
        for row in chunks:
            fields, tags = notes.get(row.seq, (None, ()))
            plan.texts[row.content_path] = chunk_text(item, row, fields, tags, named.get(row.chunk_id, ()))
        plan.texts[manifest_path(item.item_id)] = manifest_text(item, *self._connection[1:], chunks)
        return plan

    def _take_in_unseen_edits(
        self, item: ItemRow, chunks: list[ChunkRow]
    ) -> tuple[dict[int, tuple[dict[str, Any] | None, tuple[str, ...]]], bool]:
        """Read the item's files before they are replaced: the user's properties by chunk, and whether there were edits that no
        scan has seen."""
        kept: dict[int, tuple[dict[str, Any] | None, tuple[str, ...]]] = {}
        edited = False
        ours = tuple(item.metadata.get("tags", ()))
        for chunk in chunks:
            try:
                note = chunkfile.read((self._workspace.vault / chunk.content_path).read_bytes())
            except OSError:
                continue  # deleted by hand: the new version is written all the same, as the item is stored
            if note.damaged:
                continue
            kept[chunk.seq] = (note.user_fields, note.user_tags(ours))
            if chunkfile.body_sha256(note.body) != chunkfile.body_sha256(chunk.shown):
                decisions.record_edit(self._workspace, item.item_id, chunk, note.body)
                with self._db.transaction():
                    self._items.set_edit(chunk.chunk_id, note.body, now_ms())
                edited = True
        return kept, edited

    def _merged(self, old: ItemRow | None, source: CanonicalisedSource) -> CanonicalisedSource:
        """The stored segments with those of `source` added, replaced or removed; the order of times, then of arrival."""
        segments: dict[str, Segment] = {}
        if old:
            segments = {stored.native_id: stored for stored in stored_segments(old, self._items.chunks(old.item_no))}
        for native_id in source.metadata.removed_segments:
            segments.pop(native_id, None)
        for new in source.segments:
            segments[new.native_id] = new
        ordered = list(segments.values())
        if all(s.at for s in ordered):
            ordered.sort(key=lambda s: s.at.timestamp() if s.at else 0.0)
        moments = [s.at for s in ordered if s.at]
        previous = Metadata.from_json(old.metadata) if old else Metadata()
        metadata = replace(
            source.metadata,
            merge=False,
            removed_segments=(),
            people=tuple(dict.fromkeys([*previous.people, *source.metadata.people])),
            tags=tuple(dict.fromkeys([*previous.tags, *source.metadata.tags])),
            timestamp=moments[0] if moments else source.metadata.timestamp,
            time_range=(min(moments), max(moments)) if moments else source.metadata.time_range,
            date_source=source.metadata.date_source if moments or source.metadata.timestamp else DateSource.UNKNOWN,
        )
        return replace(
            source, segments=tuple(ordered), metadata=metadata, source_id=old.source_id if old else source.source_id
        )

    def _touch(self, old: ItemRow, source: CanonicalisedSource, redaction: Redaction) -> None:
        mark = source.metadata.fingerprint
        if mark is None:
            return
        values = (source.metadata.revision, redaction.identifier(mark.locator), mark.size, mark.mtime_ns, mark.digest)
        if values != (old.revision, old.locator, old.size, old.mtime_ns, old.digest):
            self.touch(old.item_id, *values)

    # -- rows -----------------------------------------------------------------------------------------------------

    def _write_rows(self, plan: _Plan, stats: dict[str, tuple[int, int]], now: int) -> list[str]:
        item = plan.item
        self._items.put_item(item)
        if people := plan.prepared.source.metadata.people:
            IdentityStore(self._db).add_people(people)
        if plan.old:
            self._items.release_chunks(item.item_no)
        for chunk in plan.chunks:
            self._items.put_chunk(item, chunk, stats[chunk.content_path], chunk.shown[:PREVIEW], now)
            if chunk.edited is not None:
                self._items.set_edit(chunk.chunk_id, chunk.edited, now)
        index_passages(self._items, item, plan.prepared.view, plan.chunks, now, fresh=not plan.old)
        for chunk in plan.conflicts:
            self._items.put_conflict(chunk.chunk_id, item.item_id, chunk.original, chunk.edited or "", now)
        if plan.redactions:
            self._items.count_redactions(item.source_id, plan.redactions)
        unlinks: list[str] = []
        if (
            plan.old and item.source_id == item.item_id
        ):  # a source by itself, such as a file: it is told of anew, once all its chunks are examined
            leaves = [chunk.chunk_id for chunk in [*plan.old, *plan.chunks]]
            unlinks = SummaryStore(self._db).dissolve(tree_id_of("source", item.source_id), leaves)
            TreeStore(self._db).release(item.item_no)
        return [*unlinks, *self._items.retire_unheld(sorted(plan.gone))]


def _row(chunk: PreparedChunk, item: ItemRow, edited: str | None, now: int) -> ChunkRow:
    path = chunk_path(item.kind, item.source_id, chunk.seq, chunk.chunk_id)
    return ChunkRow(
        chunk.chunk_id, chunk.seq, chunk.start, chunk.end, chunk.prefix, chunk.suffix, chunk.source_ref, chunk.range_ms, chunk.tokens, path,
        chunk.sha256, chunk.headings, chunk.pages, chunk.content, edited, False, "pending_extraction", now,
    )  # fmt: skip


def index_passages(
    items: ItemStore, item: ItemRow, view: ItemView, chunks: list[ChunkRow], now: int, *, fresh: bool = False
) -> None:
    """All passages of an item made anew out of what its chunks show, and a fast score for each chunk.

    `fresh` says that the item has no passages yet.
    """
    rows: list[tuple[Any, ...]] = []
    texts: list[tuple[str, str, str]] = []
    scores: list[tuple[Any, ...]] = []
    tags = tuple(item.metadata.get("tags", ()))
    for chunk in chunks:
        terms: list[str] = []
        for p in view.passages(chunk):
            rows.append(
                (chunk.seq, p.start, p.end, p.timestamp_ms, p.author, p.native_id, p.source_ref, p.page, p.text_hash)
            )
            texts.append(p.fts)
            terms += p.fts[1].split()
        score = fast_score(view.kind, chunk.shown, terms, chunk.token_count, tags)
        scores.append(
            (
                chunk.chunk_id,
                score.total,
                score.token_count,
                score.unique_words,
                score.metadata,
                score.source,
                score.interaction,
                score.entity_density,
                now,
            )
        )
    items.replace_passages(item.item_no, rows, texts, fresh=fresh)
    items.put_scores(scores)


def item_view(item: ItemRow, chunks: list[ChunkRow], zone: tzinfo) -> ItemView:
    """The view of a stored item, as `prepare` made it when it came in."""
    from sapwood.ingest.passages import is_dialogue

    segments, spans = segments_from_rows(item.segments, None)
    kind = Kind(item.kind)
    return ItemView(
        kind,
        item.title,
        segments,
        spans,
        item.timestamp_ms,
        DateSource(item.date_source),
        kind is Kind.DOCUMENT and is_dialogue(original_text(chunks)),
        zone,
    )


def remove_files(workspace: Workspace, items: ItemStore) -> None:
    """Remove the files that committed transactions have retired, and folders that this empties."""
    paths = [
        path for path in items.unlinks() if not path.startswith(SUMMARY_FOLDERS)
    ]  # those are left to whoever grows trees
    if not paths:
        return
    for path in filter(is_inside, paths):
        target = workspace.vault / path
        target.unlink(missing_ok=True)
        for folder in (target.parent, target.parent.parent):
            if folder == workspace.vault or folder.parent == workspace.vault:
                break
            try:
                folder.rmdir()
            except OSError:
                break
    items.forget_unlinks(paths)
