"""The queue's table: every statement that a job goes through, each one alone a whole step.

A job is ready, deferred (until a time), running (leased to an owner), or failed for good. Done jobs leave the table, and
their key may be used again. Claiming looks at ready jobs only, in an index of nothing else, so that neither the jobs that
wait for a time nor the dead ones slow it.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

from sapwood.store.database import Database

_MOST_DEATHS = 100
_PATIENT_DEATHS = 5  # in a row, after which a job gives way to others
_LONGEST_WAIT_MS = 2 * 3_600_000
_COLUMNS = (
    "job_no, id, kind, payload_json, dedupe_key, lane, priority, status, attempts, max_attempts, available_at_ms, worker_id, "
    "claim_token, lease_until_ms, last_error, created_at_ms, started_at_ms"
)


@dataclass(frozen=True, slots=True)
class JobRow:
    """A row of `mem_tree_jobs`. Times in milliseconds; `worker_id`, `claim_token` and the lease only while it runs."""

    job_no: int
    job_id: str
    kind: str
    payload: dict[str, Any]
    dedupe_key: str | None
    lane: str
    priority: int
    status: str
    attempts: int
    max_attempts: int
    available_at_ms: int
    worker_id: str | None
    claim_token: str | None
    lease_until_ms: int | None
    last_error: str
    created_at_ms: int
    started_at_ms: int | None

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> JobRow:
        """From a database row."""
        values = list(row)
        values[3] = json.loads(values[3])
        return cls(*values)


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be put into the queue.

    Attributes:
        kind: which handler takes it.
        payload: JSON object for the handler.
        dedupe_key: while a job with this key is ready, deferred or running, another one is not put in.
        lane: jobs of one lane share its workers.
        priority: lower is taken first.
        available_at_ms: not before this time.
    """

    kind: str
    payload: dict[str, Any]
    dedupe_key: str | None = None
    lane: str = "work"
    priority: int = 100
    available_at_ms: int = 0


