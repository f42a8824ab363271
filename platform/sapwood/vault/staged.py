"""Files whose names say what they hold: written beside their place before a transaction, put into place at its end.

They need no journal. A process that is killed in between leaves a file that nothing names yet; what it was doing is done
again, and makes the same file.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from sapwood.vault.files import make_folder
from sapwood.vault.paths import is_inside
from sapwood.workspace import FILE_MODE, Workspace, writing

__all__ = ["StagedFiles"]


@dataclass(slots=True)
class StagedFiles:
    """Files on their way into the vault."""

    workspace: Workspace
    _staged: list[tuple[Path, Path]] = field(default_factory=list)

    def stage(self, path: str, text: str) -> None:
        """Write a file beside the place where it will lie, and sync it.

        Args:
            path: where it will lie, relative to the vault.
            text: of the file.

        Raises:
            ValueError: the path leads out of the vault.
            WorkspaceError: the disk refuses.
        """
        if not is_inside(path):
            raise ValueError(f"{path!r} leads out of the vault")
        target = self.workspace.vault / path
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        with writing(temporary):
            make_folder(str(target.parent))
            handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode("utf-8", "replace"))
                stream.flush()
                os.fsync(stream.fileno())
        self._staged.append((temporary, target))

    def publish(self) -> None:
        """Rename all into place. Called at the end of the transaction that names them.

        Raises:
            WorkspaceError: the disk refuses.
        """
        for temporary, target in self._staged:
            with writing(target):
                temporary.rename(target)
        self._staged.clear()

    def discard(self) -> None:
        """They are not needed after all."""
        for temporary, _ in self._staged:
            temporary.unlink(missing_ok=True)
        self._staged.clear()
