"""Entities of a chunk as rows of the index."""

from __future__ import annotations

from sapwood.sdk.canonicalise import mailbox
from sapwood.sdk.sources import Person
from sapwood.store.database import Database
from sapwood.store.entities import Mention
from sapwood.store.items import ChunkRow, ItemRow
from sapwood.store.search import SearchStore
from sapwood.text.entities import Entity, canonical_id

__all__ = ["mentions_of"]


def mentions_of(database: Database, item: ItemRow, chunk: ChunkRow, entities: tuple[Entity, ...]) -> list[Mention]:
    """One mention an entity, the surest; people of the item's metadata, and who wrote what stands in the chunk, are certain."""
    best: dict[str, Mention] = {}
    certain: list[tuple[str, str]] = []
    for person in item.metadata.get("people", ()):
        certain += [("person", str(person.get("name", ""))), ("email", str(person.get("address", "")))]
    for author in SearchStore(database).authors_of_chunk(item.item_no, chunk.seq):
        who = mailbox(author) if "@" in author else Person(name=author)
        certain += [("person", who.name), ("email", who.address)]
    for kind, surface in certain:
        if surface.strip():
            entity_id = canonical_id(kind, surface)
            best[entity_id] = Mention(entity_id, kind, surface, 1.0)
    for entity in entities:
        entity_id = canonical_id(entity.kind, entity.surface)
        if entity_id not in best or best[entity_id].score < entity.score:
            best[entity_id] = Mention(entity_id, entity.kind, entity.surface, entity.score)
    return list(best.values())
