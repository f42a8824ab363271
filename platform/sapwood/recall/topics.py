"""What is known of a person or a thing, under any of its names, the newest first."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sapwood.clock import from_ms, iso_z, to_ms
from sapwood.recall.cited import as_passage, within
from sapwood.recall.hits import QueryResponse, RetrievalHit
from sapwood.recall.query import parse_name
from sapwood.recall.search import search
from sapwood.recall.trees import fetch_nodes, matching_summaries, query_source
from sapwood.recall.vector_leg import VectorLeg
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.identities import IdentityStore
from sapwood.store.search import Filters, PassageRow, SearchStore
from sapwood.store.trees import TreeStore, tree_id_of
from sapwood.text.fold import CJK_CLASS, fold
from sapwood.trees.extractive import ACT_WORTH
from sapwood.trees.focus import names_of, passages_naming
from sapwood.trees.sentences import act_of
from sapwood.vault.paths import topic_page_path

__all__ = ["EntityMatch", "query_topic", "query_words", "search_entities", "search_topic"]

_PASSAGES = 5  # shown of a chunk
_DAY_MS = 86_400_000
_SPARE = 3  # times as many chunks are looked at where a window may leave some out
_WORDS = re.compile(rf"[^\W\d_{CJK_CLASS}]{{4,}}|\d+|[{CJK_CLASS}]")
_MATCHES = 1000  # passages that hold the words
_NO_ENTITY = "nobody and nothing is known by this name; these texts hold it"
_TOLD = 20  # nodes at the top of a topic tree


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """A person or thing: its id, its kind, how it is called, how many chunks name it, and when the last of them was said; `also` are
    the other ids that stand for the same, `page` is its topic's page in the vault, empty when it has none."""

    entity_id: str
    kind: str
    surface: str
    mentions: int
    last_seen: str | None
    also: tuple[str, ...] = ()
    page: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


def query_topic(
    database: Database, name: str, *, since: datetime | None = None, until: datetime | None = None, limit: int = 10
) -> QueryResponse:
    """Chunks that name somebody or something, or that they wrote, the newest first; the passages that do so come with each. Where
    there is a topic tree, its summaries come beside them as `told`.

    Args:
        database: the store.
        name: a name, address, handle or tag, or an entity's id. Names that stand for the same are found together.
        since, until: only what was said in this window.
        limit: how many hits; 0 or less means 10.
    """
    limit = limit if limit > 0 else 10
    entities = EntityStore(database)
    ids = IdentityStore(database).resolve(name)
    window = (to_ms(since) if since else None, to_ms(until) if until else None)
    names = names_of(database, ids)
    # A chunk of a slow chat reaches over a window in which it says nothing of them: then it is not shown, and others take its place.
    leaves = entities.leaves(ids, *window, limit if window == (None, None) else limit * _SPARE)
    found = [_with_passages(database, hit, names, window) for hit in fetch_nodes(database, leaves)]
    hits = tuple(hit for hit in found if hit is not None)[:limit]
    total = entities.leaf_count(ids, *window) - sum(hit is None for hit in found)
    heads = sorted({IdentityStore(database).head(entity_id) for entity_id in ids})
    trees = [tree for head in heads if (tree := TreeStore(database).tree(tree_id_of("topic", head))) is not None]
    told = [
        hit
        for hit in query_source(database, trees, since=since, until=until, limit=_TOLD).hits
        if hit.node_kind == "summary"
    ]
    return QueryResponse(hits, total, total > len(hits), told=tuple(told))


def search_topic(
    database: Database,
    name: str,
    query: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10,
    unit: str = "chunk",
    vectors: VectorLeg | None = None,
) -> QueryResponse:
    """What is said about something in chunks that name somebody or something, ranked as a search ranks it.

    Args:
        database, name, since, until, limit: as for `query_topic`.
        query: words.
        unit, vectors: as for `search`.
    """
    ids = IdentityStore(database).resolve(name)
    found = search(
        SearchStore(database), query, limit=limit, unit=unit, since=since, until=until, entity_ids=ids, vectors=vectors
    )
    trees = [tree_id_of("topic", IdentityStore(database).head(entity_id)) for entity_id in ids]
    return replace(found, told=matching_summaries(database, query, "tree_id", trees, (since, until)))


