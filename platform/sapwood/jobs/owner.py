"""Who holds leases: a process with a file that it keeps locked for as long as it lives.

The kernel frees the lock however the process ends, so that others see at once that its leases are nobody's.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from types import TracebackType

from sapwood.workspace import FILE_MODE, FOLDER_MODE, writing

__all__ = ["Owner", "is_dead", "living"]


class Owner:
    """This process as a holder of leases. Use as a context manager.

    Args:
        folder: where the owners' files lie.

    Raises:
        WorkspaceError: the file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.worker_id = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._file = folder / self.worker_id
        with writing(self._file):
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
            self._handle = os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __enter__(self) -> Owner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.unlink(missing_ok=True)
        os.close(self._handle)


def living(folder: Path) -> list[str]:
    """The owners whose processes live."""
    names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    return [name for name in names if not is_dead(folder, name)]


def is_dead(folder: Path, worker_id: str) -> bool:
    """True when the process of this owner has ended; its file is then removed."""
    file = folder / worker_id
    try:
        handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # cannot be told; its leases run out by themselves
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        file.unlink(missing_ok=True)
        return True
    finally:
        os.close(handle)
