"""What must hold between leaves, buffers and summaries, as counts of what does not."""

from __future__ import annotations

from sapwood.store.database import Database

__all__ = ["tree_faults"]

_WAITS = "SELECT b.node_id FROM mem_tree_buffers b JOIN mem_tree_trees t ON t.id = b.tree_id AND t.kind = 'source'"
_TOLD = "SELECT k.child_id FROM mem_tree_summary_children k JOIN mem_tree_summaries s ON s.id = k.summary_id AND s.tree_kind = 'source'"
_ROOTS = "SELECT root_id FROM mem_tree_trees WHERE kind = 'source' AND root_id IS NOT NULL"
_NODES = "SELECT id FROM mem_tree_chunks UNION ALL SELECT id FROM mem_tree_summaries"

_FAULTS = {
    "leaves that wait but are in no buffer": (
        f"SELECT count(*) FROM mem_tree_chunks WHERE lifecycle_status = 'buffered' AND id NOT IN ({_WAITS})"
    ),
    "sealed leaves that nothing tells of": (
        f"SELECT count(*) FROM mem_tree_chunks WHERE lifecycle_status = 'sealed' AND id NOT IN ({_TOLD}) AND id NOT IN ({_ROOTS}) AND id NOT IN ({_WAITS})"
    ),
    "leaves in a tree that are in none by their state": (
        "SELECT count(*) FROM mem_tree_chunks WHERE lifecycle_status IN ('pending_extraction', 'admitted', 'dropped') "
        f"AND (id IN ({_WAITS}) OR id IN ({_TOLD}))"
    ),
    "nodes that several summaries of sources tell of": f"SELECT count(*) FROM (SELECT child_id FROM ({_TOLD}) GROUP BY child_id HAVING count(*) > 1)",
    "nodes that wait and are told of": f"SELECT count(*) FROM ({_WAITS}) WHERE node_id IN ({_TOLD})",
    "children of summaries that are gone": f"SELECT count(*) FROM mem_tree_summary_children WHERE child_id NOT IN ({_NODES})",
    "nodes in buffers that are gone": f"SELECT count(*) FROM mem_tree_buffers WHERE node_id NOT IN ({_NODES})",
    "summaries without an entry in the index": (
        "SELECT count(*) FROM mem_tree_summaries WHERE summary_no NOT IN (SELECT id FROM mem_tree_summaries_fts_docsize)"
    ),
    "entities of nodes that are gone": f"SELECT count(*) FROM mem_tree_entity_index WHERE node_id NOT IN ({_NODES})",
}


def tree_faults(database: Database) -> dict[str, int]:
    """Counts by what is wrong; all are 0 in a sound tree."""
    return {name: int(database.value(sql)) for name, sql in _FAULTS.items()}
