"""Taking out what is to be forgotten: items, messages, paragraphs, names, and all that tells of them.

The marks come first and the texts go after, a batch of items in one transaction. What is killed in between is finished by the same
command once more.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import PurePosixPath
from typing import Any

from sapwood.clock import iso_z, now, now_ms
from sapwood.forgetting.choosing import Affected, Choice, Traces, failed_of, source_of, without_units
from sapwood.ingest import decisions
from sapwood.ingest.commit import Writer, remove_files
from sapwood.ingest.cutting import normal
from sapwood.ingest.edits import apply_edit
from sapwood.ingest.forgotten import Forgotten
from sapwood.ingest.notes import manifest_text
from sapwood.jobs.outcome import Superseded
from sapwood.sdk.sources import Kind
from sapwood.store.connections import Issue
from sapwood.store.database import Database
from sapwood.store.forgetting import ForgettingStore
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import TreeStore
from sapwood.store.vaultfiles import VaultFiles
from sapwood.trees.corrections import Corrections
from sapwood.trees.digest import GLOBAL, Digester
from sapwood.trees.home import write_home
from sapwood.trees.leftovers import remove_leftovers
from sapwood.trees.seal import Sealer
from sapwood.trees.summarising import Extractive
from sapwood.trees.topic_page import write_topic_page
from sapwood.trees.topics import TOPIC, TopicTrees
from sapwood.workspace import Workspace, write_atomically

__all__ = ["KEPT", "Forgetting", "Outcome"]

_CONTENT = 20  # letters of an item that is known again by what it says
KEPT = "trash/forgotten"
"""Where forgotten items wait for the time in which they can be brought back, one file a receipt."""


@dataclass(slots=True)
class Outcome:
    """What went: the receipt's number, how much of what, and by what it is known again."""

    number: str
    counts: dict[str, int]
    traces: Traces


