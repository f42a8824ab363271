"""Trees made anew out of the vault: summaries say what they tell of; what no summary tells of waits again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sapwood.clock import now_ms
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobStore, NewJob
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import BufferedNode, TreeStore, tree_id_of
from sapwood.text.fold import index_text
from sapwood.text.tokens import count_tokens
from sapwood.trees.buffering import buffer_node, container_of, is_document
from sapwood.vault import summaryfile
from sapwood.vault.chunkfile import body_sha256
from sapwood.workspace import Workspace

__all__ = ["restore_trees"]

_PLACES = ("summaries/*/L*.md", "daily/*.md")


def restore_trees(workspace: Workspace, database: Database) -> tuple[int, list[tuple[str, str]]]:
    """Put the summaries of the vault back, after its items; how many, and which files could not be used, with the reason.

    A summary some of whose children are gone is made anew from those that are left.
    """
    lost: list[tuple[str, str]] = []
    rows: list[tuple[SummaryRow, str, str]] = []
    for file in sorted(f for place in _PLACES for f in workspace.vault.glob(place)):
        path = file.relative_to(workspace.vault).as_posix()
        try:
            rows.append(_read(path, file))
        except (OSError, KeyError, TypeError, ValueError) as error:
            lost.append((path, f"cannot be used ({error}); it is made anew"))
    rows.sort(key=lambda row: (row[0].level, row[0].summary_id))
    with database.transaction():
        _put(database, rows)
    return len(rows), lost


def _read(path: str, file: Path) -> tuple[SummaryRow, str, str]:
    """A summary out of its file, with its tree's scope and title."""
    note = summaryfile.read(file.read_bytes())
    if note.damaged:
        raise ValueError(note.damaged)
    fields: Any = note.fields
    span = fields.get("time_range_ms")
    body = note.body
    row = SummaryRow(
        str(fields["id"]), str(fields["tree_id"]), str(fields["tree_kind"]), int(fields["level"]), None, tuple(map(str, fields["child_ids"])),
        str(fields["title"]), body, count_tokens(body), tuple(map(str, fields.get("entity_ids") or ())), tuple(map(str, fields.get("topics") or ())),
        (int(span[0]), int(span[1])) if span else None, float(fields["score"]), int(fields["sealed_at_ms"]), str(fields["summariser"]), False,
        path, body_sha256(body),
    )  # fmt: skip
    return row, str(fields["tree_scope"]), str(fields["tree_title"])


def _put(database: Database, rows: list[tuple[SummaryRow, str, str]]) -> None:
    trees, summaries, items = TreeStore(database), SummaryStore(database), ItemStore(database)
    known: set[str] = set()
    told: set[str] = set()
    tops: dict[str, list[SummaryRow]] = {}
    for row, scope, title in rows:
        held = [child for child in row.child_ids if child in known or items.with_chunk(child) is not None]
        trees.open(row.tree_kind, scope, title, row.sealed_at_ms)
        summaries.put(row, (index_text(row.title), index_text(row.body)))
        EntityStore(database).put(
            row.summary_id, "summary", [_mention(e) for e in row.entities], row.range_ms[1] if row.range_ms else None, row.tree_id
        )  # fmt: skip
        if tuple(held) != row.child_ids:
            summaries.set_children(row.summary_id, held)
        if row.tree_kind == "source":
            leaves = [child for child in held if child not in known]
            _set_roots(trees, items, row.tree_id, leaves)
            trees.set_lifecycle(leaves, "sealed")
            trees.set_parent(held, row.summary_id)
            told.update(held)
            tops.setdefault(row.tree_id, []).append(row)
        tree = trees.tree(row.tree_id)
        assert tree is not None
        if row.level >= tree.max_level:
            trees.set_root(row.tree_id, row.summary_id, row.level, row.sealed_at_ms)
        known.add(row.summary_id)
    jobs: list[NewJob] = []
    for tree_id, found in tops.items():
        jobs += _wait_again(database, tree_id, [row for row in found if row.summary_id not in told])
    JobStore(database).enqueue(jobs, now_ms())


def _set_roots(trees: TreeStore, items: ItemStore, tree_id: str, leaves: list[str]) -> None:
    """A leaf that another tree than its own tells of is the whole of its document."""
    for leaf in leaves:
        found = items.with_chunk(leaf)
        if found is not None and tree_id_of("source", found[0].source_id) != tree_id:
            trees.set_root(trees.open("source", found[0].source_id, found[0].title, now_ms()), leaf, 0, None)


def _wait_again(database: Database, tree_id: str, tops: list[SummaryRow]) -> list[NewJob]:
    """Summaries that no other one tells of go back into the buffers: a document's root into its folder's."""
    trees = TreeStore(database)
    tree = trees.tree(tree_id)
    assert tree is not None
    item = ItemStore(database).find(tree.scope)
    jobs: list[NewJob] = []
    for row in tops:
        moment = row.range_ms[0] if row.range_ms else 0
        node = BufferedNode(row.summary_id, row.tokens, moment, 0, row.sealed_at_ms)
        if item is not None and is_document(item) and len(tops) == 1:
            container = trees.open("source", *container_of(database, item), row.sealed_at_ms)
            jobs += buffer_node(trees, container, 0, node)
        else:
            jobs += buffer_node(trees, tree_id, row.level, node)
    return jobs


def _mention(entity_id: str) -> Mention:
    kind, _, surface = entity_id.partition(":")
    return Mention(entity_id, kind, surface, 0.5)
