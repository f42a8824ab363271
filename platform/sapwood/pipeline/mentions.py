"""Entities of a chunk as rows of the index."""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import parseaddr

from sapwood.store.entities import Mention
from sapwood.store.items import ItemRow
from sapwood.text.entities import Entity, canonical_id

__all__ = ["mentions_of"]


def mentions_of(item: ItemRow, authors: Iterable[str], entities: tuple[Entity, ...]) -> list[Mention]:
    """One mention an entity, the surest; people of the item's metadata, and who wrote what stands in the chunk, are certain."""
    best: dict[str, Mention] = {}
    certain: list[tuple[str, str]] = []
    for person in item.metadata.get("people", ()):
        certain += [("person", str(person.get("name", ""))), ("email", str(person.get("address", "")))]
    for author in authors:
        name, address = parseaddr(author) if "@" in author else (author, "")
        certain += [("person", name), ("email", address)]
    for kind, surface in certain:
        if surface.strip():
            entity_id = canonical_id(kind, surface)
            best[entity_id] = Mention(entity_id, kind, surface, 1.0)
    for entity in entities:
        entity_id = canonical_id(entity.kind, entity.surface)
        if entity_id not in best or best[entity_id].score < entity.score:
            best[entity_id] = Mention(entity_id, entity.kind, entity.surface, entity.score)
    return list(best.values())
