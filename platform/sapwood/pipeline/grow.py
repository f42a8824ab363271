"""`append_buffer`, `seal`, `flush_stale` and `digest_daily`: how trees grow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import PurePosixPath

from sapwood.clock import now, now_ms, zone
from sapwood.config import Settings, load_settings
from sapwood.ingest.followup import appending, flushing, resealing, retelling, routing, sealing, sweeping
from sapwood.jobs.outcome import Done, Err, Outcome
from sapwood.pipeline.retell import BY_MODEL, Reteller
from sapwood.store.database import Database
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobRow, JobStore, NewJob
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import TreeStore
from sapwood.trees.buffering import buffer_leaf, finish_document
from sapwood.trees.corrections import take_in_one
from sapwood.trees.digest import GLOBAL, Digester, missed_digests
from sapwood.trees.leftovers import remove_leftovers
from sapwood.trees.seal import Sealer
from sapwood.trees.summarising import Extractive
from sapwood.trees.topics import append_to_topic
from sapwood.workspace import Workspace

__all__ = ["FLUSH_AGE_MS", "DigestHandler", "SealHandler", "append_buffer", "due_jobs", "flush_stale"]

_QUIET_MS = int(timedelta(days=1).total_seconds() * 1000)
FLUSH_AGE_MS = int(timedelta(days=7).total_seconds() * 1000)


def append_buffer(job: JobRow, database: Database) -> Outcome:
    """Put an admitted leaf into the buffer of its source's tree, or of a topic's. One that is retired by now is in none."""
    chunk_id = str(job.payload["node"]["leaf"])
    topic = job.payload["target"].get("topic")

    def write() -> None:
        if topic is not None:
            JobStore(database).enqueue(append_to_topic(database, str(topic), chunk_id), now_ms())
            return
        found = ItemStore(database).with_chunk(chunk_id)
        if found is not None:
            JobStore(database).enqueue(buffer_leaf(database, *found, now_ms()), now_ms())

    return Done(write)


class SealHandler:
    """The handler of `seal`: summarises one batch, makes one stale summary anew, or has one told by a model."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._reteller = Reteller(workspace)

    def __call__(self, job: JobRow, database: Database) -> Outcome:
        """One summary a job; the next one is put in with this one's end."""
        remove_leftovers(self._workspace, database)
        settings = load_settings(self._workspace.config_file)
        payload = job.payload
        if payload.get("retell"):
            return self._reteller(database)
        if not payload.get("stale"):
            tree_id, level = str(payload["tree_id"]), int(payload["level"])
            if TreeStore(database).tree(tree_id) is None:
                return Done()
            sealer = open_sealer(self._workspace, database, settings)
            write = sealer.seal(tree_id, level, upward=bool(payload.get("upward")), force=bool(payload.get("force")))
            return Done(_then(settings, database, write))
        old = SummaryStore(database).next_stale()
        if old is None:
            return Done()
        # A person may just have written into the file that would be replaced.
        if take_in_one(self._workspace, database, old, personal=settings.redact_personal):
            old = SummaryStore(database).get(old.summary_id) or old
        if old.tree_kind == GLOBAL:
            write = open_digester(self._workspace, database, settings).retell(PurePosixPath(old.path).stem)
        else:
            write = open_sealer(self._workspace, database, settings).reseal(old)
        return Done(_then(settings, database, write, resealing(job.lane)))

    def close(self) -> None:
        """Let go of the model."""
        self._reteller.close()


def _then(settings: Settings, database: Database, write: Callable[[], None], *jobs: NewJob) -> Callable[[], None]:
    """Write, and put in what follows: a model that tells it anew, if the settings ask for one."""
    asked = [retelling()] if settings.summariser == BY_MODEL else []

    def both() -> None:
        write()
        JobStore(database).enqueue([*jobs, *asked], now_ms())

    return both


def open_sealer(workspace: Workspace, database: Database, settings: Settings) -> Sealer:
    """The sealer that the settings ask for."""
    return Sealer(workspace, database, Extractive(), zone(settings.timezone))


class DigestHandler:
    """The handler of `digest_daily`: tells a day, and then what it belongs to."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, job: JobRow, database: Database) -> Outcome:
        """One period a job."""
        remove_leftovers(self._workspace, database)
        settings = load_settings(self._workspace.config_file)
        told = SummaryStore(database).of_period(str(job.payload["period"]))
        if told is not None:
            take_in_one(self._workspace, database, told, personal=settings.redact_personal)
        try:
            write = open_digester(self._workspace, database, settings).digest(str(job.payload["period"]))
        except ValueError as error:
            return Err(f"digest_daily: {error}", retryable=False)
        return Done(_then(settings, database, write))


def open_digester(workspace: Workspace, database: Database, settings: Settings) -> Digester:
    """The digester that the settings ask for."""
    return Digester(workspace, database, Extractive(), zone(settings.timezone))


def due_jobs(workspace: Workspace, database: Database) -> list[NewJob]:
    """What the clock asks for: days that are over and not told, and once a day the leaves that have waited for long, and
    who has become hot or cold."""
    settings = load_settings(workspace.config_file)
    days = zone(settings.timezone)
    today = now().astimezone(days).date().isoformat()
    asked = [retelling()] if settings.summariser == BY_MODEL else []
    return [flushing(today), sweeping(today), *missed_digests(database, days), *asked]


def flush_stale(job: JobRow, database: Database) -> Outcome:
    """Summarise leaves that have waited for a week, however few they are; `age_ms` in place of a week. What may still have
    changed, and has been quiet for a day, comes into its tree."""
    age = job.payload.get("age_ms", FLUSH_AGE_MS)
    if not isinstance(age, int) or age < 0:
        return Err(f"flush_stale: the age {age!r} is no number of milliseconds", retryable=False)
    trees = TreeStore(database)
    aged = trees.aged(now_ms() - age)
    quiet = trees.quiet_leaves(now_ms() - min(age, _QUIET_MS))

    def write() -> None:
        jobs = [job for chunk_id, source_id in quiet for job in (appending(chunk_id, source_id), routing(chunk_id))]
        for tree_id in aged:
            tree = trees.tree(tree_id)
            item = ItemStore(database).find(tree.scope) if tree else None
            jobs += (finish_document(database, item) if item else []) or [sealing(tree_id, 0, force=True)]
        JobStore(database).enqueue(jobs, now_ms())

    return Done(write)
