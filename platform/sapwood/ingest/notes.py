"""An item's files composed from its rows: chunk notes and the manifest. One way to write them, for commits, repairs and rebuilds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sapwood.ingest.prepare import dump
from sapwood.store.items import ChunkRow, ItemRow
from sapwood.vault import chunkfile
from sapwood.vault.chunkfile import ChunkNote
from sapwood.vault.manifest import Manifest, ManifestChunk

PREVIEW = 2000  # characters of a chunk that its row shows


def chunk_text(
    item: ItemRow,
    chunk: ChunkRow,
    user_fields: dict[str, Any] | None = None,
    user_tags: tuple[str, ...] = (),
    entities: Iterable[tuple[str, str]] = (),
) -> str:
    """The Markdown file of a chunk; `entities` are kinds and names in it."""
    metadata = item.metadata
    note = ChunkNote(
        chunk_id=chunk.chunk_id,
        title=item.title,
        kind=item.kind,
        source_id=item.source_id,
        item_id=item.item_id,
        owner=metadata.get("owner", ""),
        author=item.author,
        timestamp_ms=chunk.range_ms[0] if chunk.range_ms else item.timestamp_ms,
        date_source=item.date_source,
        range_ms=chunk.range_ms,
        seq=chunk.seq,
        token_count=chunk.token_count,
        source_ref=chunk.source_ref,
        headings=chunk.headings,
        pages=chunk.pages,
        tags=tuple(metadata.get("tags", ())),
        sha256=chunk.content_sha256,
        body=chunk.shown,
        edited=chunk.edited is not None,
        entities=tuple(entities),
    )
    return chunkfile.compose(note, user_fields, user_tags)


def manifest_text(item: ItemRow, connector: str, account: str, connection_name: str, chunks: list[ChunkRow]) -> str:
    """The manifest of an item."""
    fields = {
        "item_id": item.item_id, "connector": connector, "account": account, "connection": connection_name,
        "source_id": item.source_id, "scope": item.scope, "kind": item.kind, "title": item.title, "author": item.author,
        "timestamp_ms": item.timestamp_ms, "date_source": item.date_source, "revision": item.revision, "final": item.final,
        "metadata": item.metadata, "content_sha256": item.content_sha256, "metadata_sha256": item.metadata_sha256,
        "locator": item.locator, "size": item.size, "mtime_ns": item.mtime_ns, "digest": item.digest,
        "ingested_at_ms": item.ingested_at_ms, "updated_at_ms": item.updated_at_ms, "item_no": item.item_no,
    }  # fmt: skip
    return Manifest(fields, item.segments, [_manifest_chunk(chunk) for chunk in chunks]).to_text()


def _manifest_chunk(chunk: ChunkRow) -> ManifestChunk:
    return ManifestChunk(
        chunk.chunk_id, chunk.seq, chunk.start, chunk.end, chunk.prefix, chunk.suffix, chunk.content_path, chunk.content_sha256,
        chunk.token_count, chunk.headings, chunk.pages, chunk.range_ms, chunk.source_ref,
    )  # fmt: skip


def item_from_manifest(fields: dict[str, Any], segments: list[list[Any]], connection_id: int) -> ItemRow:
    """The inverse of what `manifest_text` says about the item.

    Raises:
        KeyError: a field is missing.
    """
    return ItemRow(
        item_no=fields["item_no"], item_id=fields["item_id"], connection_id=connection_id, source_id=fields["source_id"], scope=fields["scope"],
        kind=fields["kind"], title=fields["title"], author=fields["author"], timestamp_ms=fields["timestamp_ms"], date_source=fields["date_source"],
        revision=fields["revision"], final=fields["final"], metadata_json=dump(fields["metadata"]),
        segments_json=dump(segments), content_sha256=fields["content_sha256"], metadata_sha256=fields["metadata_sha256"],
        locator=fields["locator"], size=fields["size"], mtime_ns=fields["mtime_ns"], digest=fields["digest"],
        ingested_at_ms=fields["ingested_at_ms"], updated_at_ms=fields["updated_at_ms"],
    )  # fmt: skip
