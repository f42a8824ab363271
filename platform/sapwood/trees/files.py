"""The files of summaries, composed out of their rows: one way to write them, for seals, repairs and backups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from sapwood.clock import now_ms
from sapwood.ingest.followup import resealing
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobStore
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import TreeRow, TreeStore
from sapwood.text.fold import index_text
from sapwood.text.tokens import count_tokens
from sapwood.trees import calendar
from sapwood.vault import summaryfile
from sapwood.vault.chunkfile import body_sha256
from sapwood.vault.files import keep_changed
from sapwood.vault.paths import digest_path, is_inside
from sapwood.workspace import Workspace, write_atomically

__all__ = [
    "file_of",
    "is_as_written",
    "put_other_words",
    "repair_summaries",
    "says",
    "summary_text",
    "write_file",
    "write_parents",
]


def summary_text(
    tree: TreeRow, summary: SummaryRow, links: tuple[str, ...], parent: str, mentions: Sequence[Mention]
) -> str:
    """The Markdown file of a summary; `links` and `parent` are names of files without folder and ending."""
    note = summaryfile.SummaryNote(
        summary.summary_id, tree.tree_id, tree.kind, tree.scope, tree.title, summary.level, summary.title, summary.child_ids, links, parent, summary.range_ms,
        summary.score, summary.sealed_at_ms, summary.summariser, tuple((m.kind, m.surface) for m in mentions), summary.entities, summary.topics, summary.body, summary.corrections,
    )  # fmt: skip
    return summaryfile.compose(note)


def file_of(database: Database, summary: SummaryRow) -> str:
    """The file of a summary as the database has it."""
    tree = TreeStore(database).tree(summary.tree_id)
    assert tree is not None
    links = tuple(_link(database, child) for child in summary.child_ids)
    return summary_text(
        tree, summary, links, _parent(database, summary), EntityStore(database).of_node(summary.summary_id)
    )


def _link(database: Database, node_id: str) -> str:
    """The name of a node's file; its id where there is no such node any more."""
    path = SummaryStore(database).path_of(node_id) or ItemStore(database).path_of(node_id)
    return PurePosixPath(path).stem if path else node_id


def _parent(database: Database, summary: SummaryRow) -> str:
    if summary.tree_kind == "global":
        key = calendar.parent_of(PurePosixPath(summary.path).stem)
        return key if key and SummaryStore(database).at_paths([digest_path(key)]) else ""
    return _link(database, summary.parent_id) if summary.parent_id else ""


def put_other_words(
    workspace: Workspace,
    database: Database,
    summary: SummaryRow,
    text: str,
    entities: tuple[str, ...],
    summariser: str,
    lies_there: SummaryRow,
) -> None:
    """The same is told in other words, by a model or a person: the row, the index, what stands above, and the file.

    `lies_there` is the summary as its file says it now. Inside of a transaction of the caller.
    """
    store = SummaryStore(database)
    fts = (index_text(summary.title), index_text(text))
    store.retell(summary.summary_id, text, count_tokens(text), body_sha256(text), entities, summariser, fts)
    store.mark_stale(summary.summary_id)
    if store.any_stale():
        JobStore(database).enqueue([resealing()], now_ms())
    told = store.get(summary.summary_id)
    assert told is not None
    write_file(workspace, told.path, file_of(database, told), lies_there)


def write_parents(workspace: Workspace, database: Database, node_ids: Sequence[str]) -> None:
    """Write anew the files of those of these nodes that are summaries, since they have another parent than before.

    A file that somebody has changed is left for them.
    """
    for summary in SummaryStore(database).many(list(node_ids)).values():
        if is_as_written(workspace, summary):
            write_file(workspace, summary.path, file_of(database, summary), summary)


def write_file(workspace: Workspace, path: str, text: str, before: SummaryRow | None = None) -> None:
    """Write a summary's file. What somebody has changed in the one that lies there goes into the trash first.

    Args:
        workspace: of the vault.
        path: relative to the vault.
        text: of the file.
        before: the summary whose file lies there, if any.

    Raises:
        ValueError: the path leads out of the vault.
    """
    if not is_inside(path):
        raise ValueError(f"{path!r} leads out of the vault")
    file = workspace.vault / path
    try:
        held = file.read_bytes()
    except OSError:
        held = b""
    if (
        held.strip()
        and held != text.encode()
        and not (before is not None and says(held, before))
        and not _is_ours(held)
    ):
        keep_changed(workspace, file.name, held.decode("utf-8", "replace"))
    write_atomically(file, text)


def _is_ours(data: bytes) -> bool:
    """True for a file that says what it said when it was written."""
    note = summaryfile.read(data)
    return not note.damaged and not note.is_edited


def is_as_written(workspace: Workspace, summary: SummaryRow) -> bool:
    """True when a summary's file says what its row says."""
    try:
        return says((workspace.vault / summary.path).read_bytes(), summary)
    except OSError:
        return False


def says(data: bytes, summary: SummaryRow) -> bool:
    """True for a file that is this summary's, with the text of its row."""
    note = summaryfile.read(data)
    return not note.damaged and note.fields.get("id") == summary.summary_id and body_sha256(note.body) == summary.sha256


def repair_summaries(workspace: Workspace, database: Database) -> int:
    """Write the files again that are missing or say something else than their rows; how many."""
    wrong = [summary for summary in SummaryStore(database).all() if not is_as_written(workspace, summary)]
    for summary in wrong:
        write_file(workspace, summary.path, file_of(database, summary))
    return len(wrong)
