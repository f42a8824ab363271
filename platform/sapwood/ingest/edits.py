"""What people did to the vault: edits taken in, damage restored, deleted files shown.

A file is looked at only when its size or time differs from what was last seen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path

from sapwood.clock import now_ms
from sapwood.ingest import decisions
from sapwood.ingest.commit import index_passages, item_view
from sapwood.ingest.followup import followups
from sapwood.ingest.notes import PREVIEW, chunk_text, manifest_text
from sapwood.ingest.topic_pages import pages_about
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.jobs import JobStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.vaultfiles import VaultFiles
from sapwood.text.redact import Redaction
from sapwood.vault import chunkfile
from sapwood.vault.files import FileBatch
from sapwood.vault.paths import manifest_path
from sapwood.workspace import FOLDER_MODE, Workspace, write_atomically, writing

_STEP = 500  # files


@dataclass(slots=True)
class VaultChanges:
    """What a scan found, by path relative to the vault."""

    edited: list[str] = field(default_factory=list)
    reverted: list[str] = field(default_factory=list)
    restored: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def scanning_vault(
    workspace: Workspace, database: Database, zone: tzinfo = UTC, *, personal: bool = False
) -> Generator[None, None, VaultChanges]:
    """Look at every chunk's file once, in steps of some hundred files; the generator's value is what was found.

    Costs one stat a file, and a read of each that changed. Needs the writer lock. `personal` cuts personal numbers out of
    edits too, as it does on ingest.
    """
    changes = VaultChanges()
    files = VaultFiles(database)
    suspects = yield from _other_than_stored(workspace, files, changes)
    for path in suspects:
        _look_at(workspace, database, files.chunk_at(path), path, zone, changes, Redaction(personal))
    return changes


def _other_than_stored(
    workspace: Workspace, files: VaultFiles, changes: VaultChanges
) -> Generator[None, None, list[str]]:
    """Paths whose size or time is not the stored one; those that are not there go to `changes.missing`."""
    found: list[str] = []
    look = os.stat
    with writing(workspace.vault):
        workspace.vault.mkdir(mode=FOLDER_MODE, exist_ok=True)
        # Paths are looked up from the open folder, so that the way to the vault is not walked once more for each.
        vault = os.open(workspace.vault, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, (path, size, mtime_ns) in enumerate(files.stats()):
            if not number % _STEP:
                yield
            try:
                stat = look(path, dir_fd=vault)
            except OSError:
                changes.missing.append(path)
                continue
            if stat.st_mtime_ns != mtime_ns or stat.st_size != size:
                found.append(path)
    finally:
        os.close(vault)
    return found


def _look_at(
    workspace: Workspace, database: Database, chunk_id: str, path: str, zone: tzinfo, changes: VaultChanges,
    redaction: Redaction,
) -> None:  # fmt: skip
    items = ItemStore(database)
    file = workspace.vault / path
    try:
        data = file.read_bytes()
        stat = file.stat()
    except OSError:
        changes.missing.append(path)
        return
    note = chunkfile.read(data)
    holders = VaultFiles(database).holders(chunk_id)
    if note.damaged:
        kept = _keep_damaged(workspace, path, data, redaction)
        rewrite_items(workspace, database, holders)
        changes.restored.append((path, f"{note.damaged}; what stood there is kept as {kept}" if kept else note.damaged))
        return
    item, chunk = _holder(items, holders[0], chunk_id)
    if chunkfile.body_sha256(note.body) == chunkfile.body_sha256(chunk.shown):
        with database.transaction():  # only properties, tags or the time changed
            items.set_file(chunk_id, stat.st_size, stat.st_mtime_ns)
        return
    original_again = chunkfile.body_sha256(note.body) == chunk.content_sha256
    edited = None if original_again else redaction.text(note.body)
    decisions.record_edit(workspace, item.item_id, chunk, edited)
    apply_edit(workspace, database, holders, chunk_id, edited, zone)
    (changes.reverted if original_again else changes.edited).append(path)


def _keep_damaged(workspace: Workspace, path: str, data: bytes, redaction: Redaction) -> str:
    """Put what a damaged file held, which may be somebody's work, into the trash; its path, empty when it held nothing."""
    text = redaction.text(data.decode("utf-8", "replace"))
    if not text.strip():
        return ""
    kept = f"trash/damaged/{now_ms()}-{path.rpartition('/')[2]}"
    write_atomically(workspace.root / kept, text)
    return kept


def _holder(items: ItemStore, item_no: int, chunk_id: str) -> tuple[ItemRow, ChunkRow]:
    item = items.by_number(item_no)
    assert item is not None
    return item, next(c for c in items.chunks(item_no) if c.chunk_id == chunk_id)


