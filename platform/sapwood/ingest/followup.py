"""The slow work that follows a change on the hot path, as jobs for the queue."""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.store.jobs import NewJob

EXTRACT = "extract_chunk"
_PRIORITY = 60  # behind what is further along: appends, seals, digests


def extractions(chunk_ids: Iterable[str]) -> list[NewJob]:
    """A job for each chunk that is to be scored in depth and searched for entities."""
    return [NewJob(EXTRACT, {"chunk_id": i}, f"extract:{i}", priority=_PRIORITY) for i in chunk_ids]
