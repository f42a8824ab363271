"""Wiping off the disk what was forgotten: databases written anew, logs, reports, trash, backups; and looking whether it is gone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from sapwood.forgetting.acting import KEPT
from sapwood.forgetting.choosing import Traces
from sapwood.ingest.forgotten import Forgotten
from sapwood.store.database import Database
from sapwood.store.forgetting import ForgettingStore
from sapwood.store.vectors import VectorStore
from sapwood.vault.paths import OURS, REPORTS
from sapwood.workspace import Workspace, abandoned, write_atomically

__all__ = ["purge", "still_there"]

Holds = Callable[[str], bool]
_DATABASES = (".db", ".db-wal", ".db-shm", ".lock")
_LONGEST = 64 * 1024 * 1024  # bytes of a file that is looked through


def purge(workspace: Workspace, database: Database, number: str, traces: Traces) -> list[str]:
    """Wipe what a receipt's things left on the disk; what could not be wiped, as sentences.

    Args:
        workspace, database: where from.
        number: the receipt.
        traces: by what they are known again. Lines of logs and reports go that only name a place, too.
    """
    holds = traces.hold
    named = [re.compile(rf"(?<![\w./-]){re.escape(place)}(?![\w/-])") for place in traces.places]

    def names_one(line: str) -> bool:
        return holds(line) or any(pattern.search(line) for pattern in named)

    forgotten = Forgotten(workspace)
    for file in _files(workspace.root / KEPT):
        if file.stem == number:
            file.unlink(missing_ok=True)
        elif not _keep_the_rest(file, holds):
            forgotten.settle(file.stem, "purged")
    for folder in ("trash/changed", "trash/damaged"):
        for file in _files(workspace.root / folder):
            if holds(_text(file)):
                file.unlink(missing_ok=True)
    for file in [*_files(workspace.logs), *_files(workspace.vault / REPORTS)]:
        _drop_lines(file, names_one)
    workspace.clear_tmp()
    for file in abandoned(workspace):
        file.unlink(missing_ok=True)
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
    return left


def _keep_the_rest(file: Path, holds: Holds) -> bool:
    """Take out of what another receipt keeps the items that hold what is to go; False when nothing is left of it."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        kept = [item for item in data["items"] if not any(holds(text) for text in _texts(item))]
    except (OSError, ValueError, KeyError, TypeError):
        return True
    changed = len(kept) != len(data["items"])
    for name in ("decisions", "waiting"):
        rest = [row for row in data[name] if not any(holds(text) for text in _texts(row))]
        changed, data[name] = changed or len(rest) != len(data[name]), rest
    pages = {name: text for name, text in data["pages"].items() if not holds(text)}
    changed = changed or len(pages) != len(data["pages"])
    if not kept and data["items"]:
        file.unlink(missing_ok=True)
        return False
    if changed:
        write_atomically(file, json.dumps(data | {"items": kept, "pages": pages}, ensure_ascii=False))
    return True


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if value.startswith("{"):  # a manifest within
            try:
                yield from _texts(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def still_there(workspace: Workspace, database: Database, holds: Holds, *, only_notes: bool = False) -> list[str]:
    """Where a text can still be read in the workspace, after all: files of the user's own above all, and with `only_notes` nothing else."""
    rows = {} if only_notes else ForgettingStore(database).left(holds)
    found = [f"{table} ({count} rows)" for table, count in rows.items()]
    for file in _files(workspace.vault if only_notes else workspace.root):
        if only_notes and file.relative_to(workspace.vault).as_posix().startswith(OURS):
            continue
        if not file.name.endswith(_DATABASES) and (holds(file.name) or any(map(holds, _parts(file)))):
            found.append(file.relative_to(workspace.root).as_posix())
    return found


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _parts(file: Path) -> Iterator[str]:
    """The texts of a file: of JSON its values, else the whole."""
    text = _text(file)
    if file.suffix in (".json", ".jsonl"):
        for line in [text] if file.suffix == ".json" else text.splitlines():
            try:
                yield from _texts(json.loads(line))
            except ValueError:
                yield line
    else:
        yield text


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
