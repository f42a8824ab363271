"""Trees made anew out of the vault: summaries say what they tell of; what no summary tells of waits again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapwood.clock import now_ms
from sapwood.ingest.followup import resealing
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobStore, NewJob
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import BufferedNode, TreeStore, tree_id_of
from sapwood.text.fold import index_text
from sapwood.text.tokens import count_tokens
from sapwood.trees import calendar
from sapwood.trees.buffering import buffer_node, container_of, is_document
from sapwood.trees.corrections import pinned
from sapwood.trees.nodes import load_nodes
from sapwood.trees.seal import summary_id_of
from sapwood.trees.topic_page import restore_topics
from sapwood.vault import summaryfile
from sapwood.vault.chunkfile import body_sha256
from sapwood.vault.paths import digest_path, summary_path
from sapwood.workspace import Workspace

__all__ = ["restore_trees"]

_PLACES = ("summaries/*/L*.md", "topics/*/L*.md", "daily/*.md")


@dataclass(frozen=True, slots=True)
class _Found:
    """A summary out of its file, with its tree's scope and title."""

    row: SummaryRow
    scope: str
    title: str


def restore_trees(workspace: Workspace, database: Database) -> tuple[int, list[tuple[str, str]]]:
    """Put the summaries of the vault back, after its items; how many, and which files could not be used, with the reason.

    A summary some of whose children are gone or read otherwise now is made anew from those that there are. Files that lie
    elsewhere than they would be written, such as copies, are left alone.
    """
    lost: list[tuple[str, str]] = []
    found: list[_Found] = []
    for file in sorted(f for place in _PLACES for f in workspace.vault.glob(place)):
        path = file.relative_to(workspace.vault).as_posix()
        try:
            found.append(_read(path, file))
        except (OSError, KeyError, TypeError, ValueError) as error:
            lost.append((path, f"cannot be used ({error}); what it told is told anew"))
    with database.transaction():
        lost += restore_topics(workspace, database)
        kept = _Restoring(database, lost).put(found)
    return kept, lost


def _read(path: str, file: Path) -> _Found:
    note = summaryfile.read(file.read_bytes())
    if note.damaged:
        raise ValueError(note.damaged)
    fields: Any = note.fields
    span = fields.get("time_range_ms")
    corrections = str(fields.get("corrections") or "")
    if note.is_edited:  # and nobody has looked at it since
        corrections = pinned(note.body, tuple(map(str, fields["child_ids"])), corrections)
    row = SummaryRow(
        str(fields["id"]), str(fields["tree_id"]), str(fields["tree_kind"]), int(fields["level"]), None, tuple(map(str, fields["child_ids"])),
        str(fields["title"]), note.body, count_tokens(note.body), tuple(map(str, fields.get("entity_ids") or ())), tuple(map(str, fields.get("topics") or ())),
        (int(span[0]), int(span[1])) if span else None, float(fields["score"]), int(fields["sealed_at_ms"]), str(fields["summariser"]), False,
        path, body_sha256(note.body), corrections,
    )  # fmt: skip
    scope = str(fields["tree_scope"])
    if row.tree_kind == "global":
        right = digest_path(file.stem) if calendar.level_of(file.stem) == row.level else ""
    elif row.tree_kind in ("source", "topic"):
        right = summary_path(row.tree_kind, scope, row.level, row.summary_id)
    else:
        raise ValueError(f"is of a tree of the unknown kind {row.tree_kind!r}")
    if path != right or row.tree_id != tree_id_of(row.tree_kind, scope):
        raise ValueError("is a copy, or lies elsewhere than it was written")
    return _Found(row, scope, str(fields["tree_title"]))


