"""`extract_chunk`: the deep score of a chunk, and the entities in it."""

from __future__ import annotations

from typing import Any

from sapwood.clock import now_ms, zone
from sapwood.config import load_settings
from sapwood.errors import ConfigurationError
from sapwood.ingest.followup import EXTRACT, asking, embedding, tagging
from sapwood.jobs.outcome import Defer, Done, Err, Outcome
from sapwood.pipeline.admission import WEIGHTS
from sapwood.pipeline.better_extractors import check_extractors
from sapwood.pipeline.chunk_jobs import index_mentions, is_still_there, place
from sapwood.pipeline.examine import Examination, Subject, examine, warm_up
from sapwood.pipeline.known_names import KnownNames
from sapwood.pipeline.mentions import mentions_of
from sapwood.plugins.limited_pool import LimitedPool, TaskCrashed, TaskTimeout
from sapwood.store.database import Database
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.jobs import JobRow, JobStore
from sapwood.workspace import Workspace

__all__ = ["ChunkExtractor", "explain"]

_SECONDS = 20.0  # an ordinary chunk takes a few milliseconds
_MEMORY_BYTES = 2 << 30
_MISSING_MS = 600_000


class ChunkExtractor:
    """The handler: examines chunks in worker processes, so that a text over which one hangs or ends stops nothing else."""

    def __init__(self, workspace: Workspace, workers: int) -> None:
        self._workspace = workspace
        self._pool = LimitedPool(workers, _MEMORY_BYTES, warm_up, background=True)
        self._known = KnownNames()

    def __call__(self, job: JobRow, database: Database) -> Outcome:
        """Score a chunk in depth and index its entities. A chunk that is retired by now needs neither."""
        chunk_id = str(job.payload["chunk_id"])
        items = ItemStore(database)
        found = items.with_chunk(chunk_id)
        if found is None:
            return Done()
        item, chunk = found
        try:
            settings = load_settings(self._workspace.config_file)
            extractors = check_extractors(settings.extractors)
        except ConfigurationError as error:
            return Defer(now_ms() + _MISSING_MS, str(error))
        subject = _subject(item, chunk, self._known.within(chunk.shown, database), extractors)
        try:
            examination: Examination = self._pool.result(self._pool.submit(examine, [subject], _SECONDS))
        except TaskTimeout:
            return _poison(item, f"takes longer than {_SECONDS:.0f} s to examine")
        except TaskCrashed as error:
            return _poison(item, f"ends the process that examines it (exit code {error.exitcode})")
        except MemoryError:
            return _poison(item, "needs more memory to examine than it may")
        mentions = mentions_of(database, item, chunk, examination.entities)
        verdict = examination.assessment
        days = zone(settings.timezone)

        def write() -> None:
            if not is_still_there(items, chunk):
                return
            items.put_assessment(chunk_id, verdict.total, verdict.signals, verdict.dropped, verdict.reason, now_ms())
            # A dropped chunk is in no index of things: nothing may lead to it but its own words.
            index_mentions(database, item, chunk, () if verdict.dropped else mentions)
            jobs = JobStore(database)
            jobs.enqueue(place(database, chunk_id, days, dropped=verdict.dropped), now_ms())
            if verdict.band == "grey" and settings.language_model != "none":
                jobs.enqueue([asking(chunk_id)], now_ms())
            if not jobs.has_ready(EXTRACT, job.lane):  # what follows is done in one pass, once all is known
                jobs.enqueue([embedding(), tagging()], now_ms())

        return Done(write)

    def close(self) -> None:
        """End the workers."""
        self._pool.close()


def _poison(item: ItemRow, cause: str) -> Err:
    return Err(
        f"{item.title} ({item.locator or item.item_id}): a chunk of it {cause}; it can be found by its words, not by its entities"
    )


def _subject(item: ItemRow, chunk: ChunkRow, known: list[str], extractors: tuple[str, ...] = ()) -> Subject:
    metadata = item.metadata
    names = [str(person.get("name", "")) for person in metadata.get("people", ())]
    return Subject(
        item.kind,
        chunk.shown,
        chunk.token_count,
        tuple(metadata.get("tags", ())),
        tuple(dict.fromkeys([*names, *known])),
        extractors,
    )


def explain(database: Database, chunk_id: str) -> dict[str, Any] | None:
    """Every signal of a chunk with its weight, what was found in it, and the verdict; None when there is no such chunk."""
    found = ItemStore(database).with_chunk(chunk_id)
    if found is None:
        return None
    item, chunk = found
    score = ItemStore(database).score(chunk_id)
    examination = examine(_subject(item, chunk, KnownNames().within(chunk.shown, database)))
    assessment = examination.assessment
    return {
        "chunk_id": chunk_id,
        "total": assessment.total,
        "band": assessment.band,
        "dropped": assessment.dropped,
        "reason": assessment.reason,
        "signals": {
            name: {"value": round(value, 6), "weight": WEIGHTS[name]} for name, value in assessment.signals.items()
        },
        "importance": score.importance,
        "importance_reason": score.importance_reason,
        "cues": list(assessment.cues),
        "entities": [{"kind": e.kind, "surface": e.surface, "score": e.score} for e in examination.entities],
    }
