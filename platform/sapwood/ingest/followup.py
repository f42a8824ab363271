"""The slow work that follows a change on the hot path, as jobs for the queue."""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.store.jobs import NewJob

__all__ = [
    "APPEND",
    "ASK",
    "DIGEST",
    "EMBED",
    "EXTRACT",
    "FLUSH",
    "ROUTE",
    "SEAL",
    "TAG",
    "appending",
    "appending_topic",
    "asking",
    "digesting",
    "embedding",
    "flushing",
    "followups",
    "resealing",
    "retelling",
    "routing",
    "sealing",
    "sweeping",
    "tagging",
    "writing_page",
]

EXTRACT, ASK, EMBED, TAG = "extract_chunk", "extract_with_model", "embed_passages", "tag_notes"
APPEND, SEAL, FLUSH, DIGEST, ROUTE = "append_buffer", "seal", "flush_stale", "digest_daily", "topic_route"
# What is further along comes first.
_SEAL_PRIORITY, _FLUSH_PRIORITY, _ROUTE_PRIORITY, _APPEND_PRIORITY, _EXTRACT_PRIORITY = 20, 30, 40, 50, 60
_RESEAL_PRIORITY, _DIGEST_PRIORITY, _PAGE_PRIORITY = 65, 95, 96  # once all that came is in its place
_ASK_PRIORITY, _EMBED_PRIORITY, _TAG_PRIORITY, _RETELL_PRIORITY = 85, 80, 90, 97


def followups(chunk_ids: Iterable[str], *, stale: bool = False) -> list[NewJob]:
    """A job for each chunk that is to be scored in depth and searched for entities, and one that looks for passages
    without a vector, which there also is when chunks have only gone. `stale` says that there are summaries to be made anew."""
    extractions = [NewJob(EXTRACT, {"chunk_id": i}, f"extract:{i}", priority=_EXTRACT_PRIORITY) for i in chunk_ids]
    return [*extractions, embedding(), *([resealing()] if stale else [])]


def embedding(below: int | None = None) -> NewJob:
    """The job that fills in vectors, from the newest passage on or from below a passage's id; there is only one at a time."""
    payload = {} if below is None else {"below": below}
    return NewJob(EMBED, payload, EMBED, lane="model", priority=_EMBED_PRIORITY)


def tagging() -> NewJob:
    """The job that writes entities into the front matter of notes; there is only one at a time."""
    return NewJob(TAG, {}, TAG, priority=_TAG_PRIORITY)


def asking(chunk_id: str) -> NewJob:
    """The job that asks a language model about a chunk for which the rules cannot decide."""
    return NewJob(ASK, {"chunk_id": chunk_id}, f"ask:{chunk_id}", lane="model", priority=_ASK_PRIORITY)


def appending(chunk_id: str, source_id: str) -> NewJob:
    """The job that puts an admitted leaf into the buffer of its source's tree."""
    return NewJob(
        APPEND, {"node": {"leaf": chunk_id}, "target": {"source": source_id}}, f"append:source:{source_id}:leaf:{chunk_id}", priority=_APPEND_PRIORITY
    )  # fmt: skip


def appending_topic(chunk_id: str, tree_id: str) -> NewJob:
    """The job that puts a leaf into the buffer of a topic's tree."""
    return NewJob(
        APPEND, {"node": {"leaf": chunk_id}, "target": {"topic": tree_id}}, f"append:topic:{tree_id}:leaf:{chunk_id}", priority=_APPEND_PRIORITY
    )  # fmt: skip


def routing(chunk_id: str = "", *, entity_id: str = "") -> NewJob:
    """The job that brings a leaf into the trees of what it names, or looks whether an entity is hot."""
    if entity_id:
        return NewJob(ROUTE, {"entity": entity_id}, f"topic_route:entity:{entity_id}", priority=_ROUTE_PRIORITY)
    return NewJob(ROUTE, {"node": {"leaf": chunk_id}}, f"topic_route:leaf:{chunk_id}", priority=_ROUTE_PRIORITY)


def sweeping(date: str) -> NewJob:
    """The job that looks once a day who has become hot, or cold."""
    return NewJob(ROUTE, {"date": date}, f"topic_route:{date}", priority=_DIGEST_PRIORITY)


def writing_page(tree_id: str) -> NewJob:
    """The job that writes a topic's page; there is one at a time for each."""
    return NewJob(ROUTE, {"page": tree_id}, f"topic_route:page:{tree_id}", priority=_PAGE_PRIORITY)


def sealing(tree_id: str, level: int, *, upward: bool = False, force: bool = False, lane: str = "work") -> NewJob:
    """The job that summarises what waits on a level of a tree.

    `force` also when it is little; `upward` too, and then on to the top, until one node tells of all.
    """
    payload = {"tree_id": tree_id, "level": level, "upward": upward, "force": force}
    return NewJob(SEAL, payload, f"seal:{tree_id}:{level}{':up' * upward}", lane=lane, priority=_SEAL_PRIORITY)


def resealing(lane: str = "work") -> NewJob:
    """The job that makes stale summaries anew; there is only one at a time."""
    return NewJob(SEAL, {"stale": True}, "seal:stale", lane=lane, priority=_RESEAL_PRIORITY)


def retelling() -> NewJob:
    """The job that has summaries told by a language model, one after the other; there is only one at a time."""
    return NewJob(SEAL, {"retell": True}, "seal:retell", lane="model", priority=_RETELL_PRIORITY)


def flushing(date: str, *, age_ms: int | None = None) -> NewJob:
    """The job that summarises what has waited for long; `age_ms` in place of a week."""
    payload = {"date": date} if age_ms is None else {"date": date, "age_ms": age_ms}
    return NewJob(FLUSH, payload, f"flush_stale:{date}", priority=_FLUSH_PRIORITY)


def digesting(key: str) -> NewJob:
    """The job that tells a day, or a week, month or year that it belongs to."""
    return NewJob(DIGEST, {"period": key}, f"digest_daily:{key}", priority=_DIGEST_PRIORITY)