class Forgetting:
    """Takes things out of a workspace. The caller holds the writer lock.

    Args:
        workspace, database: where from.
        zone: of calendar days.
        owner: as for a Writer.
    """

    def __init__(self, workspace: Workspace, database: Database, zone: tzinfo, owner: str) -> None:
        self._workspace = workspace
        self._db = database
        self._zone = zone
        self._owner = owner
        self._items = ItemStore(database)
        self._forgotten = Forgotten(workspace)
        self._writers: dict[int, Writer] = {}

    def forget(self, choice: Choice, affected: list[Affected], *, keep: bool) -> Outcome:
        """Take out all of this; `keep` puts what goes aside first, so that it can be brought back."""
        failed = failed_of(self._db, choice)
        traces = Traces.of(choice, affected, failed)
        outcome = Outcome(secrets.token_hex(4), _counts(affected), traces)
        marks = self._marks(choice, affected, failed)
        waiting = self._items.conflicts()
        if keep:
            put_aside(self._workspace, self._db, outcome.number, traces, affected)
        self._forgotten.add(outcome.number, marks, {**choice.to_json(), "keep": keep})
        self._drop_corrections(traces, affected)
        partly: list[Affected] = []
        for one in affected:
            writer = self._writer(one.item)
            if one.whole or one.cut.source is None:
                writer.remove(one.item.item_id)
            else:
                partly.append(one)
                if not one.cut.is_whole:
                    writer.store(one.cut.source)
            if writer.full:
                writer.flush()
        for writer in self._writers.values():
            writer.flush()
        for one in partly:
            self._keep_edits(choice, one, [edit for edit in waiting if edit[1] == one.item.item_id])
        self._forget_the_rest(traces)
        self.tell_anew()
        with self._db.transaction():
            ForgettingStore(self._db).drop_unnamed_entities()
        self._forgotten.settle(outcome.number, "kept" if keep else "begun", outcome.counts, finished=keep)
        return outcome

    # -- before ---------------------------------------------------------------------------------------------------------

    def _marks(self, choice: Choice, affected: Iterable[Affected], failed: Iterable[Issue]) -> list[str]:
        self._forgotten.ensure_key()
        mark = self._forgotten
        marks = [mark.source(scope) for scope in choice.scopes]
        for one in affected:
            source = source_of(one.item, one.chunks)
            if one.whole and (source.kind is not Kind.CHAT or not one.cut.segments):
                marks.append(mark.item(one.item.item_id))
                if len(normal("".join(part.text for part in source.segments))) >= _CONTENT:
                    marks.append(mark.content(source))
            marks += [mark.unit(text) for text in one.cut.units] + [mark.name(text) for text in one.cut.names]
            for segment in one.cut.segments:
                marks.append(mark.segment(source, segment))
                if choice.holds(segment.text):
                    marks.append(mark.unit(segment.text))
        return [*marks, *(mark.item(issue.item_id) for issue in failed)]

    def _writer(self, item: ItemRow) -> Writer:
        if item.connection_id not in self._writers:
            connection = (item.connection_id, *VaultFiles(self._db).connection_of(item.connection_id))
            self._writers[item.connection_id] = Writer(
                self._workspace, self._db, connection, zone=self._zone, owner=self._owner
            )
        return self._writers[item.connection_id]

    # -- edits ----------------------------------------------------------------------------------------------------------

    def _keep_edits(self, choice: Choice, one: Affected, waiting: list[tuple[str, str, str, str]]) -> None:
        """What the user made of an item's chunks stays, without what is to go."""
        decisions.forget_items(self._workspace, {one.item.item_id})
        item = self._items.find(one.item.item_id)
        if item is None:
            return
        left = [
            (chunk_id, without_units(choice, original), without_units(choice, edited))
            for chunk_id, _, original, edited in waiting
        ]
        for old in one.chunks:
            if old.edited is None:
                continue
            edited = one.edits.get(old.chunk_id, old.edited)
            if not self._edit_again(choice, item, old, edited if edited.strip() else None) and edited.strip():
                left.append((old.chunk_id, without_units(choice, old.original), edited))
        with self._db.transaction():
            self._items.drop_conflicts_of(item.item_id)
            for chunk_id, original, edited in left:
                if edited.strip():
                    self._items.put_conflict(chunk_id, item.item_id, original, edited, now_ms())
        for chunk_id, original, edited in left:
            if edited.strip():
                decisions.record_waiting(self._workspace, item.item_id, chunk_id, original, edited)

    def _edit_again(self, choice: Choice, item: ItemRow, old: ChunkRow, edited: str | None) -> bool:
        """Put the user's version onto the chunk that says what the old one said, but for what is gone; False when none does."""
        rest = normal(without_units(choice, old.original))
        chunks = self._items.chunks(item.item_no)
        target = next((chunk for chunk in chunks if chunk.chunk_id == old.chunk_id), None) or next(
            (chunk for chunk in chunks if normal(chunk.original) == rest), None
        )
        if target is None:
            return False
        if edited is not None:
            decisions.record_edit(self._workspace, item.item_id, target, edited)
        if edited != target.edited:  # None: nothing is left of it, and the original reads as it came
            holders = VaultFiles(self._db).holders(target.chunk_id)
            apply_edit(self._workspace, self._db, holders, target.chunk_id, edited, self._zone)
        return True

    # -- what tells of it ---------------------------------------------------------------------------------------------------

    def _forget_the_rest(self, traces: Traces) -> None:
        holds = traces.hold
        with self._db.transaction():
            for tree in TreeStore(self._db).trees(TOPIC):
                if tree.scope in traces.choice.entity_ids or holds(tree.scope) or holds(tree.title):
                    TopicTrees(self._db).remove(tree)
            summaries = SummaryStore(self._db)
            for summary in summaries.all():
                if holds(summary.body) or holds(summary.title):
                    summaries.set_stale(summary.summary_id)
            store = ForgettingStore(self._db)
            store.scrub(holds)
            store.drop_unnamed_people()
            self._drop_idle_trees()
        decisions.forget_lines(self._workspace, holds)
        remove_files(self._workspace, self._items)

    def _drop_corrections(self, traces: Traces, affected: list[Affected]) -> None:
        """What the user said in summaries about what goes, while it is still known what that was about."""
        gone = {chunk.chunk_id for one in affected if one.whole for chunk in one.chunks}
        summaries, trees = SummaryStore(self._db), TreeStore(self._db)
        with self._db.transaction():
            for summary in summaries.all():
                if summary.corrections:
                    left = Corrections.of(summary.corrections).without(traces.hold, gone).to_text()
                    if left != summary.corrections:
                        summaries.set_corrections(summary.summary_id, left)
                        summaries.set_stale(summary.summary_id)
            for tree in trees.trees():
                if waiting := trees.corrections(tree.tree_id):
                    trees.set_corrections(tree.tree_id, Corrections.of(waiting).without(traces.hold, gone).to_text())

    def _drop_idle_trees(self) -> None:
        for tree_id in ForgettingStore(self._db).idle_trees():
            tree = TreeStore(self._db).tree(tree_id)
            if tree is not None and tree.kind == TOPIC:
                TopicTrees(self._db).remove(tree)
            elif tree is not None:
                TreeStore(self._db).delete(tree_id)

    def tell_anew(self) -> None:
        """Make all stale summaries anew, at once and without a model, and the pages that show them."""
        summariser = Extractive()
        sealer = Sealer(self._workspace, self._db, summariser, self._zone)
        digester = Digester(self._workspace, self._db, summariser, self._zone)
        summaries = SummaryStore(self._db)
        while (old := summaries.next_stale()) is not None:
            try:
                write = digester.retell(PurePosixPath(old.path).stem) if old.tree_kind == GLOBAL else sealer.reseal(old)
                with self._db.transaction():
                    write()
            except Superseded:
                continue  # a worker beside us was faster; it is looked at as it is now
        with self._db.transaction():
            self._drop_idle_trees()
        remove_leftovers(self._workspace, self._db)
        for tree in TreeStore(self._db).trees(TOPIC):
            write_topic_page(self._workspace, self._db, tree.tree_id)
        write_home(self._workspace, self._db)


