"""Trees and their buffers: what is to be summarised next, one row a node."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from sapwood.store.database import Database

__all__ = ["BufferedNode", "TreeRow", "TreeStore", "tree_id_of"]

_TREE = "id, kind, scope, title, root_id, max_level, status, created_at_ms, last_sealed_at_ms"


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A row of `mem_tree_trees`. `root_id` is the newest node of the highest level: a summary, or the only leaf of a document."""

    tree_id: str
    kind: str
    scope: str
    title: str
    root_id: str | None
    max_level: int
    status: str
    created_at_ms: int
    last_sealed_at_ms: int | None


@dataclass(frozen=True, slots=True)
class BufferedNode:
    """A node that waits to be summarised. `moment_ms` is event time, `place` its place in its document, `added_at_ms` ingest time."""

    node_id: str
    tokens: int
    moment_ms: int
    place: int
    added_at_ms: int


def tree_id_of(kind: str, scope: str) -> str:
    """The id of a tree: its kind and the hash of its scope."""
    return f"{kind}:{hashlib.sha256(scope.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


class TreeStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def open(self, kind: str, scope: str, title: str, now_ms: int) -> str:
        """The id of the tree of a scope, which is made when there is none; its title is kept up to date."""
        tree_id = tree_id_of(kind, scope)
        self._db.run(
            "INSERT INTO mem_tree_trees (id, kind, scope, title, created_at_ms) VALUES (?,?,?,?,?) "
            "ON CONFLICT (id) DO UPDATE SET title = excluded.title WHERE title != excluded.title",
            (tree_id, kind, scope, title, now_ms),
        )
        return tree_id

    def tree(self, tree_id: str) -> TreeRow | None:
        """The tree with this id."""
        row = self._db.row(f"SELECT {_TREE} FROM mem_tree_trees WHERE id = ?", (tree_id,))
        return TreeRow(*row) if row else None

    def trees(self, kind: str | None = None) -> list[TreeRow]:
        """All trees, or all of a kind, by title."""
        where, bindings = ("WHERE kind = ?", (kind,)) if kind else ("", ())
        rows = self._db.rows(f"SELECT {_TREE} FROM mem_tree_trees {where} ORDER BY title, id", bindings)
        return [TreeRow(*row) for row in rows]

    def overview(self) -> list[dict[str, Any]]:
        """Every source tree but those of single documents, with what stands at its top, the one that grew last first."""
        rows = self._db.rows(
            "SELECT t.title, t.scope, t.max_level, (SELECT count(*) FROM mem_tree_summaries s WHERE s.tree_id = t.id), "
            "(SELECT count(*) FROM mem_tree_buffers b WHERE b.tree_id = t.id), t.root_id, t.last_sealed_at_ms FROM mem_tree_trees t "
            "WHERE t.kind = 'source' AND NOT EXISTS (SELECT 1 FROM mem_tree_items i WHERE i.item_id = t.scope) ORDER BY coalesce(t.last_sealed_at_ms, t.created_at_ms) DESC, t.title, t.id"
        )
        keys = ("title", "scope", "level", "summaries", "waiting", "root", "sealed_at_ms")
        return [dict(zip(keys, row, strict=True)) for row in rows]

    def named(self, name: str) -> list[TreeRow]:
        """Source trees by scope, title, the end of a scope such as a file's or folder's path, or a part of either; the best kind
        of match only, by title."""
        wanted = name.strip().rstrip("/").lower()
        ways = (
            ("scope = ?1", name), ("lower(title) = ?1", wanted),
            ("substr(lower(rtrim(scope, '/')), -length(?1) - 1) IN ('/' || ?1, ':' || ?1)", wanted),
            ("instr(lower(title), ?1) OR instr(lower(scope), ?1)", wanted),
        )  # fmt: skip
        for condition, value in ways:
            rows = self._db.rows(
                f"SELECT {_TREE} FROM mem_tree_trees WHERE kind = 'source' AND ({condition}) ORDER BY title, id",
                (value,),
            )
            if rows and wanted:
                return [TreeRow(*row) for row in rows]
        return []

    def set_root(self, tree_id: str, root_id: str | None, level: int, sealed_at_ms: int | None) -> None:
        """The tree's top is now this node."""
        self._db.run(
            "UPDATE mem_tree_trees SET root_id = ?, max_level = ?, last_sealed_at_ms = coalesce(?, last_sealed_at_ms) WHERE id = ?",
            (root_id, level, sealed_at_ms, tree_id),
        )

    def set_status(self, tree_id: str, status: str) -> None:
        """`active`, or `archived`: what it tells can be read, and nothing comes into it."""
        self._db.run("UPDATE mem_tree_trees SET status = ? WHERE id = ?", (status, tree_id))

    def corrections(self, tree_id: str) -> str:
        """What was corrected in summaries that are no more, for those that come; empty for nothing."""
        return str(self._db.value("SELECT corrections_json FROM mem_tree_trees WHERE id = ?", (tree_id,)) or "")

    def set_corrections(self, tree_id: str, corrections: str) -> None:
        """Those are the corrections that wait."""
        self._db.run("UPDATE mem_tree_trees SET corrections_json = ? WHERE id = ?", (corrections, tree_id))

    def delete(self, tree_id: str) -> None:
        """Remove a tree whose summaries are gone."""
        self._db.run("DELETE FROM mem_tree_trees WHERE id = ?", (tree_id,))

    def holding(self, chunk_id: str, kind: str) -> list[TreeRow]:
        """The trees of a kind in which a chunk waits or is told of."""
        rows = self._db.rows(
            f"SELECT {_TREE} FROM mem_tree_trees WHERE kind = ?2 AND id IN (SELECT tree_id FROM mem_tree_buffers WHERE node_id = ?1 "
            "UNION ALL SELECT s.tree_id FROM mem_tree_summary_children k JOIN mem_tree_summaries s ON s.id = k.summary_id WHERE k.child_id = ?1) ORDER BY id",
            (chunk_id, kind),
        )
        return [TreeRow(*row) for row in rows]

    def leaves_of(self, tree_id: str) -> list[str]:
        """The chunks that wait in a tree or are told of by it, by time."""
        rows = self._db.rows(
            "SELECT c.id FROM mem_tree_chunks c WHERE c.id IN (SELECT node_id FROM mem_tree_buffers WHERE tree_id = ?1 "
            "UNION ALL SELECT k.child_id FROM mem_tree_summary_children k JOIN mem_tree_summaries s ON s.id = k.summary_id WHERE s.tree_id = ?1) "
            "ORDER BY coalesce(c.time_range_start_ms, c.timestamp_ms, 0), c.seq_in_source, c.id",
            (tree_id,),
        )
        return [row[0] for row in rows]

    # -- buffers ------------------------------------------------------------------------------------------------------

    def add(self, tree_id: str, level: int, node: BufferedNode) -> bool:
        """Put a node into a buffer; False when it is there already."""
        return bool(
            self._db.run(
                "INSERT OR IGNORE INTO mem_tree_buffers (tree_id, level, node_id, token_count, moment_ms, place, added_at_ms) VALUES (?,?,?,?,?,?,?)",
                (tree_id, level, node.node_id, node.tokens, node.moment_ms, node.place, node.added_at_ms),
            )
        )

    def held(self, tree_id: str, level: int) -> tuple[int, int]:
        """`(nodes, tokens)` of a buffer."""
        row = self._db.row(
            "SELECT count(*), coalesce(sum(token_count), 0) FROM mem_tree_buffers WHERE tree_id = ? AND level = ?",
            (tree_id, level),
        )
        assert row is not None
        return int(row[0]), int(row[1])

    def buffered(self, tree_id: str, level: int, limit: int) -> list[BufferedNode]:
        """The nodes of a buffer in the order in which they are summarised: by time, then by place, then by id."""
        rows = self._db.rows(
            "SELECT node_id, token_count, moment_ms, place, added_at_ms FROM mem_tree_buffers WHERE tree_id = ? AND level = ? "
            "ORDER BY moment_ms, place, node_id LIMIT ?",
            (tree_id, level, limit),
        )
        return [BufferedNode(*row) for row in rows]

    def levels(self, tree_id: str) -> dict[int, int]:
        """How many nodes wait on each level of a tree."""
        return dict(
            self._db.rows(
                "SELECT level, count(*) FROM mem_tree_buffers WHERE tree_id = ? GROUP BY level ORDER BY level",
                (tree_id,),
            )
        )

    def take(self, tree_id: str, level: int, node_ids: list[str]) -> int:
        """Take exactly these nodes out of a buffer; how many of them were there."""
        return self._db.run(
            "DELETE FROM mem_tree_buffers WHERE tree_id = ? AND level = ? AND node_id IN (SELECT value FROM json_each(?))",
            (tree_id, level, json.dumps(node_ids)),
        )

    def sources_below(self, tree_ids: list[str]) -> list[str]:
        """Scopes of these trees, and of the documents whose roots have come into them."""
        rows = self._db.rows(
            "WITH chosen (id) AS (SELECT value FROM json_each(?1)), held (node_id) AS (SELECT b.node_id FROM mem_tree_buffers b JOIN chosen c ON c.id = b.tree_id "
            "UNION SELECT k.child_id FROM mem_tree_summaries s JOIN chosen c ON c.id = s.tree_id JOIN mem_tree_summary_children k ON k.summary_id = s.id) "
            "SELECT scope FROM mem_tree_trees WHERE id IN chosen UNION SELECT t.scope FROM held h JOIN mem_tree_trees t ON t.root_id = h.node_id AND t.kind = 'source' ORDER BY 1",
            (json.dumps(tree_ids),),
        )
        return [row[0] for row in rows]

    def tops(self, tree_id: str) -> list[str]:
        """The nodes of a tree that no summary of it tells of: those that wait, and the root of a finished document."""
        rows = self._db.rows(
            "SELECT node_id FROM mem_tree_buffers WHERE tree_id = ?1 UNION SELECT root_id FROM mem_tree_trees WHERE id = ?1 AND root_id IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM mem_tree_buffers WHERE tree_id = ?1) ORDER BY 1",
            (tree_id,),
        )
        return [row[0] for row in rows]

    def aged(self, added_before_ms: int) -> list[str]:
        """Source and topic trees with leaves that have waited since before a time."""
        rows = self._db.rows(
            "SELECT DISTINCT b.tree_id FROM mem_tree_buffers b JOIN mem_tree_trees t ON t.id = b.tree_id "
            "WHERE b.level = 0 AND b.added_at_ms <= ? AND t.kind != 'global' ORDER BY b.tree_id",
            (added_before_ms,),
        )
        return [row[0] for row in rows]

    # -- leaves -------------------------------------------------------------------------------------------------------

    def set_lifecycle(self, chunk_ids: list[str], status: str) -> None:
        """Where leaves are: `admitted`, `buffered`, `sealed` or `dropped`."""
        self._db.run_many(
            "UPDATE mem_tree_chunks SET lifecycle_status = ? WHERE id = ?",
            [(status, chunk_id) for chunk_id in chunk_ids],
        )

    def set_parent(self, node_ids: list[str], parent_id: str | None) -> None:
        """The summary of a source tree that tells of these nodes."""
        for table in ("mem_tree_summaries SET parent_id", "mem_tree_chunks SET parent_summary_id"):
            self._db.run_many(f"UPDATE {table} = ? WHERE id = ?", [(parent_id, node_id) for node_id in node_ids])

    def is_settled(self, item_no: int) -> bool:
        """True when every chunk of an item has been examined and, unless it was dropped, put into its tree. One that cannot be
        examined holds up nobody."""
        return not self._db.value(
            "SELECT 1 FROM mem_tree_item_chunks ic JOIN mem_tree_chunks c ON c.id = ic.chunk_id "
            "WHERE ic.item_no = ? AND (c.lifecycle_status = 'admitted' OR (c.lifecycle_status = 'pending_extraction' AND NOT EXISTS "
            "(SELECT 1 FROM mem_tree_jobs j WHERE j.status = 'failed' AND j.dedupe_key = 'extract:' || c.id))) LIMIT 1",
            (item_no,),
        )

    def is_sealed(self, item_no: int) -> bool:
        """True when every chunk of an item is told of."""
        return not self._db.value(
            "SELECT 1 FROM mem_tree_item_chunks ic JOIN mem_tree_chunks c ON c.id = ic.chunk_id WHERE ic.item_no = ? AND c.lifecycle_status != 'sealed' LIMIT 1",
            (item_no,),
        )

    def is_finished(self, tree_id: str) -> bool:
        """True for a document's tree that has been told up to one root: nothing waits in it any more."""
        return bool(
            self._db.value(
                "SELECT root_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM mem_tree_buffers WHERE tree_id = ?1) FROM mem_tree_trees WHERE id = ?1",
                (tree_id,),
            )
        )

    def release(self, item_no: int) -> None:
        """The leaves of an item are in no tree any more."""
        self._db.run(
            "UPDATE mem_tree_chunks SET lifecycle_status = 'admitted', parent_summary_id = NULL WHERE lifecycle_status IN ('buffered', 'sealed') "
            "AND id IN (SELECT chunk_id FROM mem_tree_item_chunks WHERE item_no = ?)",
            (item_no,),
        )

    def quiet_leaves(self, before_ms: int) -> list[tuple[str, str]]:
        """`(chunk, source)` of last chunks of items that are not final but have not changed since before a time."""
        return self._db.rows(
            "SELECT c.id, c.source_id FROM mem_tree_chunks c JOIN mem_tree_item_chunks ic ON ic.chunk_id = c.id JOIN mem_tree_items i ON i.item_no = ic.item_no "
            "WHERE c.lifecycle_status = 'admitted' AND NOT i.final AND i.updated_at_ms <= ? ORDER BY c.id",
            (before_ms,),
        )

    def counts(self) -> dict[str, Any]:
        """Numbers for `status`."""
        value = self._db.value
        return {
            "trees": int(value("SELECT count(*) FROM mem_tree_trees")),
            "summaries": int(value("SELECT count(*) FROM mem_tree_summaries")),
            "stale": int(value("SELECT count(*) FROM mem_tree_summaries WHERE stale")),
            "waiting": int(value("SELECT count(*) FROM mem_tree_buffers")),
        }
