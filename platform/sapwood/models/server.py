"""The embedder's process: one for a workspace, started on demand, gone after it has had nothing to do for a while.

It outlives the command that started it, so that the next one finds the model loaded. It listens on a socket in the
workspace, which only its user can open. A file lock says that it lives; whoever comes second leaves.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import sys
import threading
import time
from pathlib import Path

from sapwood.models.wire import LOCK_NAME, SOCKET_NAME, Answer, Request, receive, send

# Texts that are encoded before an urgent request may go first: eight are a little faster than one by one, and take a tenth
# of a second, which is for the first search only to wait.
_SLICE, _SLICE_WHILE_ASKED = 8, 1
_ASKED_SECONDS = 10.0
_LOOK_SECONDS = 5.0
_MEMORY_BYTES = 2 << 30


class _Models:
    """Loads models, and encodes with one at a time; urgent requests go first."""

    def __init__(self) -> None:
        self._loaded: dict[str, object] = {}
        self._turn = threading.Condition()
        self._busy = False
        self._urgent = 0
        self._asked = -_ASKED_SECONDS
        self.last_used = time.monotonic()

    def answer(self, request: Request) -> Answer:
        parts: list[bytes] = []
        dims = 0
        try:
            at = 0
            while at < len(request.texts):
                size = _SLICE_WHILE_ASKED if time.monotonic() - self._asked < _ASKED_SECONDS else _SLICE
                vectors = self._encode(request.model, request.texts[at : at + size], urgent=request.urgent)
                dims = int(vectors.shape[1])
                parts.append(vectors.astype("<f4", copy=False).tobytes())
                at += size
        except ImportError as error:
            return Answer(error=f"cannot be loaded ({error})")
        except MemoryError:
            return Answer(error="needs more memory than it may use")
        except Exception as error:
            return Answer(error=f"failed ({type(error).__name__}: {error})"[:500])
        return Answer(b"".join(parts), dims)

    def _encode(self, model: str, texts: list[str], *, urgent: bool):  # type: ignore[no-untyped-def]
        with self._turn:
            self._urgent += urgent
            if urgent:
                self._asked = time.monotonic()
            self._turn.wait_for(lambda: not self._busy and (urgent or not self._urgent))
            self._urgent -= urgent
            self._busy = True
        try:
            encode = self._loaded.get(model)
            if encode is None:
                from sapwood.models.local_models import LOADERS

                encode = self._loaded[model] = LOADERS[model]()
            return encode(texts)  # type: ignore[operator]
        finally:
            with self._turn:
                self._busy = False
                self.last_used = time.monotonic()
                self._turn.notify_all()

    def is_idle(self, seconds: float) -> bool:
        with self._turn:
            return not self._busy and time.monotonic() - self.last_used > seconds


def _serve(connection: socket.socket, models: _Models) -> None:
    with connection:
        try:
            while (request := receive(connection, Request)) is not None:
                send(connection, models.answer(request))
        except (OSError, ValueError):
            pass  # the other side is gone; its next connection starts afresh


def _is_ours(inode: int) -> bool:
    try:
        return os.stat(SOCKET_NAME).st_ino == inode
    except OSError:
        return False  # the workspace was removed or rebuilt


def serve(folder: Path, idle_seconds: float) -> None:
    """Answer requests until nobody has asked for `idle_seconds`."""
    os.chdir(folder)  # a socket's path is short, whatever the folder's is
    lock = os.open(LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    Path(SOCKET_NAME).unlink(missing_ok=True)
    models = _Models()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        before = os.umask(0o177)
        listener.bind(SOCKET_NAME)
        os.umask(before)
        inode = os.stat(SOCKET_NAME).st_ino
        listener.listen(64)
        listener.settimeout(_LOOK_SECONDS)
        while not models.is_idle(idle_seconds) and _is_ours(inode):
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            connection.setblocking(True)
            threading.Thread(target=_serve, args=(connection, models), daemon=True).start()
        if _is_ours(inode):
            Path(SOCKET_NAME).unlink(missing_ok=True)


def _limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(
        resource.RLIMIT_AS, (_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(_MEMORY_BYTES, hard), hard)
    )
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: what people ask is in no core file


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    _limit()
    serve(Path(sys.argv[1]), float(sys.argv[2]))
    os._exit(0)  # threads that wait for a next request end with the process
