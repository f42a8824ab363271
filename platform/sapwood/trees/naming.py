"""What the user decides about who is who: written into the vault first, then into the databases, then the topics are told anew."""

from __future__ import annotations

from sapwood.clock import now_ms
from sapwood.errors import ConfigurationError, NotFoundError
from sapwood.ingest import decisions
from sapwood.ingest.followup import writing_page
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.identities import IdentityStore
from sapwood.store.jobs import JobStore
from sapwood.store.trees import TreeStore, tree_id_of
from sapwood.trees.topic_page import keep_notes, page_notes, write_topic_page
from sapwood.trees.topics import TOPIC, TopicTrees
from sapwood.workspace import Workspace

__all__ = ["merge_entities", "rename_entity", "split_entity"]

_LONGEST = 200


def merge_entities(workspace: Workspace, database: Database, names: list[str]) -> str:
    """These names stand for one person or thing, called as the first one is; its id.

    Raises:
        NotFoundError: nobody and nothing is called so.
        ConfigurationError: they are one already.
    """
    identities = IdentityStore(database)
    ids = [entity_id for name in names for entity_id in _known(database, name)]
    if len({identities.head(entity_id) for entity_id in ids}) < 2:
        raise ConfigurationError(
            " and ".join(names), "are one already", f"`sapwood entities list {names[0]!r}` shows all its names."
        )
    with database.transaction():
        before = identities.group(ids)
        decisions.record_entities(workspace, "entity_merge", ids, identities.merge(ids))
        _regroup(workspace, database, before)
    return identities.head(ids[0])


def split_entity(workspace: Workspace, database: Database, name: str) -> list[str]:
    """What is called exactly so stands for itself alone from now on; the ids that were taken out of their groups.

    Raises:
        NotFoundError: nobody and nothing is called so.
        ConfigurationError: it stands for itself already.
    """
    identities = IdentityStore(database)
    known = set(_known(database, name))
    ids = [i for i in dict.fromkeys(identities.called(name)) if i in known and len(identities.group([i])) > 1]
    if not ids:
        raise ConfigurationError(
            name, "stands for itself already", f"`sapwood entities list {name!r}` shows all its names."
        )
    with database.transaction():
        before = identities.group(ids)
        decisions.record_entities(workspace, "entity_split", ids, identities.split(ids))
        _regroup(workspace, database, before)
    return ids


def rename_entity(workspace: Workspace, database: Database, name: str, new: str) -> str:
    """Somebody or something is called otherwise from now on, and is found by that name too; its id.

    Raises:
        NotFoundError: nobody and nothing is called so.
        ConfigurationError: the new name is empty, very long, or that of another one.
    """
    identities = IdentityStore(database)
    called = " ".join(new.split())
    if not 0 < len(called) <= _LONGEST:
        raise ConfigurationError(
            repr(new[:40]), f"is no name: it has {len(called)} letters", f"Give one of 1 to {_LONGEST} letters."
        )
    heads = sorted({identities.head(entity_id) for entity_id in _known(database, name)})
    count = EntityStore(database).leaf_count
    head = max(heads, key=lambda h: count(identities.group([h]), None, None))
    if any(identities.head(entity_id) not in heads for entity_id in identities.resolve(called)):
        raise ConfigurationError(
            called, "is what another one is called", f"Make one of the two: sapwood entities merge {name!r} {called!r}"
        )
    with database.transaction():
        before = identities.group([head])
        decisions.record_entities(workspace, "entity_rename", [head], [], name=called)
        identities.rename(head, called)
        _regroup(workspace, database, before)
    return head


def _known(database: Database, name: str) -> list[str]:
    ids = IdentityStore(database).resolve(name)
    if not ids:
        near = ", ".join(row[2] for row in EntityStore(database).search(name, [], 3))
        step = (
            f"Perhaps you mean: {near}." if near else "`sapwood entities list TEXT` looks for names that hold a text."
        )
        raise NotFoundError(name, "nobody and nothing is called so", step)
    return ids


def _regroup(workspace: Workspace, database: Database, before: list[str]) -> None:
    """Tell the topics of these ids anew. What a person wrote on their pages goes onto the page of the first group that has one."""
    pages = {head: page_notes(workspace, head) for head in before}
    topics = TopicTrees(database)
    JobStore(database).enqueue(topics.regroup(before), now_ms())
    heads = sorted({IdentityStore(database).head(entity_id) for entity_id in before})
    trees = [tree for head in heads if (tree := TreeStore(database).tree(tree_id_of(TOPIC, head))) is not None]
    moved = [notes for head, notes in pages.items() if notes and head not in {tree.scope for tree in trees}]
    if moved and trees:
        own = pages.get(trees[0].scope, "")
        write_topic_page(workspace, database, trees[0].tree_id, notes="\n\n".join(filter(None, [own, *moved])))
    elif moved:
        keep_notes(workspace, moved)
    JobStore(database).enqueue([writing_page(tree.tree_id) for tree in TreeStore(database).trees(TOPIC)], now_ms())
