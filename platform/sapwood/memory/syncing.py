"""Connecting accounts and fetching what is new of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sapwood.errors import PluginError
from sapwood.memory.base import OpenWorkspace

if TYPE_CHECKING:
    from sapwood.plugins.forms import Field
    from sapwood.sync.connections import Connection
    from sapwood.sync.run import Observer, Run, RunReport

__all__ = ["Syncing"]


class Syncing(OpenWorkspace):
    """The part of `Memory` that fetches."""

    def connect(
        self,
        key: str,
        given: list[str],
        *,
        name: str = "",
        ask: Callable[[Field], str] | None = None,
        inline: bool = False,
    ) -> Connection:
        """Check an account and keep its connection; see `bulk.syncing.connect`.

        Args:
            key: of the connector.
            given: `field=value` texts of its configuration.
            name: by which the connection is called.
            ask: gives the text of each required field that is not given, where somebody can be asked.
            inline: the connector runs in this process, for a debugger.

        Raises:
            NotFoundError, PluginError, ConfigurationError, ConnectorError: it cannot be, and why.
        """
        from sapwood.bulk.syncing import connect
        from sapwood.memory.plugins import Plugins

        self.workspace.create()
        values = Plugins(self.workspace).configuration(key, given, ask)
        return connect(self.workspace, self.settings, key, values, name, inline=inline)

    def sync(
        self,
        names: list[str],
        *,
        confirm_deletes: bool = False,
        inline: bool = False,
        observer: Observer | None = None,
        started: Callable[[Run], None] = lambda run: None,
        stopped: Callable[[], bool] = lambda: False,
        on_wait: Callable[[], None] | None = None,
    ) -> Iterator[RunReport]:
        """Fetch what is new of these connections, or of all; one that fails holds up no other.

        Raises:
            NotFoundError: nothing is called so; WorkspaceError: the workspace cannot be written.
        """
        from sapwood.bulk.syncing import chosen, run_connection
        from sapwood.ingest.edits import recover
        from sapwood.sync.run import RunReport
        from sapwood.text.redact import Redaction

        connections = chosen(self.workspace, names)
        with self.workspace.writer_lock(self.settings.lock_wait_seconds, on_wait):
            recover(self.workspace, self.database)
            for connection in connections:
                if stopped():
                    break
                try:
                    yield run_connection(
                        self.workspace, self.database, self.settings, self.zone, connection, confirm_deletes=confirm_deletes, inline=inline, observer=observer, started=started
                    )  # fmt: skip
                except PluginError as error:
                    yield RunReport(connection, 0, "failed", Redaction().message(str(error)))
            self.workspace.clear_tmp()
