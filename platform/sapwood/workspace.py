"""Where everything of a workspace lies, and who may write to it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sapwood.errors import WorkspaceBusyError, WorkspaceError

ENVIRONMENT_VARIABLE = "SAPWOOD_WORKSPACE"
FOLDER_MODE = 0o700
FILE_MODE = 0o600
_TEMPORARY = re.compile(r"\..+\.(\d+)-[0-9a-f]{8}\.tmp")


@dataclass(frozen=True, slots=True)
class Workspace:
    """Paths below one folder. Nothing is created before `create`."""

    root: Path

    @classmethod
    def locate(cls, given: Path | None = None) -> Workspace:
        """The folder that was asked for, else `$SAPWOOD_WORKSPACE`, else `~/.sapwood`."""
        chosen = given or (Path(named) if (named := os.environ.get(ENVIRONMENT_VARIABLE)) else Path.home() / ".sapwood")
        return cls(chosen.expanduser().absolute())

    @property
    def config_file(self) -> Path:
        """Settings."""
        return self.root / "config.toml"

    @property
    def connections(self) -> Path:
        """One TOML file a connection."""
        return self.root / "connections"

    @property
    def plugins(self) -> Path:
        """What was chosen about plugins, and copies of their wheels."""
        return self.root / "plugins"

    @property
    def memory_tree(self) -> Path:
        """The databases."""
        return self.root / "memory_tree"

    @property
    def database(self) -> Path:
        """chunks.db"""
        return self.memory_tree / "chunks.db"

    @property
    def embeddings(self) -> Path:
        """embeddings.db; derived, may be deleted."""
        return self.memory_tree / "embeddings.db"

    @property
    def owners(self) -> Path:
        """A locked file for each process that does jobs."""
        return self.memory_tree / "owners"

    @property
    def vault(self) -> Path:
        """The Markdown folder that opens in Obsidian."""
        return self.root / "wiki"

    @property
    def logs(self) -> Path:
        """Log files."""
        return self.root / "logs"

    @property
    def tmp(self) -> Path:
        """Files that may be deleted whenever nobody holds the lock."""
        return self.root / "tmp"

    @property
    def exists(self) -> bool:
        """True when a vault or a database is there."""
        return self.database.exists() or self.vault.exists()

    def create(self) -> None:
        """Make the folders, 0700.

        Raises:
            WorkspaceError: the place cannot be written.
        """
        with writing(self.root):
            for folder in (self.root, self.connections, self.memory_tree, self.vault, self.logs, self.tmp):
                folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            if self.root.stat().st_mode & 0o077:
                self.root.chmod(FOLDER_MODE)

    def clear_tmp(self) -> None:
        """Remove what killed runs left behind. Only for the holder of the lock."""
        for left in self.tmp.iterdir() if self.tmp.exists() else ():
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)

    @contextlib.contextmanager
    def writer_lock(self, wait_seconds: float = 15.0, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
        """Be the only process that writes. The kernel frees the lock when its owner dies, however it dies.

        Raises:
            WorkspaceBusyError: another process still holds it after `wait_seconds`.
        """
        self.create()
        path = self.memory_tree / "writer.lock"
        with writing(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            deadline = time.monotonic() + wait_seconds
            told = False
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if on_wait and not told:
                        on_wait()
                        told = True
                    if time.monotonic() >= deadline:
                        owner = os.pread(handle, 64, 0).decode("ascii", "replace").strip()
                        raise WorkspaceBusyError(
                            f"the workspace {self.root}",
                            f"another sync is running (process {owner or 'unknown'})",
                            "Wait for it, or stop it, and try again.",
                        ) from None
                    time.sleep(0.05)
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(handle)


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn the operating system's refusals into errors that say what to do.

    Raises:
        WorkspaceError: no space, read-only, no permission, or another failure of the disk.
    """
    try:
        yield
    except OSError as error:
        steps = {
            errno.ENOSPC: (
                "there is no space left on its disk",
                "Free some space and run the command again; what was stored is whole.",
            ),
            errno.EDQUOT: (
                "the disk quota is used up",
                "Free some space and run the command again; what was stored is whole.",
            ),
            errno.EROFS: ("it is on a read-only disk", "Choose another place with --workspace."),
            errno.EACCES: (
                "this user may not write there",
                "Change its permissions, or choose another place with --workspace.",
            ),
            errno.EPERM: (
                "this user may not write there",
                "Change its permissions, or choose another place with --workspace.",
            ),
            errno.ENOTDIR: ("a file stands where a folder is needed", "Choose another place with --workspace."),
            errno.EEXIST: ("a file stands where a folder is needed", "Choose another place with --workspace."),
        }
        cause, step = steps.get(
            error.errno or 0, (error.strerror or str(error), "Check the disk, then run the command again.")
        )
        raise WorkspaceError(f"cannot write {error.filename or target}", cause, step) from error


def make_folder(folder: str) -> None:
    """Make a folder and, when that fails, its parents first: each 0700, which `makedirs` gives to the last one alone."""
    try:
        os.mkdir(folder, FOLDER_MODE)
    except FileExistsError:
        pass
    except FileNotFoundError:
        make_folder(folder.rpartition("/")[0])
        make_folder(folder)


def write_atomically(path: Path, text: str) -> None:
    """One file outside of any batch: temporary file beside it, fsync, rename.

    Raises:
        WorkspaceError: the disk refuses.
    """
    with writing(path):
        make_folder(str(path.parent))
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode("utf-8", "replace"))
                stream.flush()
                os.fsync(stream.fileno())
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def abandoned(workspace: Workspace) -> list[Path]:
    """Temporary files of `write_atomically` whose process was killed. They hold what was to be written."""
    return [
        file
        for folder in (
            workspace.vault,
            workspace.root / "trash",
            workspace.connections,
            workspace.plugins,
            workspace.memory_tree,
        )
        for file in sorted(folder.rglob(".*.tmp"))
        if (match := _TEMPORARY.fullmatch(file.name)) and not _lives(int(match[1]))
    ]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True
