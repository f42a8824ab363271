"""Files of summaries that are no more."""

from __future__ import annotations

from sapwood.store.database import Database
from sapwood.store.items import ItemStore
from sapwood.vault.paths import SUMMARY_FOLDERS, is_inside
from sapwood.workspace import Workspace

__all__ = ["remove_leftovers"]


def remove_leftovers(workspace: Workspace, database: Database) -> int:
    """Remove the files whose summaries committed transactions have removed; how many.

    Inside of a transaction, so that nobody puts a file of the same name back at that moment.
    """
    items = ItemStore(database)
    if not any(path.startswith(SUMMARY_FOLDERS) for path in items.unlinks()):
        return 0
    with database.transaction():
        paths = [path for path in items.unlinks() if path.startswith(SUMMARY_FOLDERS) and is_inside(path)]
        for path in paths:
            file = workspace.vault / path
            file.unlink(missing_ok=True)
            if file.parent != workspace.vault / "daily":
                try:
                    file.parent.rmdir()
                except OSError:
                    pass  # others lie in it
        items.forget_unlinks(paths)
    return len(paths)
