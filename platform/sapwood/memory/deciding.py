"""What the user decides."""

from __future__ import annotations

from sapwood.memory.base import OpenWorkspace

__all__ = ["Deciding"]


class Deciding(OpenWorkspace):
    """The part of `Memory` that keeps decisions; they stand in the vault and outlive the databases."""

    def merge_entities(self, names: list[str]) -> str:
        """Two or more names stand for one; see `trees.naming.merge_entities`."""
        from sapwood.trees.naming import merge_entities

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return merge_entities(self.workspace, self.database, names)

    def split_entity(self, name: str) -> list[str]:
        """A name stands for itself alone; see `trees.naming.split_entity`."""
        from sapwood.trees.naming import split_entity

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return split_entity(self.workspace, self.database, name)

    def rename_entity(self, name: str, new: str) -> str:
        """Somebody or something is called otherwise; see `trees.naming.rename_entity`."""
        from sapwood.trees.naming import rename_entity

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return rename_entity(self.workspace, self.database, name, new)
