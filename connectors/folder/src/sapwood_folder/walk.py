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
_SURELY_HERE = 65_536  # bytes; a larger file may be a placeholder of a cloud, which has no blocks
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
    """An entry below the root that is not simply read: `path` relative with `/`, `size` in bytes, `skip` why it is not read
    (empty: it is); `excluded` when the user's settings say so."""

    path: str
    size: int
    mtime_ns: int
    skip: str = ""
    excluded: bool = False


@dataclass(slots=True)
class Walk:
    """One listing.

    Attributes:
        files: path, size in bytes and time in nanoseconds of each file that is to be read, folder by folder in the order
            of their names. Plain tuples: there may be a million of them.
        skipped: every other entry, with its reason.
        unlisted: folders that could not be read: the listing is then not whole.
    """

    root: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_size: int = 2 * 1024**3
    files: list[tuple[str, int, int]] = field(default_factory=list)
    skipped: list[Entry] = field(default_factory=list)
    unlisted: list[tuple[str, str]] = field(default_factory=list)
    _folders: set[tuple[int, int]] = field(default_factory=set)
    _linked: dict[tuple[int, int], str] = field(default_factory=dict)

    def run(self) -> None:
        """List the root and everything below it.

        Raises:
            OSError: the root cannot be looked at.
        """
        root = os.stat(self.root)
        self._folders.add((root.st_dev, root.st_ino))
        stack = [""]
        while stack:
            folder = stack.pop()
            try:
                # Its entries are looked at relative to the open folder, which saves the way from the top for each.
                handle = os.open(os.path.join(self.root, folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    stack += reversed(self._list(handle, f"{folder}/" if folder else ""))
                finally:
                    os.close(handle)
            except OSError as error:
                self.unlisted.append((display_path(folder) or ".", error.strerror or str(error)))

    def take(self, path: str) -> None:
        """List this one file, wherever it lies below the root."""
        try:
            info = os.stat(os.path.join(self.root, path))
        except OSError as error:
            self.skipped.append(Entry(path, 0, 0, f"cannot be read ({error.strerror})"))
            return
        if info.st_size:
            self.files.append((path, info.st_size, info.st_mtime_ns))
        else:
            self.skipped.append(Entry(path, 0, info.st_mtime_ns, "empty"))

    def _list(self, handle: int, before: str) -> list[str]:
        """List one folder, whose entries' paths begin with `before`; the folders in it that are to be listed."""
        with os.scandir(handle) as listing:
            found = sorted(listing, key=_NAME)
        add = self.files.append
        filtered = bool(self.include or self.exclude)
        inner: list[str] = []
        for entry in found:
            name = entry.name
            path = before + name
            try:
                if entry.is_file(follow_symlinks=False):
                    info = entry.stat(follow_symlinks=False)
                    size = info.st_size
                    if filtered or not 0 < size <= _SURELY_HERE or info.st_nlink > 1 or _may_be_odd(name):
                        self._look_closer(name, path, info)
                    else:  # nearly every file of nearly every folder
                        add((path, size, info.st_mtime_ns))
                elif entry.is_symlink():
                    self.skipped.append(self._link(entry, path))
                elif entry.is_dir(follow_symlinks=False):
                    if reason := self._folder(entry, path):
                        self.skipped.append(Entry(path, 0, 0, reason))
                    else:
                        inner.append(path)
                else:
                    self.skipped.append(Entry(path, 0, 0, "not a regular file"))
            except FileNotFoundError:
                continue  # gone between listing and looking: the same as never there
            except OSError as error:
                self.skipped.append(Entry(path, 0, 0, f"cannot be looked at ({error.strerror or error})"))
        return inner

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

    def _folder(self, entry: os.DirEntry[str], path: str) -> str:
        """Why a folder is not read; empty when it is."""
        if reason := self._folder_reason(entry.name, path):
            return reason
        info = entry.stat(follow_symlinks=False)
        key = (info.st_dev, info.st_ino)
        if key in self._folders:
            return "a folder that was already read at another place"
        self._folders.add(key)
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

    def _look_closer(self, name: str, path: str, info: os.stat_result) -> None:
        size, excluded = info.st_size, False
        if odd := _ODD_NAME.search(name):
            reason = _ODD_REASON[odd.lastgroup or ""]
        elif skip := self._excluded(path):
            reason, excluded = skip, True
        else:
            reason = self._size_reason(info)
            if not reason and info.st_nlink > 1:
                first = self._linked.setdefault((info.st_dev, info.st_ino), path)
                reason = f"the same file as {display_path(first)}" if first != path else ""
        if reason:
            self.skipped.append(Entry(path, size, info.st_mtime_ns, reason, excluded))
        else:
            self.files.append((path, size, info.st_mtime_ns))

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
