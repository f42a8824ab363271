"""`extract_chunk`: the deep score of a chunk, and the entities in it."""

from __future__ import annotations

import re
from typing import Any

from sapwood.clock import now_ms
from sapwood.ingest.followup import EXTRACT, embedding
from sapwood.jobs.outcome import Done, Outcome, Superseded
from sapwood.pipeline.admission import WEIGHTS, Assessment, assess
from sapwood.sdk.sources import Kind
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.jobs import JobRow, JobStore
from sapwood.text.entities import Entity, canonical_id, find_entities
from sapwood.text.fold import index_text

__all__ = ["explain", "extract_chunk"]

_HEADING = re.compile(r"^## .*$", re.MULTILINE)
_TERMS = 6000  # characters whose words the counting signal looks at


def extract_chunk(job: JobRow, database: Database) -> Outcome:
    """Score a chunk in depth and index its entities. A chunk that is retired by now needs neither."""
    chunk_id = str(job.payload["chunk_id"])
    items = ItemStore(database)
    found = items.with_chunk(chunk_id)
    if found is None:
        return Done()
    item, chunk = found
    entities, assessment = examine(item, chunk)
    mentions = _mentions(item, entities)

    def write() -> None:
        now = items.with_chunk(chunk_id)
        if now is None:
            return
        if now[1].shown != chunk.shown:
            raise Superseded
        items.put_assessment(
            chunk_id, assessment.total, assessment.signals, assessment.dropped, assessment.reason, now_ms()
        )
        # A dropped chunk is in no index of things: nothing may lead to it but its own words.
        moment = chunk.range_ms[0] if chunk.range_ms else item.timestamp_ms
        EntityStore(database).put(chunk_id, "leaf", () if assessment.dropped else mentions, moment)
        jobs = JobStore(database)
        if not jobs.has_ready(EXTRACT, job.lane):  # vectors of what was dropped go in one pass, once all is known
            jobs.enqueue([embedding()], now_ms())

    return Done(write)


def examine(item: ItemRow, chunk: ChunkRow) -> tuple[list[Entity], Assessment]:
    """What rules find in a chunk, and its score."""
    kind = Kind(item.kind)
    text = _HEADING.sub("", chunk.shown) if kind is Kind.CHAT else chunk.shown
    names = [str(person.get("name", "")) for person in item.metadata.get("people", ())]
    entities = find_entities(text, names)
    terms = index_text(text[:_TERMS]).split()
    tags = tuple(item.metadata.get("tags", ()))
    return entities, assess(kind, text, terms, chunk.token_count, tags, entities)


def explain(database: Database, chunk_id: str) -> dict[str, Any] | None:
    """Every signal of a chunk with its weight, what was found in it, and the verdict; None when there is no such chunk."""
    found = ItemStore(database).with_chunk(chunk_id)
    if found is None:
        return None
    entities, assessment = examine(*found)
    return {
        "chunk_id": chunk_id,
        "total": assessment.total,
        "band": assessment.band,
        "dropped": assessment.dropped,
        "reason": assessment.reason,
        "signals": {
            name: {"value": round(value, 6), "weight": WEIGHTS[name]} for name, value in assessment.signals.items()
        },
        "cues": list(assessment.cues),
        "entities": [{"kind": e.kind, "surface": e.surface, "score": e.score} for e in entities],
    }


def _mentions(item: ItemRow, entities: list[Entity]) -> list[Mention]:
    """One mention an entity, the surest; people of the item's metadata are certain."""
    best: dict[str, Mention] = {}
    certain: list[tuple[str, str]] = []
    for person in item.metadata.get("people", ()):
        certain += [("person", str(person.get("name", ""))), ("email", str(person.get("address", "")))]
    for kind, surface in certain:
        if surface.strip():
            entity_id = canonical_id(kind, surface)
            best[entity_id] = Mention(entity_id, kind, surface, 1.0)
    for entity in entities:
        entity_id = canonical_id(entity.kind, entity.surface)
        if entity_id not in best or best[entity_id].score < entity.score:
            best[entity_id] = Mention(entity_id, entity.kind, entity.surface, entity.score)
    return list(best.values())
