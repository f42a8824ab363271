"""Bringing back what was forgotten, for as long as it is kept; and letting go of it for good when that time is over."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from sapwood.clock import now, now_ms
from sapwood.errors import NotFoundError
from sapwood.forgetting.acting import KEPT
from sapwood.forgetting.choosing import Choice, Traces, source_of
from sapwood.forgetting.purging import purge, still_there
from sapwood.ingest import decisions
from sapwood.ingest.commit import Writer
from sapwood.ingest.edits import apply_edit
from sapwood.ingest.forgotten import Forgotten, Receipt
from sapwood.ingest.notes import item_from_manifest
from sapwood.ingest.prepare import prepare
from sapwood.ingest.rebuild import decide
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ChunkRow, ItemStore
from sapwood.store.vaultfiles import VaultFiles
from sapwood.trees.topic_page import restore_topics
from sapwood.vault.manifest import Manifest
from sapwood.vault.paths import is_inside
from sapwood.workspace import Workspace, write_atomically

__all__ = ["Undone", "purge_due", "purge_receipt", "receipts", "undo"]


@dataclass(slots=True)
class Undone:
    """What came back: titles of items as they were, and of those that have changed since; these are read again by the next sync."""

    restored: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def receipts(workspace: Workspace) -> list[Receipt]:
    """Everything that was forgotten, the newest last; one whose things are not kept here any more is gone for good."""
    return [
        replace(receipt, state="purged")
        if receipt.state == "kept" and not _file(workspace, receipt.number).exists()
        else receipt
        for receipt in Forgotten(workspace).receipts()
    ]


def undo(workspace: Workspace, database: Database, number: str, zone: tzinfo, owner: str) -> Undone:
    """Bring back what a receipt took, and let what comes in later come in again. The caller holds the writer lock.

    Of one whose things are gone for good only the latter is done.

    Raises:
        NotFoundError: there is no such receipt.
    """
    if all(receipt.number != number for receipt in Forgotten(workspace).receipts()):
        raise NotFoundError(number, "there is no such receipt", "`sapwood forget --list` shows all.")
    data = _read(_file(workspace, number))
    before = Forgotten(workspace)
    outcome = Undone()
    if data is None:
        before.settle(number, "undone")
        return outcome
    after = Forgotten(workspace)
    after.settle(number, "undone")
    decisions.put_back(workspace, data["decisions"])
    with database.transaction():
        for line in data["decisions"]:
            decide(IdentityStore(database), line)
    for saved in data["items"]:
        _bring_back(workspace, database, saved, before, after, zone, owner, outcome)
    with database.transaction():
        for chunk_id, item_id, original, edited in data["waiting"]:
            if ItemStore(database).find(item_id) is not None:
                ItemStore(database).put_conflict(chunk_id, item_id, original, edited, now_ms())
    _bring_back_pages(workspace, database, data["pages"])
    _file(workspace, number).unlink(missing_ok=True)
    return outcome


def _bring_back(
    workspace: Workspace,
    database: Database,
    saved: dict[str, Any],
    before: Forgotten,
    after: Forgotten,
    zone: tzinfo,
    owner: str,
    outcome: Undone,
) -> None:
    manifest = Manifest.from_text(saved["manifest"])
    fields = manifest.item
    with database.transaction():
        connection = ConnectionStore(database).open(
            fields["connector"], fields["account"], fields["connection"], now_ms()
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
    chunks = [
        ChunkRow(c.chunk_id, c.seq, c.start, c.end, c.prefix, c.suffix, c.source_ref, c.range_ms, c.tokens, c.path, c.sha256, c.headings, c.pages, text, None, False, "pending_extraction", 0)
        for c, text in zip(manifest.chunks, saved["originals"], strict=True)
    ]  # fmt: skip
    source = source_of(item, chunks)
    as_it_was_left = before.kept_of(source)
    there = prepare(as_it_was_left, zone).content_sha256 if as_it_was_left is not None else None
    if held is not None and held.content_sha256 != there:
        # It has changed at its source since: the next sync reads it again, and less is cut out of it then.
        writer.touch(item.item_id, "", held.locator, 0, 0, "")
        writer.flush()
        outcome.changed.append(item.title)
        return
    restored = after.kept_of(source)  # without what other receipts took
    if restored is None:
        return
    writer.store(restored)
    writer.flush()
    outcome.restored.append(item.title)
    for chunk_id, edited in saved["edits"].items():
        found = items.with_chunk(chunk_id)
        if found is not None and found[1].edited != edited:
            decisions.record_edit(workspace, item.item_id, found[1], edited)
            apply_edit(workspace, database, VaultFiles(database).holders(chunk_id), chunk_id, edited, zone)


def _bring_back_pages(workspace: Workspace, database: Database, pages: dict[str, str]) -> None:
    """Topics come back out of their pages, with what was written there; a page that is there by now is left."""
    written = False
    for name, text in pages.items():
        file = workspace.vault / "topics" / name
        if is_inside(name) and not file.exists():
            write_atomically(file, text)
            ItemStore(database).forget_unlinks([f"topics/{name}"])
            written = True
    if written:
        with database.transaction():
            restore_topics(workspace, database)


def purge_receipt(workspace: Workspace, database: Database, number: str) -> list[str]:
    """Let go for good of what a receipt keeps; where it can still be read. The caller holds the writer lock.

    Raises:
        NotFoundError: nothing is kept of that receipt.
    """
    data = _read(_file(workspace, number))
    if data is None:
        raise NotFoundError(number, "nothing is kept of that receipt", "`sapwood forget --list` shows what is.")
    traces = Traces(
        Choice.from_json(data["choice"]), frozenset(map(str, data["places"])), tuple(map(str, data["clues"]))
    )
    return purge(workspace, database, number, traces) + still_there(workspace, database, traces.hold)


def purge_due(workspace: Workspace, database: Database, days: int) -> int:
    """Let go for good of what has been kept for this many days; how many receipts. The caller holds the writer lock."""
    before = now() - timedelta(days=days)
    due = [r for r in receipts(workspace) if r.state == "kept" and datetime.fromisoformat(r.at) <= before]
    for receipt in due:
        purge_receipt(workspace, database, receipt.number)
    return len(due)


def _file(workspace: Workspace, number: str) -> Path:
    return workspace.root / KEPT / f"{number}.json" if number.isalnum() else workspace.root / KEPT / "none"


def _read(file: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return data if isinstance(data, dict) and isinstance(data.get("items"), list) else None
    except (OSError, ValueError):
        return None
