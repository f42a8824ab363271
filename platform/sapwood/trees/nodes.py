"""Nodes of trees as a summary needs them: chunks and summaries in one shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from sapwood.sdk.sources import Kind
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ItemStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import TreeStore
from sapwood.trees.sentences import Part
from sapwood.vault.chunkfile import body_sha256

__all__ = ["Node", "load_nodes"]


@dataclass(frozen=True, slots=True)
class Node:
    """A child of a summary. `kind` is None for a summary; `title` is that of its item or tree; `link` is its file's name,
    without folder and ending."""

    node_id: str
    kind: Kind | None
    text: str
    tokens: int
    range_ms: tuple[int, int] | None
    score: float
    title: str
    link: str
    tags: tuple[str, ...]
    mentions: tuple[Mention, ...]

    def part(self, told_in: str) -> Part:
        """What a summariser is given; its title is named where the summary is called otherwise."""
        return Part(self.node_id, self.text, self.kind, "" if self.title == told_in else self.title)

    @property
    def sha256(self) -> str:
        """Hash of what it says."""
        return body_sha256(self.text)


def load_nodes(database: Database, node_ids: Iterable[str]) -> list[Node]:
    """The nodes with these ids, in this order; those that are gone are left out."""
    items, entities = ItemStore(database), EntityStore(database)
    wanted = list(node_ids)
    summaries = SummaryStore(database).many(wanted)
    titles = {tree.tree_id: tree.title for s in summaries.values() if (tree := TreeStore(database).tree(s.tree_id))}
    found: list[Node] = []
    for node_id in wanted:
        if summary := summaries.get(node_id):
            found.append(
                Node(
                    node_id, None, summary.body, summary.tokens, summary.range_ms, summary.score, summary.title if summary.tree_kind == "global" else titles[summary.tree_id], PurePosixPath(summary.path).stem,
                    summary.topics, tuple(entities.of_node(node_id)),
                )
            )  # fmt: skip
        elif held := items.with_chunk(node_id):
            item, chunk = held
            said = item.timestamp_ms if item.is_dated else None
            moment = (said, said) if said is not None else None
            found.append(
                Node(
                    node_id, Kind(item.kind), chunk.shown, chunk.token_count, (chunk.range_ms if item.is_dated else None) or moment, items.score(node_id).total, item.title,
                    PurePosixPath(chunk.content_path).stem, tuple(item.metadata.get("tags", ())), tuple(entities.of_node(node_id)),
                )
            )  # fmt: skip
    return found
