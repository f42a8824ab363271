"""Bringing back what was forgotten, for as long as it is kept; and letting go of it for good when that time is over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from sapwood.clock import now
from sapwood.errors import NotFoundError
from sapwood.forgetting.acting import KEPT
from sapwood.forgetting.choosing import Choice, source_of
from sapwood.forgetting.purging import purge
from sapwood.ingest import decisions
from sapwood.ingest.commit import Writer
from sapwood.ingest.edits import apply_edit
from sapwood.ingest.forgotten import Forgotten, Receipt
from sapwood.ingest.notes import item_from_manifest
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.vaultfiles import VaultFiles
from sapwood.vault.manifest import Manifest
from sapwood.workspace import Workspace

__all__ = ["Undone", "purge_due", "receipts", "undo"]


@dataclass(slots=True)
class Undone:
    """What came back: titles of items as they were, and of those that have changed since; these are read again by the next sync."""

    restored: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def receipts(workspace: Workspace) -> list[Receipt]:
    """Everything that was forgotten, the newest last."""
    return list(Forgotten(workspace).receipts())


def undo(workspace: Workspace, database: Database, number: str, zone: tzinfo, owner: str) -> Undone:
    """Bring back what a receipt took. The caller holds the writer lock.

    Raises:
        NotFoundError: there is no such receipt, or its things are gone for good.
    """
    file = workspace.root / KEPT / f"{number}.json"
    data = _read(file) if number.isalnum() else None
    if data is None:
        raise NotFoundError(
            number, "nothing of that receipt can be brought back", "`sapwood forget --list` shows what can."
        )
    moment = datetime.fromisoformat(data["at"])
    Forgotten(workspace).settle(number, "undone")
    outcome = Undone()
    for saved in data["items"]:
        _bring_back(workspace, database, saved, moment, zone, owner, outcome)
    file.unlink(missing_ok=True)
    return outcome


def _bring_back(
    workspace: Workspace,
    database: Database,
    saved: dict[str, Any],
    moment: datetime,
    zone: tzinfo,
    owner: str,
    outcome: Undone,
) -> None:
    manifest = Manifest.from_text(saved["manifest"])
    fields = manifest.item
    with database.transaction():
        connection = ConnectionStore(database).open(
            fields["connector"], fields["account"], fields["connection"], int(moment.timestamp() * 1000)
        )
    item = item_from_manifest(fields, manifest.segments, connection)
    items = ItemStore(database)
    held = items.find(item.item_id)
    writer = Writer(
        workspace,
        database,
        (connection, fields["connector"], fields["account"], fields["connection"]),
        zone=zone,
        owner=owner,
    )
    if held is not None and held.revision != item.revision:
        # It has changed at its source since: the next sync reads it again, and nothing is cut out of it then.
        writer.touch(item.item_id, "", held.locator, 0, 0, "")
        writer.flush()
        outcome.changed.append(item.title)
        return
    chunks = [
        ChunkRow(c.chunk_id, c.seq, c.start, c.end, c.prefix, c.suffix, c.source_ref, c.range_ms, c.tokens, c.path, c.sha256, c.headings, c.pages, text, None, False, "pending_extraction", 0)
        for c, text in zip(manifest.chunks, saved["originals"], strict=True)
    ]  # fmt: skip
    writer.store(source_of(item, chunks))
    writer.flush()
    outcome.restored.append(item.title)
    for chunk_id, edited in saved["edits"].items():
        _edit_again(workspace, database, items, item, chunk_id, edited, zone)


def _edit_again(
    workspace: Workspace, database: Database, items: ItemStore, item: ItemRow, chunk_id: str, edited: str, zone: tzinfo
) -> None:
    found = items.with_chunk(chunk_id)
    if found is not None and found[1].edited != edited:
        decisions.record_edit(workspace, item.item_id, found[1], edited)
        apply_edit(workspace, database, VaultFiles(database).holders(chunk_id), chunk_id, edited, zone)


def purge_due(workspace: Workspace, database: Database, days: int) -> int:
    """Let go for good of what has been kept for this many days; how many receipts. The caller holds the writer lock."""
    before = now() - timedelta(days=days)
    due = [(file, data) for file, data in _kept(workspace) if datetime.fromisoformat(data["at"]) <= before]
    for file, data in due:
        choice = Choice(texts=tuple(data["texts"]), as_words=bool(data["as_words"]))
        purge(workspace, database, file.stem, choice.holds, data["names"])
    return len(due)


def _kept(workspace: Workspace) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in sorted((workspace.root / KEPT).glob("*.json")):
        data = _read(file)
        if data is not None:
            yield file, data


def _read(file: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return data if isinstance(data, dict) and isinstance(data.get("items"), list) else None
    except (OSError, ValueError):
        return None
