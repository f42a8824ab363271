"""Taking out what is to be forgotten: items, messages, paragraphs, names, and all that tells of them.

The marks come first and the texts go after, a batch of items in one transaction. What is killed in between is finished by the same
command once more.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import PurePosixPath
from typing import Any

from sapwood.clock import iso_z, now, now_ms
from sapwood.forgetting.choosing import Affected, Choice, source_of
from sapwood.ingest import decisions
from sapwood.ingest.commit import Writer, remove_files
from sapwood.ingest.edits import apply_edit, closest
from sapwood.ingest.forgotten import Forgotten
from sapwood.ingest.notes import manifest_text
from sapwood.store.connections import ConnectionStore
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
from sapwood.vault.files import write_atomically
from sapwood.workspace import Workspace

__all__ = ["KEPT", "Forgetting", "Outcome", "holds_any", "places_of"]

KEPT = "trash/forgotten"
"""Where forgotten items wait for the time in which they can be brought back, one file a receipt."""


@dataclass(slots=True)
class Outcome:
    """What went: the receipt's number, and how much of what."""

    number: str
    counts: dict[str, int] = field(default_factory=dict)


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
        outcome = Outcome(secrets.token_hex(4))
        marks = self._marks(choice, affected)
        if keep:
            self._put_aside(outcome.number, choice, affected)
        self._forgotten.add(outcome.number, marks)
        edits: list[tuple[Affected, list[tuple[str, str, str, str]]]] = []
        for one in affected:
            writer = self._writer(one.item)
            if one.whole or one.cut.source is None:
                writer.remove(one.item.item_id)
            else:
                edits.append((one, [c for c in self._items.conflicts() if c[1] == one.item.item_id]))
                if not one.cut.is_whole:
                    writer.store(one.cut.source)
            if writer.full:
                writer.flush()
        for writer in self._writers.values():
            writer.flush()
        for one, waiting in edits:
            self._keep_edits(choice, one, waiting)
        self._forget_the_rest(choice, affected)
        self.tell_anew()
        outcome.counts = _counts(affected)
        self._forgotten.settle(outcome.number, "kept" if keep else "begun", outcome.counts)
        return outcome

    # -- before ---------------------------------------------------------------------------------------------------------

    def _marks(self, choice: Choice, affected: Iterable[Affected]) -> list[str]:
        self._forgotten.ensure_key()
        mark = self._forgotten
        marks = [mark.source(scope) for scope in choice.scopes]
        for one in affected:
            if one.whole and one.cut.source is None and not (one.cut.segments or one.cut.units):
                marks.append(mark.item(one.item.item_id))
                continue
            marks += [mark.unit(text) for text in one.cut.units] + [mark.name(text) for text in one.cut.names]
            for segment in one.cut.segments:
                by_text = choice.holds(segment.text)
                marks.append(
                    mark.unit(segment.text) if by_text else mark.segment(source_of(one.item, one.chunks), segment)
                )
        marks += [mark.item(issue) for issue in self._failed(choice)]
        return marks

    def _failed(self, choice: Choice) -> list[str]:
        """Items that could not be read, and whose name alone is to go."""
        issues = ConnectionStore(self._db).issues(limit=-1)
        return [i.item_id for i in issues if any(choice.holds(text) for text in (i.item_id, i.locator, i.message))]

    def _put_aside(self, number: str, choice: Choice, affected: list[Affected]) -> None:
        saved = [self._saved(one) for one in affected]
        names = sorted(
            {one.item.title for one in affected if one.whole} | {one.item.item_id for one in affected if one.whole}
        )
        data = {
            "receipt": number,
            "at": iso_z(now()),
            "texts": choice.texts,
            "as_words": choice.as_words,
            "names": names,
            "items": saved,
        }
        file = self._workspace.root / KEPT / f"{number}.json"
        write_atomically(file, json.dumps(data, ensure_ascii=False))

    def _saved(self, one: Affected) -> dict[str, Any]:
        connector, account, name = VaultFiles(self._db).connection_of(one.item.connection_id)
        return {
            "manifest": manifest_text(one.item, connector, account, name, one.chunks),
            "originals": [chunk.original for chunk in one.chunks],
            "edits": {chunk.chunk_id: chunk.edited for chunk in one.chunks if chunk.edited is not None},
        }

    def _writer(self, item: ItemRow) -> Writer:
        if item.connection_id not in self._writers:
            connection = ForgettingStore(self._db).connection_of(item.item_no)
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
        with self._db.transaction():
            self._items.drop_conflicts_of(item.item_id)
            for chunk_id, item_id, original, edited in waiting:
                if not (choice.holds(original) or choice.holds(edited)):
                    self._items.put_conflict(chunk_id, item_id, original, edited, now_ms())
        for old in one.chunks:
            if old.edited is not None:
                self._keep_edit(one, item, old)

    def _keep_edit(self, one: Affected, item: ItemRow, old: ChunkRow) -> None:
        assert old.edited is not None
        edited = one.edits.get(old.chunk_id, old.edited)
        chunks = self._items.chunks(item.item_no)
        same = next((chunk for chunk in chunks if chunk.chunk_id == old.chunk_id), None)
        target = same or closest(chunks, old.original)
        if target is None:
            return
        version = edited if edited.strip() else None  # nothing is left of it: the original reads as it came
        if version is not None:
            decisions.record_edit(self._workspace, item.item_id, target, version)
        if version != target.edited:
            holders = VaultFiles(self._db).holders(target.chunk_id)
            apply_edit(self._workspace, self._db, holders, target.chunk_id, version, self._zone)

    # -- what tells of it ---------------------------------------------------------------------------------------------------

    def _forget_the_rest(self, choice: Choice, affected: list[Affected]) -> None:
        holds = holds_any(choice, affected)
        with self._db.transaction():
            topics = TopicTrees(self._db)
            for tree in TreeStore(self._db).trees(TOPIC):
                if tree.scope in choice.entity_ids or holds(tree.scope) or holds(tree.title):
                    topics.remove(tree)
            summaries = SummaryStore(self._db)
            for summary in summaries.all():
                if holds(summary.body) or holds(summary.title):
                    summaries.set_stale(summary.summary_id)
                if summary.corrections:
                    left = Corrections.of(summary.corrections).without(holds)
                    summaries.set_corrections(summary.summary_id, left.to_text())
            ForgettingStore(self._db).scrub(holds)
            ForgettingStore(self._db).drop_idle_trees()
        decisions.forget_lines(self._workspace, holds)
        remove_files(self._workspace, self._items)

    def tell_anew(self) -> None:
        """Make all stale summaries anew, at once and without a model, and the pages that show them."""
        summariser = Extractive()
        sealer = Sealer(self._workspace, self._db, summariser, self._zone)
        digester = Digester(self._workspace, self._db, summariser, self._zone)
        summaries = SummaryStore(self._db)
        while (old := summaries.next_stale()) is not None:
            write = digester.retell(PurePosixPath(old.path).stem) if old.tree_kind == GLOBAL else sealer.reseal(old)
            with self._db.transaction():
                write()
        with self._db.transaction():
            ForgettingStore(self._db).drop_idle_trees()
        remove_leftovers(self._workspace, self._db)
        for tree in TreeStore(self._db).trees(TOPIC):
            write_topic_page(self._workspace, self._db, tree.tree_id)
        write_home(self._workspace, self._db)


def places_of(affected: Iterable[Affected]) -> list[str]:
    """Ids and places of the items that go as a whole."""
    return sorted({text for one in affected if one.whole for text in (one.item.item_id, one.item.locator) if text})


def holds_any(choice: Choice, affected: Iterable[Affected]) -> Callable[[str], bool]:
    """True for a text that holds what is to go: the texts of the choice, or the id, title or place of an item that goes as a whole."""
    places = set(places_of(affected))
    scopes = set(choice.scopes)

    def holds(text: str) -> bool:
        return choice.holds(text) or text in places or text in scopes

    return holds


def _counts(affected: list[Affected]) -> dict[str, int]:
    parts = [one.cut for one in affected if not one.whole]
    return {
        "items": sum(one.whole for one in affected),
        "messages": sum(len(cut.segments) for cut in parts),
        "paragraphs": sum(len(cut.units) for cut in parts),
        "names": sum(len(cut.names) for cut in parts),
        "edits": sum(len(one.edits) for one in affected),
    }
