"""What the user decided, as lines of JSON in the vault: `rebuild` reads it, so it survives the databases.

An edit's line keeps the original beside the user's version, since the chunk's file shows the latter alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sapwood.clock import iso_z, now
from sapwood.store.items import ChunkRow
from sapwood.vault.files import append_line
from sapwood.vault.paths import DECISIONS
from sapwood.workspace import Workspace, write_atomically


def _append(workspace: Workspace, decision: str, **fields: Any) -> None:
    line = {"at": iso_z(now()), "decision": decision, **fields}
    append_line(workspace.vault / DECISIONS, json.dumps(line, ensure_ascii=False))


def record_edit(workspace: Workspace, item_id: str, chunk: ChunkRow, edited: str | None) -> None:
    """The user changed a chunk's body; None when they put the original back."""
    _append(
        workspace,
        "edit",
        item_id=item_id,
        chunk_id=chunk.chunk_id,
        content_sha256=chunk.content_sha256,
        original=chunk.original,
        edited=edited,
    )


def record_conflict(workspace: Workspace, item_id: str, chunk_id: str, content_sha256: str) -> None:
    """The source changed an edited chunk: the edit waits."""
    _append(workspace, "conflict", item_id=item_id, chunk_id=chunk_id, content_sha256=content_sha256)


def record_waiting(workspace: Workspace, item_id: str, chunk_id: str, original: str, edited: str) -> None:
    """An edit waits whose chunk is no more as it was."""
    _append(workspace, "edit", item_id=item_id, chunk_id=chunk_id, content_sha256="", original=original, edited=edited)
    _append(workspace, "conflict", item_id=item_id, chunk_id=chunk_id, content_sha256="")


def record_settled(workspace: Workspace, item_id: str, chunk_id: str, choice: str) -> None:
    """A waiting edit was kept or dropped."""
    _append(workspace, f"conflict_{choice}", item_id=item_id, chunk_id=chunk_id)


def record_entities(
    workspace: Workspace, decision: str, entity_ids: list[str], aliases: list[tuple[str, str]], **fields: str
) -> None:
    """`entity_merge`, `entity_split` or `entity_rename`, of these ids, and the aliases that came of it: a rebuild puts back these, since
    metadata may have come in since that would join the ids otherwise."""
    _append(workspace, decision, ids=entity_ids, aliases=aliases, **fields)


def read(workspace: Workspace) -> Iterator[dict[str, Any]]:
    """The decisions in order; a half or damaged line is passed over (`doctor` counts them)."""
    try:
        text = (workspace.vault / DECISIONS).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        try:
            data = json.loads(line)
        except ValueError:
            continue
        if isinstance(data, dict) and "decision" in data:
            yield data


def forget_items(workspace: Workspace, item_ids: set[str]) -> None:
    """Take out every line about these items: their texts are deleted, so no copy may stay here."""
    _keep(workspace, lambda line: line.get("item_id") not in item_ids)


def forget_lines(workspace: Workspace, holds: Callable[[str], bool]) -> None:
    """Take out every line in which one of the texts is to be forgotten."""
    _keep(workspace, lambda line: not speaks(line, holds))


def speaks(line: dict[str, Any], holds: Callable[[str], bool]) -> bool:
    """True for a line of which one of the texts is such."""
    return any(holds(text) for text in _texts(line))


def put_back(workspace: Workspace, lines: Iterable[dict[str, Any]]) -> None:
    """Append lines that were taken out."""
    for line in lines:
        append_line(workspace.vault / DECISIONS, json.dumps(line, ensure_ascii=False))


def _texts(line: dict[str, Any]) -> list[str]:
    values = [part for value in line.values() for part in (value if isinstance(value, list) else [value])]
    values += [part for pair in values if isinstance(pair, list) for part in pair]
    return [value for value in values if isinstance(value, str)]


def _keep(workspace: Workspace, stays: Callable[[dict[str, Any]], bool]) -> None:
    lines = list(read(workspace))
    kept = [line for line in lines if stays(line)]
    if len(kept) != len(lines):
        write_atomically(
            workspace.vault / DECISIONS, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
        )
