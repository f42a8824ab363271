"""What `status` shows and what `doctor` proves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from sapwood.bulk.tree_health import prove_trees, summaries, told_by
from sapwood.bulk.work_health import vector_agreement, vectors, work
from sapwood.checks import Check, Report
from sapwood.config import Settings
from sapwood.errors import StoreError
from sapwood.ingest.edits import how_to_settle, rewrite_items
from sapwood.ingest.forgotten import Forgotten
from sapwood.plugins.installed import PluginInfo, list_plugins
from sapwood.plugins.probing import Probed, known_to_be_left_out, probe
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.store.items import ItemStore
from sapwood.store.search import SearchStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.vaultfiles import VaultFiles
from sapwood.vault import chunkfile
from sapwood.vault.manifest import Manifest, manifest_files
from sapwood.vault.paths import manifest_path
from sapwood.workspace import Workspace, abandoned

_SHOWN = 20


def status(workspace: Workspace, database: Database, settings: Settings) -> Report:
    """What is stored and searchable, what failed and why, what waits for a person, and how the last runs ended."""
    facts = SearchStore(database).statistics()
    searchable = facts["searchable_by_text"] == facts["passages"]
    checks = [
        Check("stored", True, f"{facts['items']} items in {facts['chunks']} chunks", facts={"items": facts["items"], "chunks": facts["chunks"]}),
        Check(
            "searchable by text", searchable, f"{facts['searchable_by_text']} of {facts['passages']} passages",
            "" if searchable else "Run `sapwood rebuild`.", {"passages": facts["passages"], "indexed": facts["searchable_by_text"]},
        ),
        *vectors(workspace, database, settings),
        summaries(database),
        *told_by(database, settings),
        *work(database, facts["dropped_chunks"], facts["dropped_passages"]),
        Check("redacted", True, f"{sum((found := SearchStore(database).redactions()).values())} secrets cut out", facts={"classes": found}),
        Check(
            "edited by hand", True, f"{facts['edited_chunks']} chunks, {(corrected := SummaryStore(database).corrected_count())} summaries",
            facts={"chunks": facts["edited_chunks"], "summaries": corrected},
        ),
    ]  # fmt: skip
    for receipt in Forgotten(workspace).receipts():
        if receipt.state == "begun":
            checks.append(
                Check(
                    f"forgetting {receipt.number}",
                    False,
                    f"was interrupted; it began at {receipt.at}",
                    "Run `sapwood forget --resume`.",
                )
            )
    for chunk_id, item_id, _, edited in ItemStore(database).conflicts():
        checks.append(
            Check(
                f"waiting edit {chunk_id}", False, f"the source of {item_id} changed the text that you had edited; the source's text is shown",
                how_to_settle(chunk_id), {"item_id": item_id, "edited": edited[:500]},
            )
        )  # fmt: skip
    for path in _missing(workspace, database):
        checks.append(
            Check(
                f"file {path}",
                False,
                "was deleted from the vault; its text is still stored and found",
                "Run `sapwood doctor --repair` to write it again.",
            )
        )
    store = ConnectionStore(database)
    for issue in store.issues("failed", _SHOWN):
        checks.append(
            Check(
                f"failed {issue.locator or issue.item_id}",
                False,
                issue.message,
                issue.next_step,
                {"item_id": issue.item_id, "code": issue.code, "attempts": issue.attempts},
            )
        )
    if facts["failed"] > _SHOWN:
        checks.append(
            Check(
                "failed, others",
                False,
                f"{facts['failed'] - _SHOWN} more items failed",
                "The reports in wiki/reports name them all.",
            )
        )
    checks.append(
        Check("skipped", True, f"{facts['skipped']} items, each with a reason", facts={"items": facts["skipped"]})
    )
    for distribution, reason in known_to_be_left_out(workspace).items():
        off = reason == "is disabled"
        step = "" if off else "`sapwood connectors doctor` says more."
        checks.append(Check(f"plugin {distribution}", off, reason, step))
    for connection_id, connector, account, name in store.all():
        checks.append(_connection(store, connection_id, connector, account, name))
    return Report(tuple(checks))


def _connection(store: ConnectionStore, connection_id: int, connector: str, account: str, name: str) -> Check:
    last = store.last_run(connection_id)
    facts: dict[str, Any] = {"connector": connector, "account": account}
    if last is None:
        return Check(f"connection {connector}:{name}", True, "has not run", facts=facts)
    state, started, ended, counts, message = last
    facts |= {"status": state, "started_at_ms": started, "ended_at_ms": ended, "counts": counts}
    good = state in ("done", "running")
    return Check(
        f"connection {connector}:{name}",
        good,
        f"last run: {state}" + (f": {message}" if message else ""),
        "" if good else "Import it again.",
        facts,
    )


def _missing(workspace: Workspace, database: Database) -> list[str]:
    root = f"{workspace.vault}{os.sep}"
    return [path for path, _, _ in VaultFiles(database).stats() if not os.path.exists(root + path)][:_SHOWN]


def doctor(workspace: Workspace, database: Database, settings: Settings, *, repair: bool) -> Report:
    """Prove what must hold: the items' chunk lists are the chunk rows are the chunk files; live passages are full-text
    rows; manifests are items; the database and its index are sound; every plugin loads."""
    files = VaultFiles(database)
    if repair:
        numbers = files.all_numbers()
        for at in range(0, len(numbers), 200):
            rewrite_items(workspace, database, numbers[at : at + 200])
        for file in abandoned(workspace):
            file.unlink(missing_ok=True)
    checks = [_integrity(files)]
    checks += [
        Check(name, count == 0, f"{count} {name}", "Run `sapwood rebuild`." if count else "", {"count": count})
        for name, count in files.orphans().items()
    ]
    apart = files.passages_without_text()
    checks.append(
        Check(
            "passages = full-text rows",
            apart == 0,
            "equal" if not apart else f"{apart} differ",
            "Run `sapwood rebuild`." if apart else "",
            {"count": apart},
        )
    )
    checks.append(vector_agreement(workspace, database, settings))
    checks += _files(workspace, database)
    checks += prove_trees(workspace, database, repair=repair)
    checks += [_plugin(info, probed) for info, probed in probe(list_plugins()).items()]
    return Report(tuple(checks))


def _integrity(files: VaultFiles) -> Check:
    try:
        found = files.integrity()
        files.index_integrity()
    except StoreError as error:
        return Check("database", False, str(error), "Run `sapwood rebuild`.")
    return Check("database", found == "ok", found, "" if found == "ok" else "Run `sapwood rebuild`.")


def _files(workspace: Workspace, database: Database) -> Iterator[Check]:
    """Every chunk's file against its row, every manifest against its item, and files that nothing claims."""
    files, items = VaultFiles(database), ItemStore(database)
    wrong: list[str] = []
    expected: set[str] = set()
    manifests: set[str] = set()
    for item_no, item_id in files.items():
        chunks = items.chunks(item_no)
        for chunk in chunks:
            expected.add(chunk.content_path)
            try:
                note = chunkfile.read((workspace.vault / chunk.content_path).read_bytes())
            except OSError:
                wrong.append(f"{chunk.content_path} is missing")
                continue
            if note.damaged or chunkfile.body_sha256(note.body) != chunkfile.body_sha256(chunk.shown):
                wrong.append(f"{chunk.content_path} {note.damaged or 'holds another text than its row'}")
        path = manifest_path(item_id)
        manifests.add(path)
        try:
            manifest = Manifest.from_text((workspace.vault / path).read_text(encoding="utf-8"))
            if manifest.item["item_id"] != item_id or [c.chunk_id for c in manifest.chunks] != [
                c.chunk_id for c in chunks
            ]:
                wrong.append(f"{path} has another chunk list than its item")
        except (OSError, ValueError, KeyError):
            wrong.append(f"{path} is missing or damaged")
    raw = workspace.vault / "raw"
    present = {f.relative_to(workspace.vault).as_posix() for f in raw.rglob("*.md")} if raw.is_dir() else set()
    stray_notes = sorted(present - expected)
    stray = sorted({f.relative_to(workspace.vault).as_posix() for f in manifest_files(workspace.vault)} - manifests)
    yield Check(
        "chunk rows = chunk files, manifests = items",
        not wrong,
        f"{len(expected)} chunks, {len(manifests)} items" if not wrong else "; ".join(wrong[:_SHOWN]),
        "Run `sapwood doctor --repair`." if wrong else "",
        {"wrong": len(wrong), "chunks": len(expected), "items": len(manifests)},
    )
    yield Check(
        "manifests without an item",
        not stray,
        f"{len(stray)}",
        "Run `sapwood rebuild`." if stray else "",
        {"paths": stray[:_SHOWN]},
    )
    left = [file.relative_to(workspace.root).as_posix() for file in abandoned(workspace)]
    yield Check(
        "temporary files of killed runs",
        True,
        f"{len(left)}: `sapwood doctor --repair` removes them" if left else "none",
        facts={"paths": left[:_SHOWN]},
    )
    yield Check(
        "notes in raw/ that no item claims",
        True,
        f"{len(stray_notes)}: they are yours, and left alone" if stray_notes else "none",
        facts={"paths": stray_notes[:_SHOWN]},
    )


def _plugin(info: PluginInfo, probed: Probed) -> Check:
    facts = {"distribution": info.distribution, "version": info.version}
    if probed.problem:
        step = "" if info.problem else f"Update it or remove it: sapwood connectors uninstall {info.distribution}."
        return Check(f"plugin {info.key}", False, probed.problem, step, facts)
    return Check(f"plugin {info.key}", True, f"{info.distribution} {info.version}", "", facts)
