"""The platform's exceptions.

    SapwoodError
    ├── ConfigurationError      a setting or an argument is wrong
    ├── WorkspaceError          the workspace cannot be used (read-only, full, wrong version, not one)
    │   └── WorkspaceBusyError  another process writes to it
    ├── StoreError              chunks.db is damaged or answers nonsense
    ├── VaultError              a file of the vault cannot be read or written
    ├── PluginError             a plugin is missing, broken or breaks the contract
    │   └── ConnectorCrashed    the connector's process ended before its work did
    ├── NotFoundError           nothing has that id
    └── RunStopped              a run was stopped on request; it can be continued

Every message names the object, the cause and the next step, because it is printed as it stands.
"""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "ConnectorCrashed",
    "NotFoundError",
    "PluginError",
    "RunStopped",
    "SapwoodError",
    "StoreError",
    "VaultError",
    "WorkspaceBusyError",
    "WorkspaceError",
]


class SapwoodError(Exception):
    """Base of all errors that a person is told about.

    Args:
        subject: what is affected: a path, an id, a setting.
        cause: what is wrong with it, in one clause.
        next_step: what the reader can do now; empty when there is nothing to do.
    """

    def __init__(self, subject: str, cause: str, next_step: str = "") -> None:
        self.subject = subject
        self.cause = cause
        self.next_step = next_step
        super().__init__(f"{subject}: {cause}." + (f" {next_step}" if next_step else ""))


class ConfigurationError(SapwoodError):
    """A setting or an argument is wrong."""


class WorkspaceError(SapwoodError):
    """The workspace cannot be used."""


class WorkspaceBusyError(WorkspaceError):
    """Another process is writing to the workspace."""


class StoreError(SapwoodError):
    """The database cannot be opened or is inconsistent."""


class DamagedStoreError(StoreError):
    """The database file is no database, or SQLite finds it damaged: the vault holds all that is needed to make it anew."""


class VaultError(SapwoodError):
    """A vault file cannot be read or written."""


class PluginError(SapwoodError):
    """A plugin is missing, broken, or does not keep to the contract."""


class ConnectorCrashed(PluginError):
    """The child process of a connector ended before it had finished."""


class NotFoundError(SapwoodError):
    """No object has the given id."""


class RunStopped(SapwoodError):
    """A run was stopped on request. What was committed stays, and the next run goes on from there."""
