"""The `RunContext` inside the connector's process: asks the parent for what only the parent has."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from msgspec.json import Decoder

from sapwood.plugins.converting import ConverterPool
from sapwood.plugins.network import HostGuard
from sapwood.plugins.protocol import read_line, read_message, write_message
from sapwood.sdk.connector import Budget, KeyValues, Known, KnownItem, Secrets
from sapwood.sdk.convert import Converted, ConvertError, ConvertFile
from sapwood.sdk.errors import Cancelled, ConfigError

if TYPE_CHECKING:
    import httpx

__all__ = ["ChildContext", "Link"]

_ROWS = Decoder(list[KnownItem])


_HEARTBEAT = 30.0  # seconds between two signs of life


class HostLink(Protocol):
    """How a connector's context reaches its host."""

    cancelled: threading.Event

    def send(self, message: dict[str, Any]) -> None:
        """Tell it something."""

    def ask(self, what: str, **arguments: Any) -> Any:
        """Ask it something."""

    def ask_for_rows(self, after: int) -> tuple[int | None, list[KnownItem]]:
        """The next position and the known items after one."""


class Link:
    """The child's end of the two pipes. One reader thread; any thread may write."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._lock = threading.Lock()
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._rows: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._numbers = count(1)
        self.cancelled = threading.Event()

    def start(self) -> dict[str, Any]:
        """The start message; afterwards answers and cancellation are read in the background."""
        first = read_message(self._incoming)
        if first is None or "start" not in first:
            raise SystemExit(2)
        threading.Thread(target=self._read, daemon=True, name="link").start()
        return dict(first["start"])

    def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        with self._lock:
            write_message(self._outgoing, message)

    def ask_for_rows(self, after: int) -> tuple[int | None, list[KnownItem]]:
        """The next position and the known items after one."""
        position = self.ask("known", after=after)
        return position, _ROWS.decode(self._rows.get())

    def ask(self, what: str, **arguments: Any) -> Any:
        """Ask the parent and wait for its answer."""
        number = next(self._numbers)
        self.send({"ask": what, "id": number, **arguments})
        answer = self._answers.get()
        if "error" in answer:
            raise ConfigError(answer["error"])
        return answer["value"]

    def _read(self) -> None:
        while (message := read_message(self._incoming)) is not None:
            if message.get("cancel"):
                self.cancelled.set()
            elif "answer" in message:
                self._answers.put(message)
                if message.get("rows"):
                    self._rows.put(read_line(self._incoming) or b"[]")
        self.cancelled.set()  # the parent is gone
        self._answers.put({"error": "the host has gone away"})


class _ParentKnown:
    def __init__(self, link: HostLink) -> None:
        self._link = link

    def all(self) -> Iterable[KnownItem]:
        after: int | None = 0
        while after is not None:
            after, rows = self._link.ask_for_rows(after)
            yield from rows

    def get(self, item_id: str) -> KnownItem | None:
        row = self._link.ask("known_item", item_id=item_id)
        return KnownItem(*row) if row else None


class _KeyValues:
    def __init__(self, link: HostLink) -> None:
        self._link = link

    def get(self, key: str) -> Any:
        return self._link.ask("kv_get", key=key)

    def set(self, key: str, value: Any) -> None:
        self._link.send({"kv": key, "value": value})


class _Secrets:
    def __init__(self, link: HostLink) -> None:
        self._link = link

    def get(self, reference: str) -> str:
        return str(self._link.ask("secret", reference=reference))


class _Budget:
    def __init__(self, link: HostLink) -> None:
        self._link = link

    def spend(self, requests: int = 1) -> None:
        self._link.send({"spent": requests})


class _LinkHandler(logging.Handler):
    def __init__(self, link: HostLink) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        self._link.send({"log": [record.levelname, self.format(record)[:10_000]]})


class ChildContext:
    """See `sapwood.sdk.connector.RunContext`."""

    def __init__(
        self, link: HostLink, *, account: str, zone: tzinfo, tmp: Path, guard: HostGuard, pool: ConverterPool
    ) -> None:
        self._link = link
        self._pool = pool
        self._guard = guard
        self._http: httpx.Client | None = None
        self._reading = 0  # files and runs of files that are being read
        self._beats = False
        self.account = account
        self.zone = zone
        self.tmp = tmp
        self.known: Known = _ParentKnown(link)
        self.kv: KeyValues = _KeyValues(link)
        self.secrets: Secrets = _Secrets(link)
        self.budget: Budget = _Budget(link)
        self.log = logging.getLogger("sapwood.connector")
        self.log.setLevel(logging.INFO)
        self.log.handlers = [_LinkHandler(link)]
        self.log.propagate = False

    @property
    def http(self) -> httpx.Client:
        """See `plugins.web.make_client`."""
        if self._http is None:
            from sapwood.plugins.web import make_client

            self._http = make_client(self._guard, spend=self.budget.spend, sleep=self.sleep)
        return self._http

    def clock(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait on a monotonic clock; raises Cancelled at once when the host asks to stop."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._link.cancelled.wait(min(left, 1.0)):
                raise Cancelled
        if self.cancelled():
            raise Cancelled

    def cancelled(self) -> bool:
        """True once the host asked to stop."""
        return self._link.cancelled.is_set()

    def convert(self, file: ConvertFile) -> Converted:
        """Read one file in a worker."""
        with self._heard():
            return self._pool.read(file)

    def convert_all(
        self, files: Iterable[ConvertFile]
    ) -> Iterator[tuple[ConvertFile, Converted | ConvertError | None]]:
        """Read many files in workers, results in order."""
        with self._heard():
            yield from self._pool.convert_all(files, self.cancelled)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """While files are read, which may take long, the host hears that somebody is alive."""
        if not self._beats:
            self._beats = True
            threading.Thread(target=self._beat, daemon=True, name="heartbeat").start()
        self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1

    def _beat(self) -> None:
        while True:
            time.sleep(_HEARTBEAT)
            if self._reading:
                self._link.send({"alive": True})
