"""A batch of files that appears in the vault together with one transaction.

Order: temporary files → sync → rename → sync → COMMIT. A journal names the batch's targets before the first rename,
so that the next start can tell what a killed run left: a file that no row knows is removed, one whose row has the old
state is written again. Where the system has `syncfs`, one call serves the whole batch.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sapwood.clock import now_ms
from sapwood.vault.paths import is_inside
from sapwood.workspace import FILE_MODE, FOLDER_MODE, Workspace, make_folder, write_atomically, writing

_JOURNALS = "journal-"


@functools.cache
def _syncfs() -> Callable[[int], int] | None:
    try:
        function: Any = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None
    return lambda handle: int(function(handle))


@dataclass(slots=True)
class FileBatch:
    """Files to be written to the vault. `stage` may run outside of the transaction, `publish` runs right before COMMIT."""

    workspace: Workspace
    _files: dict[str, bytes] = field(default_factory=dict)
    _staged: list[tuple[str, str]] = field(default_factory=list)
    _journal: Path | None = None
    _folder: Path | None = None
    _seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, path: str, text: str, seen: os.stat_result | None = None) -> None:
        """Put a file into the batch.

        Args:
            path: relative to the vault.
            text: of the file.
            seen: what the file was when it was read; one that is another by the time of `publish` is left as it is.

        Raises:
            ValueError: the path leads out of the vault.
        """
        if not is_inside(path):
            raise ValueError(f"{path!r} leads out of the vault")
        self._files[path] = text.encode("utf-8", "replace")
        if seen is not None:
            self._seen[path] = _mark(seen)

    @property
    def size(self) -> int:
        """Bytes in the batch."""
        return sum(map(len, self._files.values()))

    def stage(self) -> dict[str, tuple[int, int]]:
        """Write the temporary files and the journal, and sync them. Gives `(size, mtime_ns)` by path.

        Raises:
            WorkspaceError: the disk refuses.
        """
        stats: dict[str, tuple[int, int]] = {}
        if not self._files:
            return stats
        token = secrets.token_hex(6)
        self._folder = self.workspace.tmp / f"batch-{token}"
        with writing(self._folder):
            self._folder.mkdir(mode=FOLDER_MODE)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            folder, vault = f"{self._folder}/", f"{self.workspace.vault}/"
            for number, (path, data) in enumerate(self._files.items()):
                temporary = f"{folder}{number}"
                handle = os.open(temporary, flags, FILE_MODE)
                try:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(handle, view) :]
                    if _syncfs() is None:  # else one call at the end serves all of them
                        os.fsync(handle)
                    stat = os.fstat(handle)
                finally:
                    os.close(handle)
                stats[path] = (stat.st_size, stat.st_mtime_ns)
                self._staged.append((temporary, vault + path))
            self._journal = self.workspace.tmp / f"{_JOURNALS}{token}.json"
            half = self._journal.with_suffix(".part")
            half.write_text(json.dumps(list(self._files)), encoding="utf-8")
            half.rename(self._journal)
            _sync([self._journal, self._journal.parent])
        return stats

    def publish(self) -> set[str]:
        """Rename all into place and sync the folders; the paths of files that somebody else changed and that were left.

        Raises:
            WorkspaceError: the disk refuses.
        """
        folders: set[str] = set()
        left: set[str] = set()
        for path, (temporary, target) in zip(self._files, self._staged, strict=True):
            if path in self._seen and not _is_still(target, self._seen[path]):
                left.add(path)
                os.unlink(temporary)
                continue
            folder = target.rpartition("/")[0]
            with writing(Path(target)):
                if folder not in folders:
                    folders.add(folder)
                    make_folder(folder)
                os.rename(temporary, target)
        with writing(self.workspace.vault):
            _sync(folders)
        return left

    def finish(self) -> None:
        """After COMMIT: the journal has done its work."""
        if self._journal:
            self._journal.unlink(missing_ok=True)
        if self._folder:
            self._folder.rmdir()


def _mark(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _is_still(target: str, seen: tuple[int, int, int]) -> bool:
    try:
        return _mark(os.stat(target)) == seen
    except OSError:
        return False


def _sync(paths: Iterable[str | Path]) -> None:
    """Make renames and contents durable: one `syncfs` of the first path's file system, else fsync of each."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            whole = _syncfs()
            if whole is not None and whole(handle) == 0:
                return
            os.fsync(handle)
        finally:
            os.close(handle)


def unfinished(workspace: Workspace) -> list[tuple[Path, list[str]]]:
    """Journals of batches whose run was killed, each with its targets. Only for the holder of the writer lock."""
    found: list[tuple[Path, list[str]]] = []
    for journal in sorted(workspace.tmp.glob(f"{_JOURNALS}*.json")) if workspace.tmp.exists() else ():
        try:
            paths = [str(path) for path in json.loads(journal.read_text(encoding="utf-8"))]
        except (ValueError, TypeError):
            paths = []  # it was renamed into place whole, so this is a disk's doing; doctor finds what is left over
        found.append((journal, paths))
    return found


def keep_changed(workspace: Workspace, name: str, text: str) -> None:
    """Put what somebody had changed in a file that is written anew where it can be found."""
    write_atomically(workspace.root / "trash" / "changed" / f"{now_ms()}-{name}", text)


def append_line(path: Path, line: str) -> None:
    """Append one line and fsync. A half line that a crash left behind is closed first.

    Raises:
        WorkspaceError: the disk refuses.
    """
    with writing(path):
        make_folder(str(path.parent))
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        try:
            size = os.fstat(handle).st_size
            broken = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, (("\n" if broken else "") + line + "\n").encode("utf-8", "replace"))
            os.fsync(handle)
        finally:
            os.close(handle)