class _Restoring:
    """Puts summaries back, the lowest first."""

    def __init__(self, database: Database, lost: list[tuple[str, str]]) -> None:
        self._db = database
        self._lost = lost
        self._trees, self._summaries, self._items = TreeStore(database), SummaryStore(database), ItemStore(database)
        self._known: dict[str, SummaryRow] = {}
        self._told: set[tuple[str, str]] = set()
        self._places: dict[str, int] = {}

    def put(self, found: list[_Found]) -> int:
        """All that can be used; how many."""
        told_above = {child for one in found for child in one.row.child_ids}
        # Of two that tell of the same, a killed process has left one: that of which no other one tells, or else the older.
        found.sort(
            key=lambda one: (
                one.row.level,
                one.row.summary_id not in told_above,
                -one.row.sealed_at_ms,
                one.row.summary_id,
            )
        )
        for one in found:
            held = [
                child
                for child in one.row.child_ids
                if child in self._known or self._items.with_chunk(child) is not None
            ]
            if one.row.summary_id in self._known or any((_realm(one.row), child) in self._told for child in held):
                self._lost.append((one.row.path, "tells of what another summary tells of; it was left alone"))
            elif held:
                self._put_one(one, held)
        jobs: list[NewJob] = [resealing()] if self._summaries.any_stale() else []
        tops: dict[str, list[SummaryRow]] = {}
        for row in self._known.values():
            if row.tree_kind != "global" and (_realm(row), row.summary_id) not in self._told:
                tops.setdefault(row.tree_id, []).append(row)
        for tree_id, rows in tops.items():
            jobs += self._wait_again(tree_id, rows)
        JobStore(self._db).enqueue(jobs, now_ms())
        return len(self._known)

    def _put_one(self, one: _Found, held: list[str]) -> None:
        row = one.row
        self._trees.open(row.tree_kind, one.scope, one.title, row.sealed_at_ms)
        self._summaries.put(row, (index_text(row.title), index_text(row.body)))
        last = row.range_ms[1] if row.range_ms else None
        EntityStore(self._db).put(row.summary_id, "summary", [_mention(e) for e in row.entities], last, row.tree_id)
        if tuple(held) != row.child_ids:
            self._summaries.set_children(row.summary_id, held)
        if row.tree_kind == "source":
            leaves = [child for child in held if child not in self._known]
            self._set_roots(row.tree_id, leaves)
            self._trees.set_lifecycle(leaves, "sealed")
            self._trees.set_parent(held, row.summary_id)
        if row.tree_kind != "global":
            self._told.update((_realm(row), child) for child in held)
            if row.summary_id != summary_id_of(row.tree_id, row.level, load_nodes(self._db, held)):
                self._summaries.set_stale(row.summary_id)  # a day is told anew when its chunks have been examined
        tree = self._trees.tree(row.tree_id)
        assert tree is not None
        if row.level >= tree.max_level:
            self._trees.set_root(row.tree_id, row.summary_id, row.level, row.sealed_at_ms)
        self._known[row.summary_id] = row
        self._places[row.summary_id] = self._place_of(held[0])

    def _place_of(self, node_id: str) -> int:
        if node_id in self._places:
            return self._places[node_id]
        found = self._items.with_chunk(node_id)
        return found[1].seq if found else 0

    def _set_roots(self, tree_id: str, leaves: list[str]) -> None:
        """A leaf that another tree than its own tells of is the whole of its document."""
        for leaf in leaves:
            found = self._items.with_chunk(leaf)
            if found is not None and tree_id_of("source", found[0].source_id) != tree_id:
                own = self._trees.open("source", found[0].source_id, found[0].title, now_ms())
                self._trees.set_root(own, leaf, 0, None)

    def _wait_again(self, tree_id: str, tops: list[SummaryRow]) -> list[NewJob]:
        """Summaries that no other one tells of go back into the buffers: a finished document's root into its folder's."""
        tree = self._trees.tree(tree_id)
        assert tree is not None
        item = self._items.find(tree.scope) if tree.kind == "source" else None
        is_finished = item is not None and is_document(item) and len(tops) == 1 and self._trees.is_sealed(item.item_no)
        jobs: list[NewJob] = []
        for row in tops:
            if item is not None and is_finished:
                container = self._trees.open("source", *container_of(self._db, item), row.sealed_at_ms)
                node = BufferedNode(row.summary_id, row.tokens, item.timestamp_ms or 0, 0, row.sealed_at_ms)
                jobs += buffer_node(self._trees, container, 0, node)
            else:
                moment = row.range_ms[0] if row.range_ms else item.timestamp_ms if item and item.timestamp_ms else 0
                node = BufferedNode(row.summary_id, row.tokens, moment, self._places[row.summary_id], row.sealed_at_ms)
                jobs += buffer_node(self._trees, tree_id, row.level, node)
        return jobs


def _realm(row: SummaryRow) -> str:
    """Within what a node is told of once: all sources together, or one topic."""
    return row.tree_id if row.tree_kind == "topic" else row.tree_kind


def _mention(entity_id: str) -> Mention:
    kind, _, surface = entity_id.partition(":")
    return Mention(entity_id, kind, surface, 0.5)
