"""Connections as TOML files: `connections/<connector>/<name>.toml`, secrets as references only."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapwood.errors import ConfigurationError
from sapwood.text.names import slug
from sapwood.workspace import Workspace, write_atomically


@dataclass(frozen=True, slots=True)
class Connection:
    """A configured account. `account` is what `check` said; it goes into ids and stays when the connection is renamed."""

    connector: str
    name: str
    account: str
    config: dict[str, Any]

    def file(self, workspace: Workspace) -> Path:
        """Where it is kept."""
        return workspace.connections / self.connector / f"{slug(self.name)}.toml"


def save_connection(workspace: Workspace, connection: Connection) -> None:
    """Write the file, if it says something else by now.

    Raises:
        WorkspaceError: the disk refuses.
    """
    import tomli_w

    document = {
        "name": connection.name,
        "account": connection.account,
        "config": {k: v for k, v in connection.config.items() if v is not None},
    }
    text = tomli_w.dumps(document)
    file = connection.file(workspace)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        write_atomically(file, text)


def load_connections(workspace: Workspace, connector: str | None = None) -> list[Connection]:
    """All connections, sorted by connector and name.

    Raises:
        ConfigurationError: a file is no TOML or lacks a key.
    """
    found: list[Connection] = []
    for file in sorted(workspace.connections.glob(f"{connector or '*'}/*.toml")):
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
            found.append(Connection(file.parent.name, str(data["name"]), str(data["account"]), dict(data["config"])))
        except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                str(file), f"is no connection ({error})", "Correct it, or move it away."
            ) from error
    return found
