"""Answers out of the trees: what a source tells, from the top down to the sentence.

What stands at the top of a tree is its *cover*: every summary that no other one tells of, and the leaves that wait to be
summarised. Together they tell of everything once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from sapwood.clock import from_ms, iso_z, to_ms
from sapwood.recall.cited import said_within, with_cited
from sapwood.recall.hits import QueryResponse, RetrievalHit
from sapwood.recall.query import parse
from sapwood.recall.search import fetch, search
from sapwood.recall.vector_leg import VectorLeg
from sapwood.store.database import Database
from sapwood.store.search import Filters, SearchStore
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import TreeRow, TreeStore

__all__ = [
    "children",
    "corrected_summaries",
    "drill_down",
    "fetch_nodes",
    "matching_summaries",
    "query_source",
    "search_source",
]

_MAX_DEPTH = 32
_TOLD, _SHOWN, _PASSAGES = 50, 3, 1000
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
    shown = ranked[:limit]
    if window != (None, None):
        shown = [said_within(database, hit, *window) if hit.node_kind == "leaf" else hit for hit in shown]
    return QueryResponse(tuple(shown), len(ranked), len(ranked) > limit)


def search_source(
    database: Database,
    trees: Iterable[TreeRow],
    query: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10,
    unit: str = "chunk",
    vectors: VectorLeg | None = None,
) -> QueryResponse:
    """What these trees say about something: their chunks, ranked as a search ranks them, and as `told` the summaries that speak of it.

    Args:
        database, trees, since, until, limit: as for `query_source`.
        query: words.
        unit, vectors: as for `search`.
    """
    tree_ids = [tree.tree_id for tree in trees]
    found = search(
        SearchStore(database), query, limit=limit, unit=unit, since=since, until=until, source_ids=TreeStore(database).sources_below(tree_ids), vectors=vectors
    )  # fmt: skip
    return replace(found, told=matching_summaries(database, query, "tree_id", tree_ids, (since, until)))


def matching_summaries(
    database: Database, query: str, column: str, values: list[str], span: tuple[datetime | None, datetime | None]
) -> tuple[RetrievalHit, ...]:
    """The summaries that speak most of something, of those whose `id` or `tree_id` is one of these; not one above another."""
    parsed = parse(query)
    rows = SummaryStore(database).match(parsed.expression, column, values, _TOLD) if parsed else []
    return _not_one_above_another(database, [row[0] for row in rows], span)


def corrected_summaries(
    database: Database, query: str, span: tuple[datetime | None, datetime | None]
) -> tuple[RetrievalHit, ...]:
    """The summaries in which a person corrected something and that hold all words of a query: what they wrote stands in no chunk."""
    parsed = parse(query)
    return _not_one_above_another(
        database, SummaryStore(database).match_corrected(parsed.whole, _TOLD) if parsed else [], span
    )


def _not_one_above_another(
    database: Database, summary_ids: list[str], span: tuple[datetime | None, datetime | None]
) -> tuple[RetrievalHit, ...]:
    since, until = span
    found = [
        hit
        for hit in fetch_nodes(database, summary_ids)
        if (since is None or (hit.time_range_end and datetime.fromisoformat(hit.time_range_end) >= since))
        and (until is None or (hit.time_range_start and datetime.fromisoformat(hit.time_range_start) <= until))
    ]
    chosen: list[RetrievalHit] = []
    for hit in found:
        if not any(hit.node_id in other.child_ids or other.node_id in hit.child_ids for other in chosen):
            chosen.append(hit)
    return tuple(chosen[:_SHOWN])


def drill_down(database: Database, node_id: str, *, depth: int = 1, limit: int = 0, query: str = "") -> QueryResponse:
    """What stands below a summary, siblings before descendants; nothing below a leaf or an unknown id. With a query, what speaks most
    of it comes first. Chunks come with the passages on which the summary above them rests, or that match.

    Args:
        database: the store.
        node_id: of a summary, whole or its beginning.
        depth: how many levels down, at most 32; 0 gives nothing.
        limit: how many hits; 0 for all.
    """
    level = fetch_nodes(database, [node_id])
    found: list[
        tuple[RetrievalHit, RetrievalHit]
    ] = []  # with the summary above; a chunk of a slow chat is told of by several days
    for _ in range(min(depth, _MAX_DEPTH)):
        below = [(child, hit) for hit in level for child in children(database, hit)]
        level = [child for child, _ in below]
        found += below
    matches: dict[int, float] = {}
    if query.strip() and (parsed := parse(query)):
        scores, matches = _relevance(database, [hit for hit, _ in found], parsed.expression)
        found.sort(key=lambda entry: -scores.get(entry[0].node_id, 0.0))
    shown = found[:limit] if limit > 0 else found
    hits = tuple(with_cited(database, *entry, matches) if entry[0].node_kind == "leaf" else entry[0] for entry in shown)
    return QueryResponse(hits, len(found), len(shown) < len(found))


def _relevance(
    database: Database, nodes: list[RetrievalHit], expression: str
) -> tuple[dict[str, float], dict[int, float]]:
    """How well nodes match, each kind against its own best, and the scores of the passages that match."""
    ids = [node.node_id for node in nodes]
    scores = _shares(SummaryStore(database).match(expression, "id", ids, len(ids)))
    store = SearchStore(database)
    chunks = tuple(node.node_id for node in nodes if node.node_kind == "leaf")
    rows = store.match(expression, Filters(chunk_ids=chunks, include_dropped=True), _PASSAGES) if chunks else []
    scores |= _shares(store.chunks_of([row[0] for row in rows], [row[1] for row in rows]))
    return scores, {row[0]: row[1] for row in rows}


def _shares(rows: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The best score of each node as a share of the best of all."""
    best: dict[str, float] = {}
    for node_id, score in rows:
        best[node_id] = max(score, best.get(node_id, 0.0))
    most = max(best.values(), default=0.0)
    return {node_id: score / most for node_id, score in best.items()} if most > 0 else best


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
