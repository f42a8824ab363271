"""Listing a folder: every entry once, with a reason for each that is not read.

Links are not followed: what they point to is read where it lies. A folder or file that can be reached twice (bind
mounts, hard links) is taken the first time, by device and inode.
"""

from __future__ import annotations

import fnmatch
import hashlib
import operator
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_SKIPPED_FOLDERS = {
    ".git": "version control data", ".svn": "version control data", ".hg": "version control data", ".bzr": "version control data",
    "cvs": "version control data", "_darcs": "version control data",
    "node_modules": "installed packages", "bower_components": "installed packages", "site-packages": "installed packages",
    "__pycache__": "program cache", ".venv": "installed packages", "venv": "installed packages", ".tox": "program cache",
    ".mypy_cache": "program cache", ".pytest_cache": "program cache", ".ruff_cache": "program cache", ".cache": "program cache",
    "__macosx": "system data", "$recycle.bin": "deleted files", "system volume information": "system data", "lost+found": "system data",
}  # fmt: skip
_ODD_NAME = re.compile(
    r"(?P<cloud>^\..*\.icloud$|\.(?:gdoc|gsheet|gslides|gform|gdraw|gmap|gsite|gtable|icloud)$)"
    r"|(?P<system>^(?:\.ds_store|(?:eh)?thumbs\.db|desktop\.ini|icon\r)$)"
    r"|(?P<lock>^\.~lock\.|\.(?:lck|lock)$)"
    r"|(?P<temporary>^(?:~\$|\.#|#.*\#$)|\.(?:tmp|temp|part|partial|crdownload|download|sw[op])$|~$)"
    r"|(?P<hidden>^\.)",
    re.IGNORECASE | re.DOTALL,
)
_NAME = operator.attrgetter("name")
# Asked of every name before the pattern, which costs more than the rest of a file's listing.
_ODD_EXTENSIONS = frozenset(
    ["icloud", "gdoc", "gsheet", "gslides", "gform", "gdraw", "gmap", "gsite", "gtable", "db", "ini", "lck", "lock", "tmp", "temp", "part", "partial", "crdownload", "download", "swo", "swp"]
)  # fmt: skip


def _may_be_odd(name: str) -> bool:
    return name[0] in ".~#" or name[-1] in "~\r" or name.rpartition(".")[2].lower() in _ODD_EXTENSIONS


_ODD_REASON = {
    "cloud": "in the cloud only; it is not downloaded",
    "system": "a file of the operating system",
    "lock": "a lock file",
    "temporary": "a temporary file",
    "hidden": "a hidden file",
}


class Entry(NamedTuple):
    """A file below the root: `path` relative with `/`, `size` in bytes, `skip` why it is not read (empty: it is);
    `excluded` when the user's settings say so."""

    path: str
    size: int
    mtime_ns: int
    skip: str = ""
    excluded: bool = False


