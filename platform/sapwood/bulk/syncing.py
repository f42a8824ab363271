"""Connections of any connector: made with a check, and run one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from sapwood.bulk.host import ReadingHost
from sapwood.config import Settings
from sapwood.errors import ConfigurationError, NotFoundError
from sapwood.plugins.choices import require_enabled
from sapwood.plugins.inline import open_connector
from sapwood.plugins.process import RunSettings
from sapwood.sdk.connector import PullRequest
from sapwood.store.database import Database
from sapwood.sync.connections import Connection, load_connections, save_connection
from sapwood.sync.run import Observer, Run, RunReport
from sapwood.workspace import Workspace

__all__ = ["chosen", "connect", "run_connection"]


def connect(
    workspace: Workspace, settings: Settings, key: str, values: dict[str, Any], name: str = "", *, inline: bool = False
) -> Connection:
    """Check an account and keep its connection; an account that is connected already gets the new values.

    Args:
        workspace, settings: where it is kept, and how its process runs.
        key: of the connector.
        values: of its configuration.
        name: by which it is called; what the service calls the account without it.
        inline: the connector runs in this process, for a debugger.

    Raises:
        PluginError, ConnectorError: it cannot be reached, and why; ConfigurationError: the name is taken.
    """
    require_enabled(workspace, key)
    run = replace(RunSettings.of(settings, workspace.tmp, workspace), inline=inline)
    with open_connector(key, values, "", run) as process:
        report = process.check(ReadingHost())
    others = load_connections(workspace)
    held = next((c for c in others if (c.connector, c.account) == (key, report.account)), None)
    wanted = name.strip() or (held.name if held else report.title.strip() or report.account)
    taken = next((c for c in others if c.name == wanted and c is not held), None)
    if taken and name:
        raise ConfigurationError(
            f"the name {name!r}", f"is that of a connection of {taken.connector}", "Choose another with --name."
        )
    if taken:
        wanted = f"{wanted} ({report.account})"
    connection = Connection(key, wanted, report.account, values)
    if held and held.file(workspace) != connection.file(workspace):
        held.file(workspace).unlink(missing_ok=True)
    save_connection(workspace, connection)
    return connection


def chosen(workspace: Workspace, names: list[str]) -> list[Connection]:
    """The connections of these names, accounts or connectors; all without any.

    Raises:
        NotFoundError: nothing is called so.
    """
    everything = load_connections(workspace)
    found: list[Connection] = []
    for name in names:
        those = [c for c in everything if name in (c.name, c.account, c.connector, f"{c.connector}:{c.account}")]
        if not those:
            known = ", ".join(sorted(c.name for c in everything)) or "none yet"
            raise NotFoundError(
                f"the connection {name}", f"is not there (there are: {known})", "`sapwood connect KEY` makes one."
            )
        found += [c for c in those if c not in found]
    return found if names else everything


def run_connection(
    workspace: Workspace,
    database: Database,
    settings: Settings,
    zone: tzinfo,
    connection: Connection,
    *,
    confirm_deletes: bool = False,
    inline: bool = False,
    observer: Observer | None = None,
    started: Callable[[Run], None] = lambda run: None,
) -> RunReport:
    """Fetch what is new of one connection. The caller holds the writer lock.

    Raises:
        PluginError: its plugin is missing, disabled or broken; WorkspaceError: the disk refuses.
    """
    require_enabled(workspace, connection.connector)
    how = replace(RunSettings.of(settings, workspace.tmp, workspace), inline=inline)
    run = Run(
        workspace, database, connection, how, zone=zone, owner=settings.owner,
        personal=settings.redact_personal, confirm_deletes=confirm_deletes, observer=observer,
    )  # fmt: skip
    started(run)
    return run.execute(PullRequest(may_be_empty=confirm_deletes))
