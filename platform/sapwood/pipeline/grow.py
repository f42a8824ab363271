"""`append_buffer`, `seal` and `flush_stale`: how source trees grow."""

from __future__ import annotations

from datetime import timedelta

from sapwood.clock import now_ms, zone
from sapwood.config import load_settings
from sapwood.ingest.followup import resealing, sealing
from sapwood.jobs.outcome import Done, Err, Outcome
from sapwood.store.database import Database
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobRow, JobStore
from sapwood.store.trees import TreeStore
from sapwood.trees.buffering import buffer_leaf
from sapwood.trees.seal import Sealer
from sapwood.trees.summarising import Extractive
from sapwood.workspace import Workspace

__all__ = ["FLUSH_AGE_MS", "SealHandler", "append_buffer", "flush_stale", "open_sealer"]

FLUSH_AGE_MS = int(timedelta(days=7).total_seconds() * 1000)


def append_buffer(job: JobRow, database: Database) -> Outcome:
    """Put an admitted leaf into the buffer of its source's tree. One that is retired by now is in none."""
    chunk_id = str(job.payload["node"]["leaf"])

    def write() -> None:
        found = ItemStore(database).with_chunk(chunk_id)
        if found is not None:
            JobStore(database).enqueue(buffer_leaf(database, *found, now_ms()), now_ms())

    return Done(write)


class SealHandler:
    """The handler of `seal`: summarises one batch, or makes one stale summary anew."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, job: JobRow, database: Database) -> Outcome:
        """One summary a job; the next one is put in with this one's end."""
        sealer = open_sealer(self._workspace, database)
        payload = job.payload
        if not payload.get("stale"):
            tree_id, level = str(payload["tree_id"]), int(payload["level"])
            if TreeStore(database).tree(tree_id) is None:
                return Done()
            return Done(
                sealer.seal(tree_id, level, upward=bool(payload.get("upward")), force=bool(payload.get("force")))
            )
        write = sealer.reseal()
        if write is None:
            return Done()

        def write_and_go_on() -> None:
            write()
            JobStore(database).enqueue([resealing(job.lane)], now_ms())

        return Done(write_and_go_on)


def open_sealer(workspace: Workspace, database: Database) -> Sealer:
    """The sealer that the settings ask for."""
    settings = load_settings(workspace.config_file)
    return Sealer(workspace, database, Extractive(), zone(settings.timezone))


def flush_stale(job: JobRow, database: Database) -> Outcome:
    """Summarise leaves that have waited for a week, however few they are; `age_ms` in place of a week."""
    age = job.payload.get("age_ms", FLUSH_AGE_MS)
    if not isinstance(age, int) or age < 0:
        return Err(f"flush_stale: the age {age!r} is no number of milliseconds", retryable=False)
    trees = TreeStore(database).aged(now_ms() - age)

    def write() -> None:
        JobStore(database).enqueue([sealing(tree_id, 0, force=True) for tree_id in trees], now_ms())

    return Done(write)
