"""What the user decides about who is who: written into the vault first, then into the databases, then the topics are told anew."""

from __future__ import annotations

from sapwood.clock import now_ms
from sapwood.errors import ConfigurationError, NotFoundError
from sapwood.ingest import decisions
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.identities import IdentityStore
from sapwood.store.jobs import JobStore
from sapwood.trees.topics import TopicTrees
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
    decisions.record_entities(workspace, "entity_merge", ids)
    with database.transaction():
        before = identities.group(ids)
        identities.merge(ids)
        _regroup(database, before)
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
    decisions.record_entities(workspace, "entity_split", ids)
    with database.transaction():
        before = identities.group(ids)
        identities.split(ids)
        _regroup(database, before)
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
    decisions.record_entities(workspace, "entity_rename", [head], name=called)
    with database.transaction():
        before = identities.group([head])
        identities.rename(head, called)
        _regroup(database, before)
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


def _regroup(database: Database, before: list[str]) -> None:
    JobStore(database).enqueue(TopicTrees(database).regroup(before), now_ms())