class JobStore:
    """Queries over one connection; each writing method but `enqueue` is one statement and needs no transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def enqueue(self, jobs: list[NewJob], now_ms: int) -> int:
        """Put jobs in, in the caller's transaction with the data that they are about; how many were new.

        One whose like runs at the moment may have come too late for it: that one is then done once more.
        """
        before = self._db.value("SELECT total_changes()")
        self._db.run_many(
            "INSERT INTO mem_tree_jobs (id, kind, payload_json, dedupe_key, lane, priority, status, available_at_ms, created_at_ms) "
            "VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (dedupe_key) WHERE status != 'failed' "
            "DO UPDATE SET again = 1, payload_json = excluded.payload_json WHERE status = 'running'",
            [
                (
                    f"job:{uuid.uuid4()}", job.kind, json.dumps(job.payload, ensure_ascii=False), job.dedupe_key, job.lane, job.priority,
                    "deferred" if job.available_at_ms > now_ms else "ready", job.available_at_ms or now_ms, now_ms,
                )
                for job in jobs
            ],
        )  # fmt: skip
        return int(self._db.value("SELECT total_changes()") - before)

    def wake_due(self, now_ms: int) -> int:
        """Make deferred jobs ready whose time has come; how many.

        No retry waits longer than an hour and a bit: one that seems to was put off before the clock was set back.
        """
        due = "status = 'deferred' AND (available_at_ms <= ? OR (available_at_ms > ? AND (attempts > 0 OR deaths > 0)))"
        times = (now_ms, now_ms + _LONGEST_WAIT_MS)
        if not self._db.value(f"SELECT 1 FROM mem_tree_jobs WHERE {due} LIMIT 1", times):
            return 0
        return self._db.run(f"UPDATE mem_tree_jobs SET status = 'ready' WHERE {due}", times)

    def claim(self, lane: str, worker_id: str, token: str, now_ms: int, lease_until_ms: int) -> JobRow | None:
        """Take the ready job of a lane that is to be done first: the lowest priority, then the oldest."""
        row = self._db.row(
            "UPDATE mem_tree_jobs SET status = 'running', again = 0, attempts = attempts + 1, started_at_ms = ?, worker_id = ?, claim_token = ?, lease_until_ms = ? "
            "WHERE job_no = (SELECT job_no FROM mem_tree_jobs WHERE status = 'ready' AND lane = ? ORDER BY priority, job_no LIMIT 1) "
            f"RETURNING {_COLUMNS}",
            (now_ms, worker_id, token, lease_until_ms, lane),
        )
        return JobRow.of(row) if row else None

    def renew(self, worker_id: str, lease_until_ms: int) -> int:
        """Lengthen the leases of an owner's running jobs; how many."""
        return self._db.run(
            "UPDATE mem_tree_jobs SET lease_until_ms = ? WHERE status = 'running' AND worker_id = ?",
            (lease_until_ms, worker_id),
        )

    # -- settling: each does nothing when the claim is not the job's any more ---------------------------------------------

    def finish(self, job: JobRow) -> bool:
        """The job is done and leaves the table, unless it was asked for again meanwhile; so do earlier failures of its like."""
        done = self._settle("DELETE FROM mem_tree_jobs", job, (), "again = 0") or self._settle(
            "UPDATE mem_tree_jobs SET status = 'ready', attempts = 0, deaths = 0, worker_id = NULL, claim_token = NULL, lease_until_ms = NULL",
            job,
            (),
        )
        if done:
            self._forget_failures(job)
        return done

    def defer(self, job: JobRow, until_ms: int, reason: str) -> bool:
        """The job waits for a time; this attempt does not count."""
        return self._settle(
            "UPDATE mem_tree_jobs SET status = 'deferred', attempts = attempts - 1, deaths = 0, available_at_ms = ?, last_error = ?, worker_id = NULL, "
            "claim_token = NULL, lease_until_ms = NULL",
            job,
            (until_ms, reason),
        )

    def retry(self, job: JobRow, at_ms: int, error: str) -> bool:
        """The attempt failed; the job is tried again at a time."""
        return self._settle(
            "UPDATE mem_tree_jobs SET status = 'deferred', deaths = 0, available_at_ms = ?, last_error = ?, worker_id = NULL, claim_token = NULL, "
            "lease_until_ms = NULL",
            job,
            (at_ms, error),
        )

    def bury(self, job: JobRow, error: str) -> bool:
        """The job failed for good: it stays to be seen, and its key may be used again. An older failure of its like goes."""
        self._forget_failures(job)
        return self._settle(
            "UPDATE mem_tree_jobs SET status = 'failed', last_error = ?, worker_id = NULL, claim_token = NULL, lease_until_ms = NULL",
            job,
            (error,),
        )

    def _forget_failures(self, job: JobRow) -> None:
        """What failed under this job's key before says nothing any more."""
        if job.dedupe_key is not None and self._db.value("SELECT 1 FROM mem_tree_jobs WHERE status = 'failed' LIMIT 1"):
            self._db.run(
                "DELETE FROM mem_tree_jobs WHERE status = 'failed' AND dedupe_key = ? AND job_no != ?",
                (job.dedupe_key, job.job_no),
            )

    def _settle(self, statement: str, job: JobRow, values: tuple[Any, ...], also: str = "TRUE") -> bool:
        changed = self._db.run(
            f"{statement} WHERE job_no = ? AND status = 'running' AND claim_token = ? AND {also}",
            (*values, job.job_no, job.claim_token),
        )
        return changed == 1

    # -- leases of others -------------------------------------------------------------------------------------------------

    def owners(self) -> list[str]:
        """Everybody who holds a lease."""
        return [
            row[0] for row in self._db.rows("SELECT DISTINCT worker_id FROM mem_tree_jobs WHERE status = 'running'")
        ]

    def free_leases(self, now_ms: int, dead: list[str]) -> int:
        """Free running jobs whose lease has run out or whose owner is dead; how many.

        That is no attempt of the job. It is ready at once, so that the order of the work stays what it was and the trees with it; only from
        the sixth time in a row on it waits a little, and longer each time, so that others come first. One that has outlived a hundred owners fails for good: it may be what ends them.
        """
        freed = 0
        for condition, value in (("lease_until_ms <= ?", now_ms), *(("worker_id = ?", owner) for owner in dead)):
            freed += self._db.run(
                "UPDATE mem_tree_jobs SET status = CASE WHEN deaths + 1 >= ? THEN 'failed' WHEN deaths >= ? THEN 'deferred' ELSE 'ready' END, "
                "attempts = attempts - 1, deaths = deaths + 1, available_at_ms = ? + (1000 << min(deaths, 4)), "
                "last_error = 'the process that worked on it ended', worker_id = NULL, claim_token = NULL, lease_until_ms = NULL "
                f"WHERE status = 'running' AND {condition}",
                (_MOST_DEATHS, _PATIENT_DEATHS, now_ms, value),
            )
        return freed

    # -- for people -------------------------------------------------------------------------------------------------------

    def counts(self) -> dict[tuple[str, str], int]:
        """Number of jobs by `(kind, status)`."""
        return {
            (row[0], row[1]): row[2]
            for row in self._db.rows("SELECT kind, status, count(*) FROM mem_tree_jobs GROUP BY kind, status")
        }

    def drop_waiting(self, dedupe_key: str) -> int:
        """Remove a job that waits for its time; how many."""
        return self._db.run("DELETE FROM mem_tree_jobs WHERE dedupe_key = ? AND status = 'deferred'", (dedupe_key,))

    def has_ready(self, kind: str, lane: str) -> bool:
        """True while a job of this kind is ready in its lane."""
        return bool(
            self._db.value(
                "SELECT EXISTS (SELECT 1 FROM mem_tree_jobs WHERE status = 'ready' AND lane = ? AND kind = ?)",
                (lane, kind),
            )
        )

    def is_working(self) -> bool:
        """True while a job is ready or runs, or is to be tried again; look-ups in indexes of just these."""
        return bool(
            self._db.value(
                "SELECT EXISTS (SELECT 1 FROM mem_tree_jobs WHERE status = 'ready') OR EXISTS (SELECT 1 FROM mem_tree_jobs WHERE status = 'running') "
                "OR EXISTS (SELECT 1 FROM mem_tree_jobs WHERE status = 'deferred' AND (attempts > 0 OR deaths > 0))"
            )
        )

    def counts_by_kind(self) -> dict[str, dict[str, int]]:
        """Number of jobs by kind, and in it by status."""
        found: dict[str, dict[str, int]] = {}
        for (kind, status), number in self.counts().items():
            found.setdefault(kind, {})[status] = number
        return found

    def listed(self, status: str | None, limit: int) -> list[JobRow]:
        """Jobs for a person to look at: failed ones first, then what runs, then by the time at which they are due."""
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM mem_tree_jobs WHERE ? IS NULL OR status = ? "
            "ORDER BY status = 'failed' DESC, status = 'running' DESC, available_at_ms, job_no LIMIT ?",
            (status, status, limit),
        )
        return [JobRow.of(row) for row in rows]

    def revive(self, job_ids: list[str] | None, now_ms: int) -> int:
        """Give failed jobs, these or all, their attempts back; how many. One whose key is taken again is dropped: the newer
        job does the same."""
        chosen = self._chosen(job_ids)
        self._db.run_many(
            "DELETE FROM mem_tree_jobs WHERE job_no = ? AND dedupe_key IN (SELECT dedupe_key FROM mem_tree_jobs WHERE status != 'failed')",
            chosen,
        )
        revived = 0
        for (job_no,) in chosen:
            revived += self._db.run(
                "UPDATE mem_tree_jobs SET status = 'ready', attempts = 0, deaths = 0, available_at_ms = ? WHERE job_no = ? AND status = 'failed'",
                (now_ms, job_no),
            )
        return revived

    def drop(self, job_ids: list[str] | None) -> int:
        """Remove failed jobs, these or all; how many."""
        chosen = self._chosen(job_ids)
        self._db.run_many("DELETE FROM mem_tree_jobs WHERE job_no = ?", chosen)
        return len(chosen)

    def _chosen(self, job_ids: list[str] | None) -> list[tuple[int]]:
        """Numbers of failed jobs, by their ids or the first eight or more signs after `job:`."""
        failed = self._db.rows("SELECT job_no, id FROM mem_tree_jobs WHERE status = 'failed'")
        if job_ids is None:
            return [(row[0],) for row in failed]
        wanted = [i if i.startswith("job:") else f"job:{i}" for i in job_ids]
        return [(no,) for no, job_id in failed if any(job_id.startswith(w) and len(w) >= 12 for w in wanted)]
