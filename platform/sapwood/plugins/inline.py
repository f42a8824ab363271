"""A connector in this very process, for its author's debugger: nothing guards the host against it, and `breakpoint()` works."""

from __future__ import annotations

import json
import logging
import tempfile
import threading
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from sapwood.clock import zone
from sapwood.errors import ConfigurationError
from sapwood.plugins.context import ChildContext
from sapwood.plugins.converting import ConverterPool
from sapwood.plugins.forms import validated
from sapwood.plugins.installed import list_plugins, plugins_fingerprint
from sapwood.plugins.loader import connector_spec
from sapwood.plugins.network import HostGuard
from sapwood.plugins.process import ConnectorProcess, HostServices, KvSet, RunSettings
from sapwood.plugins.pulling import pulled, received
from sapwood.sdk.connector import CheckReport, ConnectorSpec, KnownItem, PullRequest
from sapwood.sdk.errors import ConfigError
from sapwood.sdk.events import Event

__all__ = ["InlineConnector", "open_connector"]

log = logging.getLogger(__name__)


class _Straight:
    """What stands in place of the two pipes: questions are answered at once. See `plugins.context.Link`."""

    def __init__(self, services: HostServices) -> None:
        self._services = services
        self.cancelled = threading.Event()
        self.values: list[KvSet] = []

    def send(self, message: dict[str, Any]) -> None:
        if "kv" in message:
            self.values.append(KvSet(message["kv"], message["value"]))
        elif "log" in message:
            log.log(getattr(logging, message["log"][0], logging.INFO), "%s", message["log"][1])

    def ask_for_rows(self, after: int) -> tuple[int | None, list[KnownItem]]:
        rows, position = self._services.known_page(after)
        return position, [KnownItem(*row) for row in json.loads(rows)]

    def ask(self, what: str, **arguments: Any) -> Any:
        try:
            match what:
                case "known_item":
                    return self._services.known_item(arguments["item_id"])
                case "kv_get":
                    return self._services.kv_get(arguments["key"])
                case _:
                    return self._services.secret(arguments["reference"])
        except ConfigurationError as error:
            raise ConfigError(str(error)) from error


class InlineConnector:
    """Has the methods of `ConnectorProcess`. Whatever the connector raises comes out as it was raised."""

    def __init__(self, key: str, config: dict[str, Any], account: str, settings: RunSettings) -> None:
        self._key = key
        self._config = config
        self._account = account
        self._settings = settings
        self._pool = ConverterPool(1, settings.memory_bytes, zone(settings.timezone), settings.left_out)
        self._link: _Straight | None = None
        self._tmp = tempfile.TemporaryDirectory(dir=settings.tmp, prefix="run-")
        self.cancelled_early = False

    def __enter__(self) -> InlineConnector:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()
        self._tmp.cleanup()

    def plugins(self, meanwhile: Iterable[None] = ()) -> str:
        """See `ConnectorProcess.plugins`."""
        for _ in meanwhile:
            pass
        return plugins_fingerprint(list_plugins())

    def check(self, services: HostServices) -> CheckReport:
        """See `ConnectorProcess.check`."""
        spec, config = self._spec()
        return spec.factory(config).check(self._context(spec, config, services))

    def pull(
        self, request: PullRequest, services: HostServices, meanwhile: Iterable[None] = ()
    ) -> Iterator[Event | KvSet]:
        """See `ConnectorProcess.pull`; the connector works as its events are taken."""
        spec, config = self._spec()
        context = self._context(spec, config, services)
        link = self._link
        assert link is not None
        for event in pulled(spec, spec.factory(config), context, request):
            values, link.values = link.values, []
            yield from chain(values, [received(event)])
        self.cancelled_early = link.cancelled.is_set()
        yield from link.values

    def cancel(self) -> None:
        """See `ConnectorProcess.cancel`."""
        if self._link is not None:
            self._link.cancelled.set()

    def _spec(self) -> tuple[ConnectorSpec, Any]:
        spec = connector_spec(self._key)
        return spec, validated(spec, self._config)

    def _context(self, spec: ConnectorSpec, config: Any, services: HostServices) -> ChildContext:
        self._link = _Straight(services)
        return ChildContext(
            self._link, account=self._account, zone=zone(self._settings.timezone), tmp=Path(self._tmp.name),
            guard=HostGuard(spec.hosts(config)), pool=self._pool,
        )  # fmt: skip


def open_connector(
    key: str, config: dict[str, Any], account: str, settings: RunSettings
) -> ConnectorProcess | InlineConnector:
    """A connector in a process of its own, or in this one where the settings say so."""
    made = InlineConnector if settings.inline else ConnectorProcess
    return made(key, config, account, settings)
