"""`backup` and `restore`: a workspace as one file.

A backup is taken while others go on writing. The database is copied in one step, as of one moment; notes and manifests are
then read from the vault, and made from that copy where the vault has moved on, so that both fit together.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sapwood import __version__
from sapwood.clock import iso_z, now
from sapwood.errors import ConfigurationError, StoreError, WorkspaceError
from sapwood.ingest.notes import chunk_text, manifest_text
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.items import ItemStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.vaultfiles import VaultFiles
from sapwood.trees.files import file_of, says
from sapwood.vault import chunkfile, summaryfile
from sapwood.vault.manifest import Manifest
from sapwood.vault.paths import MANIFESTS, is_inside, manifest_path
from sapwood.workspace import FOLDER_MODE, Workspace, writing

__all__ = ["BackupReport", "back_up", "restore"]

_MARK, _END = "sapwood-backup.json", "sapwood-backup-end.json"
_FORMAT = 1
_LEVEL = 3
_OURS = (b"---\nchunk_id:", b"---\r\nchunk_id:")
_SUMMARIES = ("wiki/summaries/", "wiki/topics/", "wiki/daily/")


@dataclass(slots=True)
class BackupReport:
    """What went into a backup, or came out of one."""

    items: int = 0
    files: int = 0
    composed: int = 0
    bytes: int = 0
    vectors: bool = False


def back_up(workspace: Workspace, database: Database, target: Path, *, vectors: bool) -> BackupReport:
    """Write the workspace into a compressed tar file; it appears whole or not at all.

    Args:
        vectors: also embeddings.db, which can be made anew from the rest.

    Raises:
        WorkspaceError: the file is there already, or cannot be written.
    """
    if target.exists():
        raise WorkspaceError(str(target), "is there already", "Choose another name; a backup overwrites nothing.")
    report = BackupReport(vectors=vectors and workspace.embeddings.exists())
    partial = target.with_name(f".{target.name}.partial")
    # Beside the target: the workspace's own folder for such files is emptied by every import.
    with writing(target), tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.absolute().parent) as place:
        copy = Path(place) / "chunks.db"
        database.copy_to(copy)
        try:
            with open(os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as raw:
                _write(workspace, copy, raw, report)
                raw.flush()
                os.fsync(raw.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    report.bytes = target.stat().st_size
    return report


def _write(workspace: Workspace, copy: Path, raw: IO[bytes], report: BackupReport) -> None:
    with (
        gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=_LEVEL) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        snapshot = Database.open(copy, readonly=True)
        try:
            report.items = len(VaultFiles(snapshot).all_numbers())
            mark = {
                "format": _FORMAT,
                "sapwood": __version__,
                "schema": snapshot.version(),
                "taken": iso_z(now()),
                "items": report.items,
            }
            _add_text(archive, _MARK, json.dumps(mark), report)
            _add_file(archive, "memory_tree/chunks.db", copy, report, required=True)
            known = _add_notes(workspace, snapshot, archive, report) | _add_summaries(
                workspace, snapshot, archive, report
            )
        finally:
            snapshot.close()
        if report.vectors:
            vectors = copy.with_name("embeddings.db")
            source = Database.open_other(workspace.embeddings)
            try:
                source.copy_to(vectors)
            finally:
                source.close()
            _add_file(archive, "memory_tree/embeddings.db", vectors, report, required=True)
        for path in _others(workspace, known):
            _add_file(archive, path, workspace.root / path, report)
        _add_text(archive, _END, json.dumps({"files": report.files}), report)


def _add_notes(workspace: Workspace, snapshot: Database, archive: tarfile.TarFile, report: BackupReport) -> set[str]:
    """Every chunk's note and every item's manifest as the copy of the database has them; their paths."""
    items, files, entities = ItemStore(snapshot), VaultFiles(snapshot), EntityStore(snapshot)
    known: set[str] = set()
    for item_no, item_id in files.items():
        item, chunks = items.by_number(item_no), items.chunks(item_no)
        assert item is not None
        for chunk in chunks:
            path = f"wiki/{chunk.content_path}"
            if path in known:
                continue
            known.add(path)
            held = _read(workspace.root / path)
            if held is None or chunkfile.read(held[0]).damaged:
                named = entities.shown([chunk.chunk_id]).get(chunk.chunk_id, ())
                _add_text(archive, path, chunk_text(item, chunk, entities=named), report)
                report.composed += 1
            else:
                _add_bytes(archive, path, *held, report)
        path = f"wiki/{manifest_path(item_id)}"
        known.add(path)
        held = _read(workspace.root / path)
        if held is not None and _lists(held[0], [chunk.chunk_id for chunk in chunks]):
            _add_bytes(archive, path, *held, report)
        else:
            _add_text(archive, path, manifest_text(item, *files.connection_of(item.connection_id), chunks), report)
            report.composed += 1
    return known


def _add_summaries(
    workspace: Workspace, snapshot: Database, archive: tarfile.TarFile, report: BackupReport
) -> set[str]:
    """Every summary's file as the copy of the database has it; their paths."""
    known: set[str] = set()
    for summary in SummaryStore(snapshot).all():
        path = f"wiki/{summary.path}"
        known.add(path)
        held = _read(workspace.root / path)
        if held is not None and says(held[0], summary):
            _add_bytes(archive, path, *held, report)
        else:
            _add_text(archive, path, file_of(snapshot, summary), report)
            report.composed += 1
    return known


