"""The slow work that follows a change on the hot path, as jobs for the queue."""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.store.jobs import NewJob

__all__ = ["ASK", "EMBED", "EXTRACT", "TAG", "asking", "embedding", "followups", "tagging"]

EXTRACT, ASK, EMBED, TAG = "extract_chunk", "extract_with_model", "embed_passages", "tag_notes"
_EXTRACT_PRIORITY = 60  # behind what is further along: appends, seals, digests
_ASK_PRIORITY, _EMBED_PRIORITY, _TAG_PRIORITY = 85, 80, 90


def followups(chunk_ids: Iterable[str]) -> list[NewJob]:
    """A job for each chunk that is to be scored in depth and searched for entities, and one that looks for passages
    without a vector, which there also is when chunks have only gone."""
    extractions = [NewJob(EXTRACT, {"chunk_id": i}, f"extract:{i}", priority=_EXTRACT_PRIORITY) for i in chunk_ids]
    return [*extractions, embedding()]


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
