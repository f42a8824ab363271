"""Answers out of the trees: what a source tells, from the top down to the sentence.

What stands at the top of a tree is its *cover*: every summary that no other one tells of, and the leaves that wait to be
summarised. Together they tell of everything once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sapwood.clock import from_ms, iso_z, to_ms
from sapwood.recall.hits import QueryResponse, RetrievalHit
from sapwood.recall.search import fetch
from sapwood.store.database import Database
from sapwood.store.search import SearchStore
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import TreeRow, TreeStore

__all__ = ["children", "drill_down", "fetch_nodes", "query_source"]

_MAX_DEPTH = 32
Window = tuple[int | None, int | None]


def query_source(
    database: Database,
    trees: Iterable[TreeRow],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10,
) -> QueryResponse:
    """What these trees tell, the newest first, then by score.

    Args:
        database: the store.
        trees: of sources.
        since, until: only what lies in this window: a summary that reaches beyond it gives way to those of its children that
            lie within.
        limit: how many hits; 0 or less means 10.
    """
    window = (to_ms(since) if since else None, to_ms(until) if until else None)
    cover: dict[str, RetrievalHit] = {}
    for tree in trees:
        for hit in fetch_nodes(database, TreeStore(database).tops(tree.tree_id)):
            for part in _within(database, hit, window):
                cover[part.node_id] = part
    ranked = sorted(cover.values(), key=lambda h: (_negative(h.time_range_end or h.date), -h.score, h.node_id))
    limit = limit if limit > 0 else 10
    return QueryResponse(tuple(ranked[:limit]), len(ranked), len(ranked) > limit)


def drill_down(database: Database, node_id: str, *, depth: int = 1, limit: int = 0) -> QueryResponse:
    """What stands below a summary, siblings before descendants; nothing below a leaf or an unknown id.

    Args:
        database: the store.
        node_id: of a summary, whole or its beginning.
        depth: how many levels down, at most 32; 0 gives nothing.
        limit: how many hits; 0 for all.
    """
    level = fetch_nodes(database, [node_id])
    found: list[RetrievalHit] = []
    for _ in range(min(depth, _MAX_DEPTH)):
        level = [child for hit in level if hit.node_kind == "summary" for child in fetch_nodes(database, hit.child_ids)]
        found += level
    shown = found[:limit] if limit > 0 else found
    return QueryResponse(tuple(shown), len(found), len(shown) < len(found))


def children(database: Database, hit: RetrievalHit) -> list[RetrievalHit]:
    """The nodes that a summary tells of, in its order."""
    return fetch_nodes(database, hit.child_ids) if hit.node_kind == "summary" else []


def fetch_nodes(database: Database, node_ids: Iterable[str]) -> list[RetrievalHit]:
    """Summaries and chunks by id (whole, or a beginning of eight or more digits), items by item id; unknown ids are left out."""
    store, summaries = SearchStore(database), SummaryStore(database)
    found: list[RetrievalHit] = []
    for node_id in node_ids:
        summary = summaries.find(node_id) or summaries.of_period(node_id)
        found += [_hit(database, summary)] if summary else fetch(store, [node_id])
    return found


def _within(database: Database, hit: RetrievalHit, window: Window) -> list[RetrievalHit]:
    """A node, or those of its descendants that lie in a window."""
    since, until = window
    if hit.stale:  # what has changed is not told as it was
        return [part for child in children(database, hit) for part in _within(database, child, window)]
    if since is None and until is None:
        return [hit]
    start, end = hit.time_range_start or hit.date, hit.time_range_end or hit.date
    if start is None or end is None or hit.date_source in ("file", "unknown"):
        return []  # nobody knows when that was
    first, last = (to_ms(datetime.fromisoformat(moment)) for moment in (start, end))
    if (since is not None and last < since) or (until is not None and first > until):
        return []
    inside = (since is None or first >= since) and (until is None or last <= until)
    if inside or hit.node_kind != "summary":
        return [hit]
    return [part for child in children(database, hit) for part in _within(database, child, window)]


def _negative(moment: str | None) -> float:
    return -datetime.fromisoformat(moment).timestamp() if moment else float("inf")


def _hit(database: Database, summary: SummaryRow) -> RetrievalHit:
    tree = TreeStore(database).tree(summary.tree_id)
    assert tree is not None
    start, end = (iso_z(from_ms(ms)) for ms in summary.range_ms) if summary.range_ms else (None, None)
    return RetrievalHit(
        node_id=summary.summary_id, node_kind="summary", title=summary.title, author="", date=end, date_source="said" if end else "unknown",
        item_id="", source_id=tree.scope, source_kind=tree.kind, path=f"wiki/{summary.path}", content=summary.body, score=round(summary.score, 4),
        breakdown={"structure": round(summary.score, 4)}, passages=(), time_range_start=start, time_range_end=end, source_ref="",
        child_ids=summary.child_ids, tree_id=tree.tree_id, tree_kind=tree.kind, tree_scope=tree.scope, level=summary.level,
        entities=summary.entities, topics=summary.topics, summariser=summary.summariser, stale=summary.stale,
    )  # fmt: skip