def query_words(
    database: Database, name: str, *, since: datetime | None = None, until: datetime | None = None, limit: int = 10
) -> QueryResponse:
    """Texts that hold a name which no entity has, such as that of an undertaking, the newest first, with the passages that hold it.

    Args:
        database, since, until, limit: as for `query_topic`.
        name: words that stand together in the text.
    """
    limit = limit if limit > 0 else 10
    window = (to_ms(since) if since else None, to_ms(until) if until else None)
    expression = parse_name(name).whole
    store = SearchStore(database)
    rows = store.match(expression, Filters(since_ms=window[0], until_ms=window[1]), _MATCHES) if expression else []
    dates = store.dates([row[0] for row in rows])
    newest = sorted((row[0] for row in rows), key=lambda pid: (-dates.get(pid, -_DAY_MS * 10**6), pid))
    chunks = list(dict.fromkeys(chunk_id for chunk_id, _ in store.chunks_of(newest, [0.0] * len(newest))))
    found = (_with_passages(database, hit, [fold(name)], window) for hit in fetch_nodes(database, chunks[:limit]))
    return QueryResponse(
        tuple(hit for hit in found if hit is not None), len(chunks), len(chunks) > limit, legs={"names": _NO_ENTITY}
    )


def _with_passages(
    database: Database, hit: RetrievalHit, names: list[str], window: tuple[int | None, int | None]
) -> RetrievalHit | None:
    """The chunk with those of its passages in which one of the names stands, or whose author has it: the ones that say most, of
    all its days, the newest day first. None when none of them was said in the window."""
    naming = passages_naming(database, hit.node_id, hit.content, names)
    said = within(naming, *window)
    if naming and not said:
        return None
    rows = _chosen(said, hit.content)
    return replace(hit, passages=tuple(as_passage(hit, row) for row in rows))


def _chosen(rows: list[PassageRow], content: str) -> list[PassageRow]:
    """`_PASSAGES` of them: the best of each day, the newest days first, then the second best of each day, and so on."""
    days: dict[int, list[PassageRow]] = {}
    for row in rows:
        days.setdefault((row.timestamp_ms or 0) // _DAY_MS, []).append(row)
    ranked = [
        (-day, sorted(said, key=lambda row: (-_telling(content[row.start : row.end]), row.start)))
        for day, said in sorted(days.items(), reverse=True)
    ]
    taken = sorted((place, day, row.start, row) for day, said in ranked for place, row in enumerate(said))[:_PASSAGES]
    return [row for _, _, _, row in sorted(taken, key=lambda entry: (entry[1], entry[2]))]


def _telling(text: str) -> float:
    """How much a passage says: its different words up to twenty, weighed by what is done by saying it."""
    words = set(_WORDS.findall(text.lower()))
    return min(sum(0.5 if len(word) == 1 else 1.0 for word in words), 20.0) * ACT_WORTH[act_of(text.rstrip())]


def search_entities(
    database: Database, query: str, *, kinds: list[str] | None = None, limit: int = 5
) -> list[EntityMatch]:
    """Entities whose id or spelling holds a text, the most frequent first; at most 100. Ids that stand for the same are one."""
    limit = min(max(limit, 1), 100)
    identities, entities, trees = IdentityStore(database), EntityStore(database), TreeStore(database)
    found: dict[str, EntityMatch] = {}
    for entity_id, kind, surface, mentions, last in entities.search(query, kinds or [], 4 * limit):
        head = identities.head(entity_id)
        if head in found or len(found) == limit:
            continue
        group = identities.group([head])
        others = tuple(other for other in group if other != entity_id)
        tree = trees.tree(tree_id_of("topic", head))
        found[head] = EntityMatch(
            entity_id, kind, identities.name_of(head) if others else surface, entities.leaf_count(group, None, None) if others else mentions,
            iso_z(from_ms(last)) if last is not None else None, others, f"wiki/{topic_page_path(head)}" if tree is not None else "",
        )  # fmt: skip
    return sorted(found.values(), key=lambda match: (-match.mentions, match.entity_id))
