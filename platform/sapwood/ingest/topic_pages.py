"""Which pages of topics show something of a chunk, so that they are written anew when it changes or goes."""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.ingest.followup import writing_page
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.identities import IdentityStore
from sapwood.store.jobs import NewJob
from sapwood.store.trees import TreeStore, tree_id_of

__all__ = ["pages_about", "pages_of"]


def pages_about(database: Database, chunk_ids: Iterable[str]) -> list[NewJob]:
    """The jobs that write them. To be asked while the chunks still name what they named."""
    entities = EntityStore(database)
    return pages_of(database, {entity_id for chunk_id in chunk_ids for entity_id in entities.ids_of_node(chunk_id)})


def pages_of(database: Database, entity_ids: Iterable[str]) -> list[NewJob]:
    """The jobs that write the pages of those of these entities that have one."""
    identities, trees = IdentityStore(database), TreeStore(database)
    ids = sorted({tree_id_of("topic", identities.head(entity_id)) for entity_id in entity_ids})
    return [writing_page(tree_id) for tree_id in ids if trees.tree(tree_id) is not None]