@dataclass(slots=True)
class Walk:
    """One listing. `unlisted` holds the folders that could not be read: the listing is then not whole."""

    root: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_size: int = 2 * 1024**3
    unlisted: list[tuple[str, str]] = field(default_factory=list)

    def entries(self) -> Iterator[Entry]:
        """All entries in the order of their paths, folder by folder."""
        root = os.stat(self.root)
        seen_folders = {(root.st_dev, root.st_ino)}
        seen_files: dict[tuple[int, int], str] = {}
        stack = [""]
        while stack:
            folder = stack.pop()
            try:
                # Its entries are then looked at relative to the open folder, which saves the way from the top for each.
                handle = os.open(os.path.join(self.root, folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError as error:
                self.unlisted.append((display_path(folder) or ".", error.strerror or str(error)))
                continue
            try:
                with os.scandir(handle) as listing:
                    found = sorted(listing, key=_NAME)
                inner: list[str] = []
                before = f"{folder}/" if folder else ""
                for entry in found:
                    path = before + entry.name
                    try:
                        if entry.is_file(follow_symlinks=False):
                            yield self._file(entry, path, seen_files)
                        elif entry.is_symlink():
                            yield self._link(entry, path)
                        elif entry.is_dir(follow_symlinks=False):
                            if reason := self._folder(entry, path, seen_folders):
                                yield Entry(path, 0, 0, reason)
                            else:
                                inner.append(path)
                        else:
                            yield Entry(path, 0, 0, "not a regular file")
                    except FileNotFoundError:
                        continue  # gone between listing and looking: the same as never there
                    except OSError as error:
                        yield Entry(path, 0, 0, f"cannot be looked at ({error.strerror or error})")
                stack += reversed(inner)
            except OSError as error:
                self.unlisted.append((display_path(folder) or ".", error.strerror or str(error)))
            finally:
                os.close(handle)

    def _link(self, entry: os.DirEntry[str], path: str) -> Entry:
        try:
            target = entry.stat()
        except OSError as error:
            loop = error.errno == 40
            return Entry(
                path, 0, 0, "a link that leads back to itself" if loop else "a link to something that is not there"
            )
        kind = "folder" if stat.S_ISDIR(target.st_mode) else "file"
        return Entry(path, 0, 0, f"a link to a {kind}; the {kind} is read where it lies")

    def _folder(self, entry: os.DirEntry[str], path: str, seen: set[tuple[int, int]]) -> str:
        """Why a folder is not read; empty when it is."""
        if reason := self._folder_reason(entry.name, path):
            return reason
        info = entry.stat(follow_symlinks=False)
        key = (info.st_dev, info.st_ino)
        if key in seen:
            return "a folder that was already read at another place"
        seen.add(key)
        return ""

    def _folder_reason(self, name: str, path: str) -> str:
        lowered = name.lower()
        if lowered in _SKIPPED_FOLDERS:
            return _SKIPPED_FOLDERS[lowered]
        if name.startswith("."):
            return "a hidden folder"
        if os.path.exists(os.path.join(self.root, path, "memory_tree", "chunks.db")):
            return "a workspace of Sapwood"
        return _EXCLUDED if self.exclude and any(_matches(path, pattern) for pattern in self.exclude) else ""

    def _file(self, entry: os.DirEntry[str], path: str, seen: dict[tuple[int, int], str]) -> Entry:
        info = entry.stat(follow_symlinks=False)
        size = info.st_size
        if _may_be_odd(entry.name) and (odd := _ODD_NAME.search(entry.name)):
            return Entry(path, size, info.st_mtime_ns, _ODD_REASON[odd.lastgroup or ""])
        if (self.include or self.exclude) and (skip := self._excluded(path)):
            return Entry(path, size, info.st_mtime_ns, skip, True)
        skip = ""
        if size == 0 or size > 65_536:
            skip = self._size_reason(info)
        if not skip and info.st_nlink > 1:
            first = seen.setdefault((info.st_dev, info.st_ino), path)
            skip = f"the same file as {display_path(first)}" if first != path else ""
        return Entry(path, size, info.st_mtime_ns, skip)

    def _excluded(self, path: str) -> str:
        if self.include and not any(_matches(path, pattern) for pattern in self.include):
            return "not among the files that your settings include"
        return _EXCLUDED if any(_matches(path, pattern) for pattern in self.exclude) else ""

    def _size_reason(self, info: os.stat_result) -> str:
        size = info.st_size
        if size == 0:
            return "empty"
        if size > self.max_size:
            return f"{size / 1e6:,.0f} MB, over the limit of {self.max_size / 1e6:,.0f} MB"
        if info.st_blocks == 0:
            return _ODD_REASON["cloud"]
        return ""


_EXCLUDED = "excluded by your settings"


def _matches(path: str, pattern: str) -> bool:
    """A pattern without `/` is matched against the name, one with `/` against the whole path; `**` spans folders."""
    pattern = pattern.rstrip("/")
    name = path.rpartition("/")[2]
    target = path if "/" in pattern else name
    return fnmatch.fnmatchcase(target, pattern) or fnmatch.fnmatchcase(path, f"{pattern}/*")


_UNSHOWABLE = re.compile("[\\x00-\\x1f\\x7f\\x85\\u2028\\u2029\\ud800-\\udfff]")
_MAX_PATH = 2000


def _percent(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    return f"%{code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code:02X}"


def display_path(path: str) -> str:
    """A path that can be stored and printed: control characters, line breaks and bytes that are no UTF-8 are shown as `%XX`;
    one of over 2,000 characters is cut and keeps a hash of the whole."""
    if path.isascii() and path.isprintable() and len(path) <= _MAX_PATH:
        return path
    shown = _UNSHOWABLE.sub(_percent, path)
    if len(shown) > _MAX_PATH:
        digest = hashlib.sha256(shown.encode("utf-8")).hexdigest()[:16]
        shown = f"{shown[: _MAX_PATH - 17]}~{digest}"
    return shown