def _read(path: Path) -> tuple[bytes, float] | None:
    """A file's bytes and its time, read once: by the next look it may be gone."""
    try:
        with path.open("rb") as stream:
            return stream.read(), os.fstat(stream.fileno()).st_mtime_ns / 1e9
    except OSError:
        return None


def _lists(data: bytes, chunk_ids: list[str]) -> bool:
    """True when a manifest is that of just these chunks."""
    try:
        return [c.chunk_id for c in Manifest.from_text(data.decode()).chunks] == chunk_ids
    except (ValueError, KeyError, TypeError):
        return False


def _others(workspace: Workspace, known: set[str]) -> Iterator[str]:
    """Files of the workspace beside notes and manifests: settings, connections, decisions, reports, the user's own notes."""
    for top in ("config.toml", "connections", "wiki"):
        start = workspace.root / top
        paths = [start] if start.is_file() else sorted(start.rglob("*")) if start.is_dir() else []
        for file in paths:
            path = file.relative_to(workspace.root).as_posix()
            if path in known or file.is_symlink() or not file.is_file() or path.startswith(f"wiki/{MANIFESTS}/"):
                continue
            if path.startswith("wiki/raw/") and (held := _read(file)) and held[0].startswith(_OURS):
                continue  # a chunk that is younger than the copy of the database
            if path.startswith(_SUMMARIES) and (held := _read(file)) and not summaryfile.read(held[0]).damaged:
                continue  # likewise a summary
            yield path


def _add_text(archive: tarfile.TarFile, path: str, text: str, report: BackupReport) -> None:
    _add_bytes(archive, path, text.encode(), 0.0, report)


def _add_bytes(archive: tarfile.TarFile, path: str, data: bytes, mtime: float, report: BackupReport) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode, entry.mtime = len(data), 0o600, mtime
    archive.addfile(entry, io.BytesIO(data))
    report.files += 1


def _add_file(
    archive: tarfile.TarFile, path: str, source: Path, report: BackupReport, *, required: bool = False
) -> None:
    """A file as it is now; one that is gone meanwhile is left out unless it is required."""
    try:
        stream = source.open("rb")
    except FileNotFoundError:
        if required:
            raise
        return
    with stream:
        stat = os.fstat(stream.fileno())
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode, entry.mtime = stat.st_size, 0o600, stat.st_mtime_ns / 1e9
        archive.addfile(entry, stream)
    report.files += 1


