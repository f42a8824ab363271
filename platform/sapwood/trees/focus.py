"""Of a chunk, only what is about somebody: the passages that name them, or that they wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.identities import IdentityStore
from sapwood.store.search import PassageRow, SearchStore
from sapwood.text.entities import occurrences, stands_alone
from sapwood.text.fold import fold
from sapwood.trees.nodes import Node

__all__ = ["focused", "names_of", "passages_naming"]


def names_of(database: Database, entity_ids: Iterable[str]) -> list[str]:
    """How these are written, folded for comparison."""
    written = EntityStore(database).written_as(IdentityStore(database).group(entity_ids))
    return [name for name in dict.fromkeys(map(fold, written)) if name]


def passages_naming(database: Database, chunk_id: str, text: str, names: Sequence[str]) -> list[PassageRow]:
    """The passages of a chunk whose text holds one of these folded names, or whose author does; `text` is what the chunk shows."""
    return [
        row
        for row in SearchStore(database).passages_of_chunk(chunk_id)
        if any(_stands_in(name, fold(row.author)) for name in names)
        or any(_stands_in(name, fold(text[row.start : row.end])) for name in names)
    ]


def focused(database: Database, nodes: Iterable[Node], names: Sequence[str]) -> list[Node]:
    """Nodes with what they say about somebody; one that does so as a whole, or is a summary, stays as it is."""
    found: list[Node] = []
    for node in nodes:
        rows = passages_naming(database, node.node_id, node.text, names) if node.kind is not None else []
        spoken = "\n\n".join(node.text[row.start : row.end].strip("\n") for row in rows)
        found.append(replace(node, text=spoken) if spoken.strip() else node)
    return found


def _stands_in(name: str, text: str) -> bool:
    """True where a name stands by itself."""
    return any(stands_alone(text, at, at + len(name)) for at in occurrences(name, text))
