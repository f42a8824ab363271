"""Wiping off the disk what was forgotten: databases written anew, logs, reports, trash, backups; and looking whether it is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sapwood.forgetting.acting import KEPT
from sapwood.forgetting.choosing import source_of
from sapwood.ingest.forgotten import Forgotten
from sapwood.store.database import Database
from sapwood.store.forgetting import ForgettingStore
from sapwood.store.items import ItemStore
from sapwood.store.vectors import VectorStore
from sapwood.vault.paths import REPORTS
from sapwood.workspace import Workspace

__all__ = ["purge", "still_there"]

Holds = Callable[[str], bool]
_DATABASES = (".db", ".db-wal", ".db-shm", ".lock")
_LONGEST = 64 * 1024 * 1024  # bytes of a file that is looked through


def purge(workspace: Workspace, database: Database, number: str, holds: Holds, names: Iterable[str]) -> list[str]:
    """Wipe what a receipt's things left on the disk; what could not be wiped, as sentences.

    Args:
        workspace, database: where from.
        number: the receipt.
        holds: true for a text that holds what is to go.
        names: ids and places of items that went as a whole: lines of logs and reports that name one go too.
    """
    named = [name for name in names if name]

    def gone(text: str) -> bool:
        return holds(text) or any(name in text for name in named)

    forgotten = Forgotten(workspace)
    for file in _files(workspace.root / KEPT):
        other = file.stem
        if other == number or gone(_text(file)):
            file.unlink(missing_ok=True)
            forgotten.settle(other, "purged")
    for folder in ("trash/changed", "trash/damaged"):
        for file in _files(workspace.root / folder):
            if gone(_text(file)):
                file.unlink(missing_ok=True)
    for file in [*_files(workspace.logs), *_files(workspace.vault / REPORTS)]:
        _drop_lines(file, gone)
    workspace.clear_tmp()
    for file in workspace.memory_tree.glob("*"):  # copies of before an update or a rebuild: they hold everything
        if file.is_file() and not file.name.endswith(_DATABASES):
            file.unlink(missing_ok=True)
    left: list[str] = []
    if not ForgettingStore(database).wipe():
        left.append(
            "another program holds the database open: what was deleted may stay in its log until that program ends. Run the command again then."
        )
    vectors = VectorStore(database, workspace.embeddings)
    with vectors.attached() as there:
        if there:
            vectors.purge()
            vectors.wipe()
    forgotten.settle(number, "purged")
    for receipt in list(forgotten.receipts()):  # one that was interrupted may be finished by this one
        if receipt.state == "begun" and not _stands_somewhere(database, Forgotten(workspace, receipt.number)):
            forgotten.settle(receipt.number, "purged")
    return left


def _stands_somewhere(database: Database, marks: Forgotten) -> bool:
    items = ItemStore(database)
    for number in ForgettingStore(database).item_numbers():
        item = items.by_number(number)
        if item is not None:
            source = source_of(item, items.chunks(number))
            if marks.kept_of(source) != source:
                return True
    return False


def still_there(workspace: Workspace, database: Database, holds: Holds) -> list[str]:
    """Where a text can still be read in the workspace, after all: files of the user's own above all."""
    found = [f"{table} ({count} rows)" for table, count in ForgettingStore(database).left(holds).items()]
    for file in _files(workspace.root):
        if not file.name.endswith(_DATABASES) and (holds(file.name) or holds(_text(file))):
            found.append(file.relative_to(workspace.root).as_posix())
    return found


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _text(file: Path) -> str:
    try:
        return file.read_bytes()[:_LONGEST].decode("utf-8", "replace")
    except OSError:
        return ""


def _drop_lines(file: Path, gone: Holds) -> None:
    """Rewritten in place, since a log may be open."""
    try:
        with file.open("r+", encoding="utf-8", errors="replace", newline="") as handle:
            lines = handle.readlines()
            kept = [line for line in lines if not gone(line)]
            if len(kept) != len(lines):
                handle.seek(0)
                handle.truncate()
                handle.writelines(kept)
    except OSError:
        return
