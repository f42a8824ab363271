"""What the jobs about one chunk have in common."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo

from sapwood.clock import now_ms
from sapwood.jobs.outcome import Defer, Superseded
from sapwood.models.http import ModelUnavailable
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.jobs import NewJob
from sapwood.trees.buffering import place_leaf
from sapwood.trees.digest import place_in_days

__all__ = ["index_mentions", "is_still_there", "place", "until_available"]

_RETRY_MS = 60_000


def is_still_there(items: ItemStore, chunk: ChunkRow) -> bool:
    """True when a chunk shows what it showed when it was read; False when it is retired.

    Raises:
        Superseded: it shows another text.
    """
    now = items.with_chunk(chunk.chunk_id)
    if now is not None and now[1].shown != chunk.shown:
        raise Superseded
    return now is not None


def index_mentions(database: Database, item: ItemRow, chunk: ChunkRow, mentions: Iterable[Mention]) -> None:
    """Put the entities of a chunk into the index; its note is tagged anew when they are others."""
    entities = EntityStore(database)
    moment = chunk.range_ms[1] if chunk.range_ms else item.timestamp_ms
    if not item.is_dated:
        moment = None
    if entities.put(chunk.chunk_id, "leaf", mentions, moment):
        entities.mark_untagged(chunk.chunk_id)


def place(database: Database, chunk_id: str, zone: tzinfo, *, dropped: bool) -> list[NewJob]:
    """The jobs that bring a chunk which has been examined into its tree and its days, or take it out of them. Inside of the
    transaction that has written the verdict: where the chunk is by now counts."""
    found = ItemStore(database).with_chunk(chunk_id)
    if found is None:
        return []
    return [*place_leaf(database, *found, dropped=dropped), *place_in_days(database, *found, zone, dropped=dropped)]


def until_available(error: ModelUnavailable) -> Defer:
    """Wait as long as the model asks for, else a minute."""
    return Defer(now_ms() + int(1000 * error.retry_after if error.retry_after else _RETRY_MS), str(error))
