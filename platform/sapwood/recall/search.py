"""Search over passages: full text, with what stands around a passage counted in, lifted by vectors (`recall.fusion`).

text score = own BM25 + shares of the messages next to it (in chats and mail) + 0.7 of its item's BM25.

A message of a few words means little without its neighbours. A document's passages are whole paragraphs: there, shares
of neighbours only prefer long documents, and rank below plain BM25 (`tests/bench`, CMRC and DRCD).

The item's BM25 takes a term's frequency as the number of the item's passages that hold it, and its length in
passages, k1 = 1.2, b = 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)), which stays above zero for words that most items
hold; it needs no second index. On dated chats this equals an index of whole sessions, and the second neighbour adds to
it (`tests/bench`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from sapwood.clock import from_ms, iso_z, now_ms, to_ms
from sapwood.recall.fusion import ENTITY_SHARE, RECENCY_SHARE, lifts, recency
from sapwood.recall.hits import PassageHit, QueryResponse, RetrievalHit
from sapwood.recall.query import named_in, parse
from sapwood.recall.vector_leg import LIVE, VectorAnswer, VectorLeg
from sapwood.store.schema import PASSAGE_BITS
from sapwood.store.search import ChunkHit, Filters, PassageRow, SearchStore

UNITS = ("passage", "chunk", "item")
_CANDIDATES = 1000
_NEIGHBOURS = ((1, 0.5), (2, 0.2))
_ITEM_SHARE = 0.7
_K1, _B = 1.2, 0.75
_MAX_TERMS = 64  # of a question of several sentences the commonest terms add cost and no order
_MASK = (1 << PASSAGE_BITS) - 1
_MAX_LIMIT = 1000

_LONGEST_QUESTION = 2000  # characters that a model is asked with

Scores = dict[int, dict[str, float]]
Postings = dict[str, list[tuple[int, int]]]


def search(
    store: SearchStore,
    text: str,
    *,
    limit: int = 10,
    unit: str = "chunk",
    source_id: str | None = None,
    kind: str | None = None,
    author: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    include_dropped: bool = False,
    source_ids: Sequence[str] | None = None,
    entity_ids: Sequence[str] | None = None,
    vectors: VectorLeg | None = None,
) -> QueryResponse:
    """The best hits for a query; the newest items when it is blank.

    Args:
        store: where to look.
        text: the query, taken literally.
        limit: how many hits; 0 or less means 10, at most 1,000.
        unit: what a hit is: `passage`, `chunk` or `item`; the best passage speaks for its chunk and item.
        source_id, kind, author, since, until: filters, times aware and inclusive.
        include_dropped: also what was dropped because it says nothing.
        source_ids: only of one of these; entity_ids: only in chunks that name one of these.
        vectors: the leg that finds by meaning; without it, or while it is not live, full text answers alone.

    Raises:
        ValueError: the unit is none of the three.
    """
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is none of {', '.join(UNITS)}")
    limit = min(limit if limit > 0 else 10, _MAX_LIMIT)
    sources = source_ids if source_ids is not None else [source_id] if source_id else None
    filters = Filters(
        tuple(sources) if sources is not None else None, kind, author, to_ms(since) if since else None, to_ms(until) if until else None,
        include_dropped, tuple(entity_ids) if entity_ids is not None else None,
    )  # fmt: skip
    if not text.strip():
        ids = store.newest(filters, limit + 1)
        return _respond(store, {pid: {} for pid in ids}, ids, unit, limit, len(ids))
    asked = vectors.begin(text[:_LONGEST_QUESTION]) if vectors else None
    query = parse(text)
    rows = store.match(query.expression, filters, _CANDIDATES) if query else []
    postings = {term: store.passages_by_item(term) for term in query.terms}
    size = store.size()
    scores = _with_surroundings(store, postings, rows, filters, size)
    total = len(rows) if len(rows) < _CANDIDATES else store.count(query.expression, filters)
    matched = {row[0] for row in rows}
    full = _full_score(postings, size[1])
    ranked = _ranked(scores)
    answer = asked.answer(store, filters, ranked) if asked else VectorAnswer("off")
    held = rows[0][1] if rows else 0.0
    lifted = lifts(ranked, answer.cosines, full, held, answer.strength)
    for pid, value in lifted.items():
        scores.setdefault(pid, {})["vector"] = value
    total += len(lifted.keys() - matched)
    _boost(store, text, scores, full)
    response = _respond(
        store, scores, _ranked(scores), unit, limit, total, matched=matched | lifted.keys(), cosines=answer.cosines
    )
    return replace(response, legs={"text": LIVE, "vectors": answer.state})


def _ranked(scores: Scores) -> list[int]:
    return sorted(scores, key=lambda pid: (-sum(scores[pid].values()), pid))


def _full_score(postings: Postings, passages: int) -> float:
    """The weights of all words of the query together; a word that stands nowhere weighs most."""
    full = 0.0
    for posting in postings.values():
        found = sum(count for _, count in posting)
        full += max(math.log((passages - found + 0.5) / (found + 0.5)), 0.0)
    return full


def _boost(store: SearchStore, text: str, scores: Scores, full: float) -> None:
    """A little for what is new, and for passages of chunks in which somebody or something is named that the query names."""
    moment = now_ms()
    for pid, said_ms in store.dates(list(scores)).items():
        if (gain := RECENCY_SHARE * full * recency(moment - said_ms)) >= 0.001:
            scores[pid]["recency"] = gain
    for pid in store.passages_naming(named_in(text), list(scores)):
        scores[pid]["entity"] = ENTITY_SHARE * full


def _with_surroundings(
    store: SearchStore, postings: Postings, rows: list[tuple[int, float]], filters: Filters, size: tuple[int, int]
) -> Scores:
    scores: Scores = {pid: {"text": own} for pid, own in rows}
    numbers = sorted({pid >> PASSAGE_BITS for pid, _ in rows})
    counts, documents = store.passage_counts(numbers)
    nearby: dict[int, float] = defaultdict(float)
    for pid, own in rows:
        number = pid >> PASSAGE_BITS
        if number in documents:
            continue
        place, last = pid & _MASK, counts.get(number, 1) - 1
        for distance, share in _NEIGHBOURS:
            if place >= distance:
                nearby[pid - distance] += share * own
            if place + distance <= last:
                nearby[pid + distance] += share * own
    beside = store.visible([pid for pid in nearby if pid not in scores], filters)
    for pid, value in nearby.items():
        if pid in scores:
            scores[pid]["neighbours"] = value
        elif pid in beside:
            scores[pid] = {"neighbours": value}
    parents = _item_scores(postings, counts, size)
    for pid, parts in scores.items():
        if (parent := parents.get(pid >> PASSAGE_BITS, 0.0)) > 0:
            parts["item"] = _ITEM_SHARE * parent
    return scores


def _item_scores(postings: Postings, counts: dict[int, int], size: tuple[int, int]) -> dict[int, float]:
    items, passages = size
    mean = passages / max(items, 1)
    if mean <= 1.0:
        return {}
    rarest = sorted((p for p in postings.values() if p), key=len)[:_MAX_TERMS]
    total: dict[int, float] = defaultdict(float)
    for posting in rarest:
        idf = math.log(1 + (items - len(posting) + 0.5) / (len(posting) + 0.5))
        for item_no, frequency in posting:
            if item_no in counts:
                norm = _K1 * (1 - _B + _B * counts[item_no] / mean)
                total[item_no] += idf * frequency * (_K1 + 1) / (frequency + norm)
    return total


def _respond(
    store: SearchStore,
    scores: Scores,
    ranked: list[int],
    unit: str,
    limit: int,
    total: int,
    *,
    matched: set[int] | None = None,
    cosines: dict[int, float] | None = None,
) -> QueryResponse:
    groups: dict[tuple[int, ...], list[PassageRow]] = {}
    order: list[tuple[int, ...]] = []
    for at in range(0, len(ranked), 200):
        part = ranked[at : at + 200]
        found = store.passages(part)
        for pid in part:
            row = found.get(pid)
            if row is None:
                continue
            number = pid >> PASSAGE_BITS
            key = {"passage": (number, row.seq, pid), "chunk": (number, row.seq), "item": (number,)}[unit]
            if key not in groups:
                if len(order) > limit:
                    continue
                order.append(key)
                groups[key] = []
            groups[key].append(row)
        if len(order) > limit:
            break
    chosen = order[:limit]
    best = {key: groups[key][0] for key in chosen}
    chunks = store.chunks([(key[0], best[key].seq) for key in chosen])
    hits = [
        _hit(
            store,
            unit,
            chunks[key[0], best[key].seq],
            [row for row in groups[key] if matched is None or row.passage_id in matched] or groups[key][:1],
            best[key],
            scores,
            (cosines or {}).get(best[key].passage_id),
        )
        for key in chosen
        if (key[0], best[key].seq) in chunks
    ]
    units = len(order) if unit != "passage" and len(order) <= limit else total
    return QueryResponse(tuple(hits), units, units > len(hits))


def _hit(
    store: SearchStore,
    unit: str,
    chunk: ChunkHit,
    rows: list[PassageRow],
    best: PassageRow,
    scores: Scores,
    cosine: float | None,
) -> RetrievalHit:
    breakdown = {name: round(value, 4) for name, value in scores.get(best.passage_id, {}).items()}
    moment = best.timestamp_ms if best.timestamp_ms is not None else chunk.timestamp_ms
    children = (
        tuple(c.chunk_id for _, c in sorted(store.chunks(store.chunk_places(chunk.item_no)).items()))
        if unit == "item"
        else ()
    )
    passages = (
        _passage(row, chunk, scores) for row in ([best] if unit == "passage" else rows[:10]) if row.seq == chunk.seq
    )
    return RetrievalHit(
        node_id=chunk.item_id if unit == "item" else chunk.chunk_id,
        node_kind="item" if unit == "item" else "leaf",
        title=chunk.title,
        author=best.author or chunk.author,
        date=_iso(moment),
        date_source=chunk.date_source,
        item_id=chunk.item_id,
        source_id=chunk.source_id,
        source_kind=chunk.kind,
        path=f"wiki/{chunk.content_path}",
        content=chunk.content[best.start : best.end] if unit == "passage" else chunk.content,
        score=round(sum(scores.get(best.passage_id, {}).values()), 4),
        breakdown=breakdown,
        passages=tuple(passages),
        time_range_start=_iso(chunk.range_ms[0]) if chunk.range_ms else None,
        time_range_end=_iso(chunk.range_ms[1]) if chunk.range_ms else None,
        source_ref=best.source_ref or chunk.source_ref,
        child_ids=children,
        headings=chunk.headings,
        pages=chunk.pages,
        edited=chunk.edited,
        cosine=None if cosine is None else round(cosine, 4),
    )


def _passage(row: PassageRow, chunk: ChunkHit, scores: Scores) -> PassageHit:
    return PassageHit(
        chunk.content[row.start : row.end].strip("\n"), row.start, row.end, _iso(row.timestamp_ms), row.author, row.page, row.source_ref,
        row.native_id, round(sum(scores.get(row.passage_id, {}).values()), 4),
    )  # fmt: skip


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso_z(from_ms(ms))


def fetch(store: SearchStore, node_ids: Iterable[str]) -> list[RetrievalHit]:
    """Chunks by id (whole, or its first eight or more digits), or all chunks of an item by item id; unknown ids are left out."""
    hits: list[RetrievalHit] = []
    for node_id in node_ids:
        places = store.places_of(node_id)
        chunks = store.chunks(places)
        hits += [_leaf(chunks[place]) for place in places if place in chunks]
    return hits


def _leaf(chunk: ChunkHit) -> RetrievalHit:
    return RetrievalHit(
        chunk.chunk_id, "leaf", chunk.title, chunk.author, _iso(chunk.range_ms[0] if chunk.range_ms else chunk.timestamp_ms), chunk.date_source,
        chunk.item_id, chunk.source_id, chunk.kind, f"wiki/{chunk.content_path}", chunk.content, chunk.score, {"structure": chunk.score}, (),
        _iso(chunk.range_ms[0]) if chunk.range_ms else None, _iso(chunk.range_ms[1]) if chunk.range_ms else None, chunk.source_ref,
        headings=chunk.headings, pages=chunk.pages, edited=chunk.edited,
    )  # fmt: skip