def put_aside(workspace: Workspace, database: Database, number: str, traces: Traces, affected: list[Affected]) -> None:
    """Keep what goes, for as long as it can be brought back: items, edits, decisions, and pages of topics."""
    item_ids = {one.item.item_id for one in affected}
    pages = {
        path.name: text
        for path in sorted((workspace.vault / "topics").glob("*.md"))
        if traces.hold(text := path.read_text(encoding="utf-8", errors="replace")) or traces.choice.scopes
    }
    data = {
        "receipt": number, "at": iso_z(now()), "choice": traces.choice.to_json(), "places": sorted(traces.places), "clues": list(traces.clues),
        "items": [_saved(database, one) for one in affected],
        "decisions": [line for line in decisions.read(workspace) if line.get("item_id") in item_ids or decisions.speaks(line, traces.hold)],
        "waiting": [list(row) for row in ItemStore(database).conflicts() if row[1] in item_ids],
        "pages": pages,
    }  # fmt: skip
    write_atomically(workspace.root / KEPT / f"{number}.json", json.dumps(data, ensure_ascii=False))


def _saved(database: Database, one: Affected) -> dict[str, Any]:
    connector, account, name = VaultFiles(database).connection_of(one.item.connection_id)
    return {
        "manifest": manifest_text(one.item, connector, account, name, one.chunks),
        "originals": [chunk.original for chunk in one.chunks],
        "edits": {chunk.chunk_id: chunk.edited for chunk in one.chunks if chunk.edited is not None},
    }


def _counts(affected: list[Affected]) -> dict[str, int]:
    parts = [one.cut for one in affected if not one.whole]
    return {
        "items": sum(one.whole for one in affected),
        "messages": sum(len(cut.segments) for cut in parts),
        "paragraphs": sum(len(cut.units) for cut in parts),
        "names": sum(len(cut.names) for cut in parts),
        "edits": sum(len(one.edits) for one in affected),
    }
