"""A run's context in this process: what a connector is given by the host, with a clock and a stop that a test holds."""

from __future__ import annotations

import atexit
import functools
import logging
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.plugins.converting import ConverterPool
from sapwood.plugins.network import HostGuard
from sapwood.sdk import Cancelled, Converted, ConvertError, ConvertFile, KnownItem
from sapwood.sdk.connector import Budget, KeyValues, Known, Secrets

if TYPE_CHECKING:
    import httpx

__all__ = ["Endless", "TestContext"]


_MOST_REQUESTS = 2_000


class Endless(Exception):
    """The run does not end."""


class _Known:
    def __init__(self, items: Iterable[KnownItem]) -> None:
        self._items = {item.item_id: item for item in items}

    def all(self) -> Iterable[KnownItem]:
        return list(self._items.values())

    def get(self, item_id: str) -> KnownItem | None:
        return self._items.get(item_id)


class _KeyValues:
    def __init__(self, committed: dict[str, Any]) -> None:
        self._committed = committed
        self.changed: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        return self._committed.get(key)

    def set(self, key: str, value: Any) -> None:
        self.changed[key] = value


class _Secrets:
    def get(self, reference: str) -> str:
        from sapwood.credentials import resolve

        return resolve(reference)


class _Budget:
    def __init__(self) -> None:
        self.spent = 0

    def spend(self, requests: int = 1) -> None:
        self.spent += requests
        if self.spent > _MOST_REQUESTS:
            raise Endless(f"the run does not end: it has made {self.spent} requests")


class TestContext:
    """See `sapwood.sdk.RunContext`. `stop` is what a host does that wants the run to end."""

    __test__ = False  # pytest would take it for tests

    def __init__(
        self, *, account: str, hosts: tuple[str, ...], tmp: Path, known: Iterable[KnownItem] = (), kv: dict[str, Any] | None = None, zone: tzinfo = UTC
    ) -> None:  # fmt: skip
        self.account = account
        self.zone = zone
        self.tmp = tmp
        self.known: Known = _Known(known)
        self._kv, self._budget = _KeyValues(kv or {}), _Budget()
        self.kv: KeyValues = self._kv
        self.secrets: Secrets = _Secrets()
        self.budget: Budget = self._budget
        self.log = logging.getLogger("sapwood.connector")
        self._guard = HostGuard(hosts)
        self._http: httpx.Client | None = None
        self._stopped = False

    @property
    def http(self) -> httpx.Client:
        """The client of a real run; its waits are cut to a hundredth of a second."""
        if self._http is None:
            from sapwood.plugins.web import make_client

            self._http = make_client(
                self._guard, spend=self.budget.spend, sleep=lambda seconds: self.sleep(min(seconds, 0.01))
            )
        return self._http

    @property
    def changed_values(self) -> dict[str, Any]:
        """What the connector has put into `kv`."""
        return self._kv.changed

    @property
    def spent(self) -> int:
        """Requests."""
        return self._budget.spent

    def clock(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait, and raise Cancelled when the run is to stop."""
        deadline = time.monotonic() + seconds
        while not self._stopped and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))
        if self._stopped:
            raise Cancelled

    def cancelled(self) -> bool:
        """True once `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """Ask the connector to stop."""
        self._stopped = True

    def convert(self, file: ConvertFile) -> Converted:
        """Read one file in a worker."""
        return _converters(self.zone).read(file)

    def convert_all(
        self, files: Iterable[ConvertFile]
    ) -> Iterator[tuple[ConvertFile, Converted | ConvertError | None]]:
        """Read many files in workers, in order."""
        return _converters(self.zone).convert_all(files, self.cancelled)

    def close(self) -> None:
        """End connections."""
        if self._http is not None:
            self._http.close()


@functools.cache
def _converters(zone: tzinfo) -> ConverterPool:
    """Workers that read files, for all runs of this process: to start them takes longer than most of the runs."""
    pool = ConverterPool(1, 1 << 30, zone)
    atexit.register(pool.close)
    return pool
