"""Sealing: what waits on one level of a tree becomes a summary that waits on the level above.

The summary is made outside of any transaction; the transaction then takes exactly the nodes out of the buffer that the summary
tells of, and does nothing when they have changed meanwhile. Ids are made of what is summarised, so a repeat changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import tzinfo

from sapwood.clock import from_ms, now_ms
from sapwood.ingest.followup import sealing
from sapwood.jobs.outcome import Superseded
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobStore, NewJob
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import BufferedNode, TreeRow, TreeStore
from sapwood.text.fold import index_text
from sapwood.text.tokens import count_tokens
from sapwood.trees.buffering import FANOUT, INPUT_TOKENS, buffer_node, container_of, should_seal
from sapwood.trees.corrections import corrected, with_waiting
from sapwood.trees.files import summary_text, write_file, write_parents
from sapwood.trees.focus import focused, names_of
from sapwood.trees.nodes import Node, load_nodes
from sapwood.trees.sentences import Part
from sapwood.trees.summarising import Summariser, cited
from sapwood.vault.chunkfile import body_sha256
from sapwood.vault.paths import summary_path
from sapwood.workspace import Workspace

__all__ = ["Sealer", "merged_mentions", "span_title", "summary_id_of"]

_MOST_ENTITIES = 200


def summary_id_of(tree_id: str, level: int, nodes: Sequence[Node]) -> str:
    """The id of the summary of these nodes: tree, level, and what each of them is and says."""
    digest = hashlib.sha256(f"{tree_id}\0{level}".encode())
    for node in nodes:
        digest.update(f"\0{node.node_id}\0{node.sha256}".encode())
    return f"L{level}:{digest.hexdigest()[:32]}"


def span_title(range_ms: tuple[int, int] | None, zone: tzinfo) -> str:
    """The days of a span, as a person writes them."""
    if range_ms is None:
        return ""
    first, last = (from_ms(ms).astimezone(zone).date().isoformat() for ms in range_ms)
    return first if first == last else f"{first} – {last}"


class Sealer:
    """Seals buffers and makes stale summaries anew.

    Args:
        workspace: for the files.
        database: the calling thread's connection.
        summariser: makes the texts.
        zone: of the days in titles.
    """

    def __init__(self, workspace: Workspace, database: Database, summariser: Summariser, zone: tzinfo) -> None:
        self._workspace = workspace
        self._db = database
        self._summariser = summariser
        self._zone = zone
        self._trees = TreeStore(database)
        self._summaries = SummaryStore(database)

    def seal(self, tree_id: str, level: int, *, upward: bool = False, force: bool = False) -> Callable[[], None]:
        """Summarise one batch of a buffer; what is returned writes it, inside of a transaction of the caller.

        Args:
            tree_id, level: the buffer.
            force: also when the gate is not open.
            upward: likewise, and then on until one node is left: a document is finished.

        Raises:
            ModelError: the summariser asks a model that cannot answer.
        """
        tree = self._trees.tree(tree_id)
        if tree is not None and upward and not self._is_settled(tree):
            return lambda: None  # not finished after all; its last leaf asks again
        waiting = self._trees.buffered(tree_id, level, FANOUT)
        if tree is None or not (upward or force or should_seal(level, *self._trees.held(tree_id, level))):
            return lambda: None
        batch = _batch(waiting, level)
        if len(batch) < 2:
            return lambda: self._write_lone(tree, level, batch, upward=upward)
        nodes = load_nodes(self._db, [node.node_id for node in batch])
        made, mentions = self._summary(tree, level + 1, nodes)
        waiting_for = self._trees.corrections(tree_id)
        summary, left = with_waiting(made, waiting_for, self._trees.leaves_of(tree_id)) if waiting_for else (made, "")

        def write() -> None:
            _require_unchanged(self._db, nodes)
            if waiting_for:
                if self._trees.corrections(tree_id) != waiting_for:
                    raise Superseded
                self._trees.set_corrections(tree_id, left)
            if self._trees.take(tree_id, level, [node.node_id for node in batch]) != len(batch):
                raise Superseded
            self._put(tree, summary, mentions)
            leaves = [node.node_id for node in nodes if node.kind is not None]
            if tree.kind == "source":
                self._trees.set_lifecycle(leaves, "sealed")
                self._trees.set_parent([node.node_id for node in nodes], summary.summary_id)
                write_parents(self._workspace, self._db, summary.child_ids)
            if summary.level >= tree.max_level:
                self._trees.set_root(tree_id, summary.summary_id, summary.level, summary.sealed_at_ms)
            moment = summary.range_ms[0] if summary.range_ms else batch[0].moment_ms
            place = batch[0].place
            above = BufferedNode(summary.summary_id, summary.tokens, moment, place, now_ms())
            jobs = buffer_node(self._trees, tree_id, summary.level, above)
            self._enqueue([*jobs, *self._more(tree, level, upward=upward)])
            self._write_file(tree, summary, nodes, mentions)

        return write

    def reseal(self, old: SummaryRow) -> Callable[[], None]:
        """Make a stale summary anew out of the children that it has now; what is returned writes it."""
        tree = self._trees.tree(old.tree_id)
        assert tree is not None  # summaries go with their trees
        nodes = load_nodes(self._db, old.child_ids)
        if len(nodes) < 2:
            return lambda: self._write_thinned(tree, old, nodes)
        made, mentions = self._summary(tree, old.level, nodes)
        summary = corrected(made, old.corrections)

        def write() -> None:
            _require_unchanged(self._db, nodes)
            now = self._summaries.get(old.summary_id)
            if now is None or (now.child_ids, now.corrections) != (old.child_ids, old.corrections):
                raise Superseded
            if (summary.summary_id, summary.sha256) == (old.summary_id, old.sha256):  # as it was before
                self._summaries.set_fresh(old.summary_id)
                return
            if summary.summary_id == old.summary_id:  # the same is told otherwise
                self._summaries.delete(old.summary_id)
            self._put(tree, summary, mentions)
            if tree.kind == "source":
                self._trees.set_parent([node.node_id for node in nodes], summary.summary_id)
                self._trees.set_parent([summary.summary_id], old.parent_id)
                write_parents(self._workspace, self._db, summary.child_ids)
            self._summaries.replace_node(old.summary_id, summary.summary_id)
            if summary.summary_id != old.summary_id:
                self._remove(old.summary_id)
            self._write_file(tree, summary, nodes, mentions)

        return write

    def parts_of(self, tree: TreeRow, nodes: Sequence[Node]) -> list[Part]:
        """What a summariser is given of these nodes: of a topic, only what is about it."""
        told = focused(self._db, nodes, names_of(self._db, [tree.scope])) if tree.kind == "topic" else nodes
        return [node.part(tree.title) for node in told]

    # -- making ---------------------------------------------------------------------------------------------------------

    def _summary(self, tree: TreeRow, level: int, nodes: Sequence[Node]) -> tuple[SummaryRow, list[Mention]]:
        mentions = merged_mentions(nodes)
        body = self._summariser.summarise(self.parts_of(tree, nodes), [mention.surface for mention in mentions])
        if not body:  # nothing in them is a sentence: their titles say what they are
            body = "\n\n".join(cited(node.title or node.node_id, number) for number, node in enumerate(nodes, 1))
        ranges = [node.range_ms for node in nodes if node.range_ms]
        range_ms = (min(r[0] for r in ranges), max(r[1] for r in ranges)) if ranges else None
        named = [m for m in mentions if m.surface in body][:_MOST_ENTITIES]
        summary_id = summary_id_of(tree.tree_id, level, nodes)
        title = " · ".join(part for part in (tree.title, span_title(range_ms, self._zone)) if part)
        row = SummaryRow(
            summary_id, tree.tree_id, tree.kind, level, None, tuple(node.node_id for node in nodes), title, body, count_tokens(body),
            tuple(m.entity_id for m in named), tuple(sorted({tag for node in nodes for tag in node.tags})), range_ms,
            max((node.score for node in nodes), default=0.0), now_ms(), self._summariser.name, False,
            summary_path(tree.kind, tree.scope, level, summary_id), body_sha256(body),
        )  # fmt: skip
        return row, named

    def _write_file(
        self, tree: TreeRow, summary: SummaryRow, nodes: Sequence[Node], mentions: Sequence[Mention]
    ) -> None:
        """Last in its transaction: what is killed from here on is done again, and makes the same file."""
        text = summary_text(tree, summary, tuple(node.link for node in nodes), "", mentions)
        write_file(self._workspace, summary.path, text)

    def _is_settled(self, tree: TreeRow) -> bool:
        item = ItemStore(self._db).find(tree.scope) if tree.kind == "source" else None
        return item is None or self._trees.is_settled(item.item_no)

    def _put(self, tree: TreeRow, summary: SummaryRow, mentions: Sequence[Mention]) -> None:
        self._summaries.put(summary, (index_text(summary.title), index_text(summary.body)))
        ItemStore(self._db).forget_unlinks([summary.path])
        moment = summary.range_ms[1] if summary.range_ms else None
        EntityStore(self._db).put(summary.summary_id, "summary", mentions, moment, tree.tree_id)

    # -- writing --------------------------------------------------------------------------------------------------------

    def _write_lone(self, tree: TreeRow, level: int, batch: list[BufferedNode], *, upward: bool) -> None:
        """A node that is alone on its level gets no copy: it goes up to where others are, or is the top."""
        if len(self._trees.buffered(tree.tree_id, level, 2)) != len(batch):
            return  # others came meanwhile, and with them another job
        above = next((number for number in self._trees.levels(tree.tree_id) if number > level), None)
        if batch and upward and above is None:
            self._finish(tree, level, batch[0])
            return
        if batch:
            self._trees.take(tree.tree_id, level, [batch[0].node_id])
            target = above if upward and above is not None else level + 1
            self._enqueue(buffer_node(self._trees, tree.tree_id, target, batch[0]))
        if upward and above is not None:
            self._enqueue([sealing(tree.tree_id, above, upward=True)])

    def _more(self, tree: TreeRow, level: int, *, upward: bool) -> list[NewJob]:
        """What is to be sealed next on this level, or on the next one."""
        left, tokens = self._trees.held(tree.tree_id, level)
        if upward:
            return [sealing(tree.tree_id, level if left else level + 1, upward=True)]
        return [sealing(tree.tree_id, level)] if should_seal(level, left, tokens) else []

    def _finish(self, tree: TreeRow, level: int, top: BufferedNode) -> None:
        """One node tells of all. That of a document leaves its tree's buffer for its folder's."""
        self._trees.set_root(tree.tree_id, top.node_id, level, None)
        item = ItemStore(self._db).find(tree.scope) if tree.kind == "source" else None
        if item is None:
            return
        self._trees.take(tree.tree_id, level, [top.node_id])
        if level == 0:
            self._trees.set_lifecycle([top.node_id], "sealed")
        scope, title = container_of(self._db, item)
        moment = now_ms()
        container = self._trees.open("source", scope, title, moment)
        node = BufferedNode(top.node_id, top.tokens, item.timestamp_ms or 0, 0, moment)
        self._enqueue(buffer_node(self._trees, container, 0, node))

    def _write_thinned(self, tree: TreeRow, old: SummaryRow, nodes: list[Node]) -> None:
        """A summary of which one child or none is left: the child takes its place."""
        now = self._summaries.get(old.summary_id)
        if now is None or now.child_ids != old.child_ids:
            raise Superseded
        self._summaries.replace_node(old.summary_id, nodes[0].node_id if nodes else None)
        if nodes and tree.kind == "source":
            others = [p for p in self._summaries.parents(nodes[0].node_id) if p != old.summary_id]
            self._trees.set_parent([nodes[0].node_id], others[0] if others else None)
        self._remove(old.summary_id)

    def _remove(self, summary_id: str) -> None:
        path = self._summaries.delete(summary_id)
        if path:
            ItemStore(self._db).log_unlinks([path])

    def _enqueue(self, jobs: list[NewJob]) -> None:
        JobStore(self._db).enqueue(jobs, now_ms())


def _batch(waiting: list[BufferedNode], level: int) -> list[BufferedNode]:
    """The first nodes of a buffer that one summary tells of: ten at most, on the lowest level of at most 50,000 tokens."""
    batch: list[BufferedNode] = []
    tokens = 0
    for node in waiting[:FANOUT]:
        tokens += node.tokens
        if level == 0 and batch and tokens > INPUT_TOKENS:
            break
        batch.append(node)
    return batch


def _require_unchanged(database: Database, nodes: Sequence[Node]) -> None:
    now = load_nodes(database, [node.node_id for node in nodes])
    if [(n.node_id, n.sha256) for n in now] != [(n.node_id, n.sha256) for n in nodes]:
        raise Superseded


def merged_mentions(nodes: Sequence[Node]) -> list[Mention]:
    """The entities of all nodes, those of most nodes first."""
    found: dict[str, tuple[int, Mention]] = {}
    for node in nodes:
        for mention in node.mentions:
            count, best = found.get(mention.entity_id, (0, mention))
            found[mention.entity_id] = (count + 1, max(best, mention, key=lambda m: m.score))
    return [mention for _, mention in sorted(found.values(), key=lambda f: (-f[0], -f[1].score, f[1].entity_id))]