def restore(workspace: Workspace, source: Path) -> BackupReport:
    """Unpack a backup into a workspace that does not exist yet; it appears whole or not at all.

    Raises:
        WorkspaceError: the workspace exists, or the disk refuses.
        ConfigurationError: the file is no backup, is damaged, or was written by a newer Sapwood.
    """
    if workspace.root.exists() and any(workspace.root.iterdir()):
        raise WorkspaceError(
            f"the workspace {workspace.root}", "exists already", "Move it away, or name another with --workspace."
        )
    with writing(workspace.root):
        workspace.root.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f".{workspace.root.name}-restore-", dir=workspace.root.parent))
        try:
            report = _unpack(source, place)
            workspace.root.mkdir(mode=FOLDER_MODE, exist_ok=True)
            for part in place.iterdir():
                part.rename(workspace.root / part.name)
        finally:
            _remove(place)
    workspace.create()
    return report


def _unpack(source: Path, place: Path) -> BackupReport:
    report = BackupReport()
    mark: dict[str, Any] = {}
    end: dict[str, Any] = {}
    try:
        with gzip.open(source) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as archive:
            for entry in archive:
                if not mark:
                    mark = _mark(archive, entry, source)
                    continue
                if entry.name == _END:
                    end = _json(archive, entry)
                    continue
                if not entry.isfile() or not entry.name.startswith(
                    ("memory_tree/", "wiki/", "connections/", "config.toml")
                ):
                    raise ConfigurationError(
                        str(source), f"holds {entry.name!r}, which no backup does", "It was not restored."
                    )
                entry.mode = 0o600
                archive.extract(entry, place, filter="data")
                report.files += 1
                report.vectors |= entry.name == "memory_tree/embeddings.db"
            while unpacked.read(1 << 20):  # to the end, where the checksum stands
                pass
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise ConfigurationError(str(source), f"is damaged or no backup ({error})", "Take another one.") from error
    except OSError as error:
        if not source.is_file() or isinstance(error, FileNotFoundError):
            raise ConfigurationError(str(source), f"cannot be read ({error.strerror})") from error
        raise
    if end.get("files") != report.files + 1:  # its own mark was counted too
        raise ConfigurationError(str(source), "is not whole: files are missing", "Take another one.")
    for folder, names, _ in os.walk(place):
        for name in names:
            (Path(folder) / name).chmod(FOLDER_MODE)
    try:
        database = Database.open(place / "memory_tree" / "chunks.db")
        try:
            report.items = len(VaultFiles(database).all_numbers())
            found = VaultFiles(database).integrity()
            if outside := [path for path in VaultFiles(database).paths() if not is_inside(path)]:
                raise ConfigurationError(
                    str(source), f"names a file outside of the vault: {outside[0]!r}", "It was not restored."
                )
        finally:
            database.close()
    except (StoreError, WorkspaceError) as error:
        raise ConfigurationError(
            str(source), f"its database cannot be used ({error.cause})", "Take another one."
        ) from error
    if found != "ok" or report.items != mark["items"]:
        raise ConfigurationError(str(source), f"its database is damaged ({found})", "Take another one.")
    return report


def _mark(archive: tarfile.TarFile, entry: tarfile.TarInfo, source: Path) -> dict[str, Any]:
    found = _json(archive, entry) if entry.name == _MARK else {}
    if found.get("format") != _FORMAT or not isinstance(found.get("items"), int):
        raise ConfigurationError(
            str(source), "is no backup that this Sapwood knows", "Update Sapwood, or take another file."
        )
    return found


def _json(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> dict[str, Any]:
    stream = archive.extractfile(entry) if entry.size < 10_000 else None
    try:
        return dict(json.loads(stream.read())) if stream else {}
    except ValueError:
        return {}


def _remove(place: Path) -> None:
    import shutil

    shutil.rmtree(place, ignore_errors=True)