def apply_edit(
    workspace: Workspace, database: Database, holders: list[int], chunk_id: str, edited: str | None, zone: tzinfo
) -> None:
    """Make the user's version of a chunk the one that is shown and found; None puts the original back."""
    items = ItemStore(database)
    now = now_ms()
    with database.transaction():
        items.set_edit(chunk_id, edited, now)
        for item_no in holders:
            item = items.by_number(item_no)
            assert item is not None
            chunks = items.chunks(item_no)
            index_passages(items, item, item_view(item, chunks, zone), chunks, now)
            shown = next(c.shown for c in chunks if c.chunk_id == chunk_id)
            items.set_preview(chunk_id, shown[:PREVIEW])
        summaries = SummaryStore(database)
        summaries.mark_stale(chunk_id)
        follow = followups([chunk_id], stale=summaries.any_stale())
        JobStore(database).enqueue([*follow, *pages_about(database, [chunk_id])], now)
    rewrite_items(workspace, database, holders)


def rewrite_items(workspace: Workspace, database: Database, item_numbers: list[int]) -> None:
    """Write all files of these items anew out of the database, keeping the properties that users added."""
    items = ItemStore(database)
    batch = FileBatch(workspace)
    chunk_of_path: dict[str, str] = {}
    for item_no in item_numbers:
        item = items.by_number(item_no)
        if item is None:
            continue
        ours = tuple(item.metadata.get("tags", ()))
        chunks = items.chunks(item_no)
        named = EntityStore(database).shown([chunk.chunk_id for chunk in chunks])
        for chunk in chunks:
            note = _present(workspace.vault / chunk.content_path)
            entities = named.get(chunk.chunk_id, ())
            batch.add(chunk.content_path, chunk_text(item, chunk, note.user_fields, note.user_tags(ours), entities))
            chunk_of_path[chunk.content_path] = chunk.chunk_id
        connector, account, name = VaultFiles(database).connection_of(item.connection_id)
        batch.add(manifest_path(item.item_id), manifest_text(item, connector, account, name, chunks))
    stats = batch.stage()
    with database.transaction():
        for path, chunk_id in chunk_of_path.items():
            items.set_file(chunk_id, *stats[path])
        batch.publish()
    batch.finish()


def _present(file: Path) -> chunkfile.ReadNote:
    try:
        note = chunkfile.read(file.read_bytes())
    except OSError:
        return chunkfile.ReadNote()
    return chunkfile.ReadNote() if note.damaged else note


def how_to_settle(chunk_id: str) -> str:
    """The two commands that decide about a waiting edit."""
    return f"sapwood edits keep {chunk_id[:12]}, or: sapwood edits drop {chunk_id[:12]}"


def settle_conflict(workspace: Workspace, database: Database, chunk_id: str, choice: str, zone: tzinfo) -> bool:
    """`keep`: the waiting edit replaces the text of the chunk that now stands in its place; `drop`: it is forgotten.

    `chunk_id` may be its first eight or more digits. False when no edit waits for this chunk.
    """
    items = ItemStore(database)
    waiting = [c for c in items.conflicts() if c[0] == chunk_id or (len(chunk_id) >= 8 and c[0].startswith(chunk_id))]
    if len(waiting) != 1:
        return False
    chunk_id, item_id, original, edited = waiting[0]
    item = items.find(item_id)
    if choice == "keep" and item is not None:
        chunks = items.chunks(item.item_no)
        target = _closest(chunks, original)
        if target is not None:
            decisions.record_edit(workspace, item_id, target, edited)
            apply_edit(
                workspace, database, VaultFiles(database).holders(target.chunk_id), target.chunk_id, edited, zone
            )
    with database.transaction():
        items.drop_conflict(chunk_id)
    decisions.record_settled(workspace, item_id, chunk_id, choice)
    return True


def _closest(chunks: list[ChunkRow], original: str) -> ChunkRow | None:
    """The chunk that shares most lines with a text."""
    lines = {line.strip() for line in original.split("\n") if line.strip()}
    return max(chunks, key=lambda c: len(lines & {line.strip() for line in c.original.split("\n")}), default=None)


def recover(workspace: Workspace, database: Database) -> None:
    """Heal what a killed run left: batches that were published without COMMIT, and files that were to be removed.

    Needs the writer lock.
    """
    from sapwood.ingest.commit import remove_files
    from sapwood.vault.files import unfinished

    items = ItemStore(database)
    files = VaultFiles(database)
    for journal, paths in unfinished(workspace):
        affected: list[int] = []
        for path in paths:
            target = workspace.vault / path
            holders = files.holders_of_path(path)
            if not holders and path.endswith(".json") and target.exists():
                try:
                    item = items.find(json.loads(target.read_text(encoding="utf-8"))["item"]["item_id"])
                except (ValueError, KeyError, TypeError):
                    item = None
                holders = [item.item_no] if item else []
            if holders:
                affected += holders
            else:
                target.unlink(missing_ok=True)
        rewrite_items(workspace, database, sorted(set(affected)))
        journal.unlink(missing_ok=True)
    remove_files(workspace, items)
    workspace.clear_tmp()
