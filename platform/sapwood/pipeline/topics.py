"""`topic_route`: chunks come into the trees of what they name, and entities are looked at once a day and when they are asked for."""

from __future__ import annotations

from sapwood.clock import now_ms
from sapwood.ingest.followup import routing
from sapwood.jobs.outcome import Done, Err, Outcome
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.hotness import HotnessStore
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobRow, JobStore
from sapwood.trees.topic_page import write_topic_page
from sapwood.trees.topics import TopicTrees
from sapwood.workspace import Workspace

__all__ = ["TopicHandler", "asked_for"]


class TopicHandler:
    """The handler of `topic_route`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, job: JobRow, database: Database) -> Outcome:
        """One chunk, one entity, one day's look at all of them, or one page a job."""
        payload = job.payload
        topics = TopicTrees(database)
        if "page" in payload:
            # Inside of the transaction, so that no page is written of what another process has just changed.
            return Done(lambda: write_topic_page(self._workspace, database, str(payload["page"])))
        if "entity" in payload:
            entity_id = str(payload["entity"])
            return Done(lambda: JobStore(database).enqueue(topics.look_at(entity_id), now_ms()))
        if "date" in payload:
            return Done(lambda: JobStore(database).enqueue(topics.sweep(), now_ms()))
        try:
            chunk_id = str(payload["node"]["leaf"])
        except (KeyError, TypeError):
            return Err(f"topic_route: {payload!r} names no chunk, entity, day or page", retryable=False)

        def write() -> None:
            if ItemStore(database).with_chunk(chunk_id) is not None:
                JobStore(database).enqueue(topics.route(chunk_id), now_ms())

        return Done(write)


def asked_for(database: Database, name: str) -> None:
    """Somebody has asked for a person or a thing: that counts, and their tree may be worth while by now."""
    identities, entities = IdentityStore(database), EntityStore(database)
    heads = sorted({identities.head(entity_id) for entity_id in identities.resolve(name)})
    if heads:  # of several of that name, such as a first name that is also written alone, the one of whom most is known
        head = heads[0]
        if len(heads) > 1:
            head = max(heads, key=lambda h: entities.leaf_count(identities.group([h]), None, None))
        HotnessStore(database).asked(head, now_ms())
        JobStore(database).enqueue([routing(entity_id=head)], now_ms())
