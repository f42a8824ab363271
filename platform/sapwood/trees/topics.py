"""Topic trees: one for each person or thing that is hot, out of the chunks that name it.

A tree is made when its entity becomes hot, with the chunks of the last thirty days; it is archived when the entity has become cold, and
goes on when it is hot again. Only chunks come into it, never summaries of other trees, and none from before those thirty days.
"""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.clock import now_ms
from sapwood.ingest.followup import appending_topic, resealing, routing, writing_page
from sapwood.ingest.topic_pages import pages_of
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.hotness import MOMENTS, HotnessStore
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ItemStore
from sapwood.store.jobs import NewJob
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import BufferedNode, TreeRow, TreeStore, tree_id_of
from sapwood.trees.buffering import buffer_node
from sapwood.trees.hotness import ARCHIVED_BELOW, CREATED_FROM, WINDOW_MS, hotness
from sapwood.vault.paths import topic_page_path

__all__ = ["TOPIC", "TopicTrees", "append_to_topic"]

TOPIC = "topic"
_DAY_MS = 86_400_000
_BACKFILL = 500  # leaves
_EVERY = 10  # mentions
_UNSEEN = 3  # with fewer mentions than this since the last look nothing can have become hot


class TopicTrees:
    """Makes topic trees, archives them and brings them back. The caller holds the transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._trees = TreeStore(database)
        self._summaries = SummaryStore(database)
        self._hotness = HotnessStore(database)
        self._identities = IdentityStore(database)

    def route(self, chunk_id: str) -> list[NewJob]:
        """A chunk has been examined: count whom it names, and put it into their trees. It leaves those whose entity it does not
        name any more."""
        now = now_ms()
        mentions = EntityStore(self._db).of_node(chunk_id)
        heads = sorted({self._identities.head(m.entity_id) for m in mentions if m.kind not in MOMENTS})
        moment = EntityStore(self._db).moment_of(chunk_id)
        jobs: list[NewJob] = []
        for tree in self._trees.holding(chunk_id, TOPIC):
            if tree.scope not in heads:
                self._summaries.take_out(tree.tree_id, chunk_id)
                jobs += [resealing(), writing_page(tree.tree_id)]
        for head in heads:
            if moment is not None and now - WINDOW_MS <= moment <= now + _DAY_MS:
                unseen, known = self._hotness.count(head, moment)
                if unseen >= max(
                    _EVERY, known // 20
                ):  # so that looking costs the same for each mention, however many there are
                    jobs += self.look_at(head)
            topic = self._trees.tree(tree_id_of(TOPIC, head))
            if (
                topic is not None
                and topic.status == "active"
                and moment is not None
                and moment >= topic.created_at_ms - WINDOW_MS
            ):
                jobs.append(appending_topic(chunk_id, topic.tree_id))
        return jobs

    def look_at(self, entity_id: str) -> list[NewJob]:
        """Work out how hot a group is: its tree is made, brought back, or archived."""
        now = now_ms()
        head = self._identities.head(entity_id)
        group = self._identities.group([head])
        named = self._hotness.named(group, now - WINDOW_MS, now + _DAY_MS)
        heat = hotness(named, now)
        last = named.last_ms if named.last_ms is not None else now if named.queries else now - WINDOW_MS
        self._hotness.put(head, heat, named.mentions, last)
        tree = self._trees.tree(tree_id_of(TOPIC, head))
        if heat >= CREATED_FROM and named.mentions and (tree is None or tree.status == "archived"):
            leaves = self._hotness.leaves(group, now - WINDOW_MS, now + _DAY_MS, _BACKFILL)
            return self._grow(head, reversed(leaves), now)
        if tree is not None and tree.status == "active" and heat < ARCHIVED_BELOW:
            self._trees.set_status(tree.tree_id, "archived")
            return [writing_page(tree.tree_id)]
        return []

    def sweep(self) -> list[NewJob]:
        """Once a day: look at all that may have become hot, or cold."""
        now = now_ms()
        due = dict.fromkeys(self._hotness.worth_a_look(_UNSEEN, ARCHIVED_BELOW))
        due |= dict.fromkeys(tree.scope for tree in self._trees.trees(TOPIC) if tree.status == "active")
        jobs = [job for entity_id in due for job in self.look_at(entity_id)]
        self._hotness.forget(now - WINDOW_MS)
        return jobs

    def regroup(self, before: Iterable[str]) -> list[NewJob]:
        """Groups are others than they were: what their trees held is told anew, for each group by itself.

        Args:
            before: all ids of the groups as they were, which are those of the groups as they are.
        """
        ids = sorted(set(before))
        held: dict[str, None] = {}
        began = now_ms()
        for tree in filter(None, (self._trees.tree(tree_id_of(TOPIC, entity_id)) for entity_id in ids)):
            held |= dict.fromkeys(self._trees.leaves_of(tree.tree_id))
            began = min(began, tree.created_at_ms)
            self.remove(tree)
        self._hotness.drop(ids)
        jobs: list[NewJob] = []
        for head in sorted({self._identities.head(entity_id) for entity_id in ids}):
            group = self._identities.group([head])
            told = [leaf for leaf in held if not set(group).isdisjoint(EntityStore(self._db).ids_of_node(leaf))]
            lately = self._hotness.leaves(group, began - WINDOW_MS, now_ms() + _DAY_MS, _BACKFILL) if told else []
            jobs += self._grow(head, dict.fromkeys([*told, *reversed(lately)]), began) if told else []
            jobs.append(routing(entity_id=head))
        return jobs

    def remove(self, tree: TreeRow) -> None:
        """A tree goes with all that it told."""
        paths = self._summaries.dissolve(tree.tree_id)
        self._trees.delete(tree.tree_id)
        ItemStore(self._db).log_unlinks([*paths, topic_page_path(tree.scope)])

    def _grow(self, head: str, leaves: Iterable[str], began_ms: int) -> list[NewJob]:
        is_new = self._trees.tree(tree_id_of(TOPIC, head)) is None
        tree_id = self._trees.open(TOPIC, head, self._identities.name_of(head), began_ms)
        self._trees.set_status(tree_id, "active")
        ItemStore(self._db).forget_unlinks([topic_page_path(head)])
        jobs = [job for leaf in leaves for job in append_to_topic(self._db, tree_id, leaf)]
        return [*jobs, writing_page(tree_id), *(self._pages_beside(head) if is_new else ())]

    def _pages_beside(self, head: str) -> list[NewJob]:
        """The pages of those that are named with somebody can lead to their page now."""
        named = EntityStore(self._db).named_with(self._identities.group([head]))
        return pages_of(self._db, (entity_id for entity_id, _, _ in named))


def append_to_topic(database: Database, tree_id: str, chunk_id: str) -> list[NewJob]:
    """Put a chunk into a topic tree; the jobs that follow. A repeat changes nothing."""
    trees = TreeStore(database)
    tree = trees.tree(tree_id)
    found = ItemStore(database).with_chunk(chunk_id)
    if (
        tree is None
        or tree.status != "active"
        or found is None
        or tree_id in {t.tree_id for t in trees.holding(chunk_id, TOPIC)}
    ):
        return []
    item, chunk = found
    if chunk.lifecycle in ("dropped", "pending_extraction"):
        return []
    moment = chunk.range_ms[0] if chunk.range_ms else item.timestamp_ms or 0
    node = BufferedNode(chunk_id, chunk.token_count, moment, chunk.seq, now_ms())
    return [*buffer_node(trees, tree_id, 0, node), writing_page(tree_id)]
