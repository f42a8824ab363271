"""chunks.db made anew out of the vault: manifests say what there is, chunk files say what it reads, decisions say what
the user changed. The same ids and the same answers come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from sapwood.clock import now_ms
from sapwood.ingest import decisions
from sapwood.ingest.commit import index_passages, item_view
from sapwood.ingest.followup import followups
from sapwood.ingest.notes import PREVIEW, item_from_manifest
from sapwood.sdk.sources import Metadata
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ChunkRow, ItemStore
from sapwood.store.jobs import JobStore
from sapwood.vault import chunkfile
from sapwood.vault.manifest import Manifest, manifest_files
from sapwood.workspace import Workspace

_BATCH = 200


@dataclass(slots=True)
class RebuildReport:
    """What came back and what could not."""

    items: int = 0
    chunks: int = 0
    edits: int = 0
    lost: list[tuple[str, str]] = field(default_factory=list)
    unclaimed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Decided:
    edits: dict[str, dict[str, Any]] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)
    entities: list[dict[str, Any]] = field(default_factory=list)


def rebuild(
    workspace: Workspace, database: Database, zone: tzinfo = UTC, progress: Callable[[int], None] | None = None
) -> RebuildReport:
    """Fill an empty database from the vault. Needs the writer lock.

    Chunk files that no manifest claims are reported, never imported.
    """
    report = RebuildReport()
    decided = _decided(workspace)
    claimed: set[str] = set()
    files = list(manifest_files(workspace.vault))
    for at in range(0, len(files), _BATCH):
        with database.transaction():
            for file in files[at : at + _BATCH]:
                _restore(workspace, database, file, decided, claimed, report, zone)
        if progress:
            progress(report.items)
    with database.transaction():
        for line in decided.entities:
            decide(IdentityStore(database), line)
    raw = workspace.vault / "raw"
    report.unclaimed = (
        sorted(p for f in raw.rglob("*.md") if (p := f.relative_to(workspace.vault).as_posix()) not in claimed)
        if raw.is_dir()
        else []
    )
    return report


def _decided(workspace: Workspace) -> _Decided:
    found = _Decided()
    for line in decisions.read(workspace):
        chunk_id = str(line.get("chunk_id", ""))
        match line["decision"]:
            case "edit":
                found.edits[chunk_id] = line
            case "conflict":
                found.conflicts[chunk_id] = str(line["item_id"])
            case "conflict_keep" | "conflict_drop":
                found.conflicts.pop(chunk_id, None)
            case "entity_merge" | "entity_split" | "entity_rename" if line.get("ids"):
                found.entities.append(line)
    return found


def decide(identities: IdentityStore, line: dict[str, Any]) -> None:
    """Once more what the user decided about who is who; lines about other things are passed over."""
    ids = [str(entity_id) for entity_id in line.get("ids", ())]
    if not ids:
        return
    for alias_id, entity_id in line.get("aliases", ()):
        identities.decide(str(alias_id), str(entity_id))
    if line["decision"] == "entity_rename":
        identities.rename(ids[0], str(line.get("name", "")))


def _restore(
    workspace: Workspace,
    database: Database,
    file: Path,
    decided: _Decided,
    claimed: set[str],
    report: RebuildReport,
    zone: tzinfo,
) -> None:
    name = file.relative_to(workspace.vault).as_posix()
    try:
        manifest = Manifest.from_text(file.read_text(encoding="utf-8"))
        fields = manifest.item
        now = now_ms()
        connection = ConnectionStore(database).open(fields["connector"], fields["account"], fields["connection"], now)
        item = item_from_manifest(fields, manifest.segments, connection)
    except (ValueError, KeyError, TypeError, OSError) as error:
        report.lost.append((name, f"is damaged ({error}); the next sync reads its item again"))
        return
    items = ItemStore(database)
    found: list[tuple[ChunkRow, tuple[int, int]]] = []
    for entry in manifest.chunks:
        claimed.add(entry.path)
        path = workspace.vault / entry.path
        try:
            note = chunkfile.read(path.read_bytes())
            stat = path.stat()
        except OSError:
            note, stat = chunkfile.ReadNote(damaged="is missing"), None
        decision = decided.edits.get(entry.chunk_id)
        original: str | None = None
        edited: str | None = None
        lost = False
        if decision and decision.get("content_sha256") == entry.sha256:
            original = str(decision["original"])
            edited = decision.get("edited") if note.damaged else None
        if not note.damaged:
            body = _exact(note.body, entry.sha256, entry.end - entry.start + len(entry.prefix) + len(entry.suffix))
            if chunkfile.body_sha256(body) == entry.sha256:
                original = body
            else:
                edited = note.body
                lost = original is None
        if original is None and edited is None:
            report.lost.append((entry.path, f"{note.damaged}; the next sync reads its item again"))
            return
        chunk = ChunkRow(
            entry.chunk_id, entry.seq, entry.start, entry.end, entry.prefix, entry.suffix, entry.source_ref, entry.range_ms, entry.tokens, entry.path,
            entry.sha256, entry.headings, entry.pages, original if original is not None else str(edited), edited, lost, "pending_extraction", now,
        )  # fmt: skip
        found.append((chunk, (stat.st_size, stat.st_mtime_ns) if stat else (0, 0)))
    items.put_item(item)
    IdentityStore(database).add_people(Metadata.from_json(item.metadata).people)
    for chunk, seen in found:
        items.put_chunk(item, chunk, seen, chunk.shown[:PREVIEW], item.ingested_at_ms)
        if chunk.edited is not None:
            items.set_edit(chunk.chunk_id, chunk.edited, now, original_lost=chunk.original_lost)
            report.edits += 1
    rows = items.chunks(item.item_no)
    index_passages(items, item, item_view(item, rows, zone), rows, now, fresh=True)
    JobStore(items.database).enqueue(followups(row.chunk_id for row in rows), now)
    for chunk_id, owner in decided.conflicts.items():
        if owner == item.item_id and (line := decided.edits.get(chunk_id)):
            items.put_conflict(chunk_id, owner, str(line["original"]), str(line["edited"]), now)
    report.items += 1
    report.chunks += len(rows)


def _exact(body: str, sha256: str, length: int) -> str:
    """The body with the line breaks at its end that the chunk had; a file always ends in one."""
    stripped = body.rstrip("\n")
    return stripped + "\n" * max(0, length - len(stripped)) if chunkfile.body_sha256(body) == sha256 else body
