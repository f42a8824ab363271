"""An open workspace: its settings and its database."""

from __future__ import annotations

from collections.abc import Generator
from datetime import tzinfo
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sapwood.clock import zone
from sapwood.config import Settings, load_settings
from sapwood.errors import DamagedStoreError, WorkspaceError
from sapwood.store.database import Database
from sapwood.vault.manifest import manifest_files
from sapwood.workspace import Workspace

if TYPE_CHECKING:
    from sapwood.ingest.edits import VaultChanges
    from sapwood.recall.vector_leg import VectorLeg

__all__ = ["OpenWorkspace"]


class OpenWorkspace:
    """What every part of `Memory` stands on."""

    def __init__(self, workspace: Path | None = None, *, create: bool = False) -> None:
        self.workspace = Workspace.locate(workspace)
        if self.workspace.root.exists() and not self.workspace.root.is_dir():
            raise WorkspaceError(
                f"the workspace {self.workspace.root}",
                "is a file where a folder is needed",
                "Choose another place with --workspace.",
            )
        if not create and not self.workspace.exists:
            raise WorkspaceError(
                f"the workspace {self.workspace.root}",
                "does not exist",
                "Import something first: sapwood import FOLDER, or name another with --workspace.",
            )
        self.settings: Settings = load_settings(self.workspace.config_file)
        self.zone: tzinfo = zone(self.settings.timezone)
        self._database: Database | None = None
        self._leg: VectorLeg | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        if self._leg is not None:
            self._leg.close()
            self._leg = None
        if self._database is not None:
            self._database.close()
            self._database = None

    @property
    def database(self) -> Database:
        """The open database; made and migrated when the workspace is new.

        Raises:
            DamagedStoreError: it is missing or empty although the vault holds items: to go on would answer that nothing
                is known.
        """
        if self._database is None:
            path = self.workspace.database
            held = path.stat().st_size if path.exists() else 0
            if not held and next(manifest_files(self.workspace.vault), None) is not None:
                raise DamagedStoreError(
                    str(path),
                    f"is {'empty' if path.exists() else 'missing'} although the vault holds items",
                    "Run `sapwood rebuild`: the vault holds all that is needed.",
                )
            self._open()
        assert self._database is not None
        return self._database

    def _open(self) -> Database:
        if not self.workspace.database.exists():
            self.workspace.create()
        try:
            self._database = Database.open(self.workspace.database)
        except WorkspaceError:
            if not self.workspace.database.exists():
                raise
            self._database = Database.open(self.workspace.database, readonly=True)  # a disk that can only be read
        return self._database

    def _scanning(self) -> Generator[None, None, VaultChanges]:
        """Take in what people changed in the vault's files, a step at a time; what was found."""
        from sapwood.ingest.edits import scanning_vault
        from sapwood.trees.corrections import take_in

        personal = self.settings.redact_personal
        changes = yield from scanning_vault(self.workspace, self.database, self.zone, personal=personal)
        changes.edited += take_in(self.workspace, self.database, personal=personal)
        return changes

    def _scan_vault(self) -> None:
        for _ in self._scanning():
            pass
