"""What is known of a person or a thing, under any of its names, the newest first."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sapwood.clock import from_ms, iso_z, to_ms
from sapwood.recall.hits import PassageHit, QueryResponse, RetrievalHit
from sapwood.recall.trees import fetch_nodes
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.search import SearchStore
from sapwood.text.fold import fold

__all__ = ["EntityMatch", "query_topic", "search_entities"]

_PASSAGES = 5  # shown of a chunk


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity: its id, its kind, an example of how it is written, how many chunks name it, and when the last of them was said."""

    entity_id: str
    kind: str
    surface: str
    mentions: int
    last_seen: str | None

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


def query_topic(
    database: Database, name: str, *, since: datetime | None = None, until: datetime | None = None, limit: int = 10
) -> QueryResponse:
    """Chunks that name somebody or something, or that they wrote, the newest first; the passages that do so come with each.

    Args:
        database: the store.
        name: a name, address, handle or tag, or an entity's id. Names that stand for the same are found together.
        since, until: only what was said in this window.
        limit: how many hits; 0 or less means 10.
    """
    limit = limit if limit > 0 else 10
    entities = EntityStore(database)
    ids = entities.resolve(name)
    leaves = entities.leaves(ids, to_ms(since) if since else None, to_ms(until) if until else None)
    names = [fold(surface) for surface in entities.surfaces(ids)]
    hits = tuple(_with_passages(database, hit, names) for hit in fetch_nodes(database, leaves[:limit]))
    return QueryResponse(hits, len(leaves), len(leaves) > limit)


def _with_passages(database: Database, hit: RetrievalHit, names: list[str]) -> RetrievalHit:
    """The chunk with those of its passages in which one of the names stands, or whose author has it."""
    found: list[PassageHit] = []
    for row in SearchStore(database).passages_of_chunk(hit.node_id):
        text = hit.content[row.start : row.end]
        folded, author = fold(text), fold(row.author)
        if any(name in author or name in folded for name in names):
            date = iso_z(from_ms(row.timestamp_ms)) if row.timestamp_ms is not None else hit.date
            found.append(
                PassageHit(
                    text.strip("\n"),
                    row.start,
                    row.end,
                    date,
                    row.author,
                    row.page,
                    row.source_ref,
                    row.native_id,
                    hit.score,
                )
            )
    return replace(hit, passages=tuple(found[:_PASSAGES]))


def search_entities(
    database: Database, query: str, *, kinds: list[str] | None = None, limit: int = 5
) -> list[EntityMatch]:
    """Entities whose id or spelling holds a text, the most frequent first; at most 100."""
    rows = EntityStore(database).search(query, kinds or [], min(max(limit, 1), 100))
    return [
        EntityMatch(entity_id, kind, surface, mentions, iso_z(from_ms(last)) if last is not None else None)
        for entity_id, kind, surface, mentions, last in rows
    ]
