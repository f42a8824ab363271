"""When leaves enter trees, and when what has gathered is summarised."""

from __future__ import annotations

import re

from sapwood.ingest.followup import appending, resealing, routing, sealing
from sapwood.store.database import Database
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.jobs import NewJob
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import BufferedNode, TreeRow, TreeStore, tree_id_of
from sapwood.store.vaultfiles import VaultFiles

__all__ = [
    "FANOUT",
    "INPUT_TOKENS",
    "buffer_leaf",
    "buffer_node",
    "container_of",
    "finish_document",
    "place_leaf",
    "should_seal",
    "source_tree",
]

INPUT_TOKENS = 50_000
_HASH_AT_END = re.compile(r"-[0-9a-f]{8}$")  # what tells folders of one name apart
FANOUT = 10


def should_seal(level: int, nodes: int, tokens: int) -> bool:
    """The gate: ten nodes, on the lowest level also 50,000 tokens."""
    return nodes >= FANOUT or (level == 0 and tokens >= INPUT_TOKENS)


def place_leaf(database: Database, item: ItemRow, chunk: ChunkRow, *, dropped: bool) -> list[NewJob]:
    """What follows for the trees when a chunk has been examined. Its rows have been written."""
    if not dropped:
        if _is_open(database, item, chunk):
            return []
        routed = routing(chunk.chunk_id)
        return (
            [routed]
            if chunk.lifecycle in ("buffered", "sealed")
            else [appending(chunk.chunk_id, item.source_id), routed]
        )
    jobs = finish_document(database, item)
    if chunk.lifecycle in ("buffered", "sealed"):  # it said more before it was edited
        SummaryStore(database).replace_node(chunk.chunk_id, None)
        TreeStore(database).set_lifecycle([chunk.chunk_id], "dropped")
        jobs.append(resealing())
    return jobs


def _is_open(database: Database, item: ItemRow, chunk: ChunkRow) -> bool:
    """True for the last chunk of an item that is not final: it may still change, and enters no tree."""
    return not item.final and chunk.seq == ItemStore(database).chunk_count(item.item_no) - 1


def is_document(item: ItemRow) -> bool:
    """True for an item that is a source by itself, as a file is: nothing will be added to its tree but its own chunks."""
    return item.item_id == item.source_id


def source_tree(database: Database, item: ItemRow, now_ms: int) -> TreeRow:
    """The tree of an item's source."""
    store = TreeStore(database)
    title = item.title if is_document(item) else source_title(item)
    found = store.tree(store.open("source", item.source_id, title, now_ms))
    assert found is not None
    return found


def source_title(item: ItemRow) -> str:
    """A name for what an item comes from: its innermost container, else the last part of its source's id."""
    containers = item.metadata.get("container", [])
    return str(containers[-1][1]) if containers else item.source_id.rpartition(":")[2] or item.source_id


def container_of(database: Database, item: ItemRow) -> tuple[str, str]:
    """Scope and title of the tree of the folder, space or drive that a document lies in; on top it is called as its connection."""
    owner = ":".join(item.source_id.split(":", 2)[:2])
    containers = item.metadata.get("container", [])
    if not containers:
        name = VaultFiles(database).connection_of(item.connection_id)[2]
        return f"{owner}:/", _HASH_AT_END.sub("", name) or name
    return f"{owner}:{containers[-1][0]}/", str(containers[-1][1])


def buffer_leaf(database: Database, item: ItemRow, chunk: ChunkRow, now_ms: int) -> list[NewJob]:
    """Put an admitted leaf into the buffer of its source's tree; the jobs that follow. A repeat changes nothing."""
    trees = TreeStore(database)
    if chunk.lifecycle != "admitted":
        return []
    tree = source_tree(database, item, now_ms)
    if is_document(item) and trees.is_finished(tree.tree_id):  # told without this leaf: it is told anew with it
        items = ItemStore(database)
        leaves = [held.chunk_id for held in items.chunks(item.item_no)]
        items.log_unlinks(SummaryStore(database).dissolve(tree.tree_id, leaves))
        trees.release(item.item_no)
        return [*(appending(leaf, item.source_id) for leaf in leaves), resealing()]
    trees.set_lifecycle([chunk.chunk_id], "buffered")
    moment = chunk.range_ms[0] if chunk.range_ms else item.timestamp_ms
    node = BufferedNode(chunk.chunk_id, chunk.token_count, moment or 0, chunk.seq, now_ms)
    jobs = buffer_node(trees, tree.tree_id, 0, node)
    return finish_document(database, item) or jobs


def finish_document(database: Database, item: ItemRow) -> list[NewJob]:
    """A finished item that is a source by itself is told at once; the job that does it, none before all its chunks are in
    its tree."""
    if not is_document(item) or not item.final or not TreeStore(database).is_settled(item.item_no):
        return []
    return [sealing(tree_id_of("source", item.source_id), 0, upward=True)]


def buffer_node(trees: TreeStore, tree_id: str, level: int, node: BufferedNode) -> list[NewJob]:
    """Put a node into a buffer; the job that seals it when the gate is open."""
    trees.add(tree_id, level, node)
    return [sealing(tree_id, level)] if should_seal(level, *trees.held(tree_id, level)) else []
