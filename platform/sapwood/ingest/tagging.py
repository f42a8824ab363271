"""Entities written into the front matter of notes, so that Obsidian can follow them. The body is never touched."""

from __future__ import annotations

from pathlib import Path

from sapwood.ingest.notes import chunk_text
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.items import ItemStore
from sapwood.vault import chunkfile
from sapwood.vault.files import FileBatch
from sapwood.workspace import Workspace

__all__ = ["tag_notes"]

_BATCH = 200


def tag_notes(workspace: Workspace, database: Database) -> bool:
    """Write the entities of some hundred chunks into their notes; True when more wait. Needs the writer lock.

    A note that is missing, damaged, or holds another text than its row is left for the next scan of the vault.
    """
    items, entities = ItemStore(database), EntityStore(database)
    waiting = entities.untagged(_BATCH)
    named = entities.shown(waiting)
    batch = FileBatch(workspace)
    written: dict[str, str] = {}
    for chunk_id in waiting:
        found = items.with_chunk(chunk_id)
        if found is None:
            continue
        item, chunk = found
        file = workspace.vault / Path(chunk.content_path)
        try:
            seen = file.stat()
            data = file.read_bytes()
        except OSError:
            continue
        note = chunkfile.read(data)
        if note.damaged or chunkfile.body_sha256(note.body) != chunkfile.body_sha256(chunk.shown):
            continue
        tags = note.user_tags(tuple(item.metadata.get("tags", ())))
        text = chunk_text(item, chunk, note.user_fields, tags, named.get(chunk_id, ()))
        if text.encode() != data:
            batch.add(chunk.content_path, text, seen)
            written[chunk.content_path] = chunk_id
    stats = batch.stage()
    with database.transaction():
        left = batch.publish()  # what somebody saved meanwhile is theirs; the next scan takes it in
        for path, chunk_id in written.items():
            if path not in left:
                items.set_file(chunk_id, *stats[path])
        entities.forget_untagged(waiting)
    batch.finish()
    return len(waiting) == _BATCH
