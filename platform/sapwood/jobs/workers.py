"""The threads that do the jobs.

Each lane has its own threads: one for jobs that need a model (as many as the model may serve at once) and one for all
others, which then never wait for a model. One more thread renews leases, frees those of the dead, and wakes jobs whose
time has come.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sapwood.clock import now_ms
from sapwood.errors import StoreError, WorkspaceBusyError, WorkspaceError
from sapwood.jobs.outcome import Defer, Done, Err, Outcome, Superseded
from sapwood.jobs.owner import Owner, is_dead
from sapwood.store.database import Database
from sapwood.store.jobs import JobRow, JobStore

__all__ = ["Handler", "Workers", "retry_delay_ms"]

log = logging.getLogger(__name__)

Handler = Callable[[JobRow, Database], Outcome]

LEASE_MS = 60_000
_RENEW_SECONDS = 20.0
_SWEEP_SECONDS = 60.0
_POLL_SECONDS = 2.0  # another process may have put a job in; its wake-up does not reach here
_DRAIN_SECONDS, _PATIENCE_SECONDS = 0.05, 60.0
_BASE_MS, _CAP_MS = 1_000, 3_600_000


def retry_delay_ms(job_id: str, attempts: int) -> int:
    """Milliseconds until the next attempt: 2^attempts seconds, at most an hour, and up to a fifth more.

    The addition is drawn from the job's id, so that jobs that failed together do not all come back together.
    """
    delay = min(_BASE_MS << min(max(attempts, 1), 20), _CAP_MS)
    return delay + delay // 5 * (zlib.crc32(f"{job_id}:{attempts}".encode()) % 1000) // 1000


class Workers:
    """Worker threads over one workspace. Use as a context manager: leaving it stops them gracefully.

    Args:
        open_database: opens a connection for the thread that calls it.
        owners: folder of the owners' files.
        handlers: what does a job, by kind. A handler gets the job and its thread's connection, and raises nothing that it
            can say as an outcome.
        lanes: number of threads by lane.
        on_idle: called every few seconds while no job runs, with the seconds since the last one ended.
    """

    def __init__(
        self,
        open_database: Callable[[], Database],
        owners: Path,
        handlers: Mapping[str, Handler],
        lanes: Mapping[str, int],
        on_idle: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self._open = open_database
        self._owners = owners
        self._handlers = handlers
        self._lanes = lanes
        self._on_idle = on_idle
        self._trouble: tuple[float, Exception] | None = None
        self._running = 0
        self._swept = -_SWEEP_SECONDS
        self._last_end = time.monotonic()
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._round = 0  # counts wake-ups, so that none is lost between a look and a wait
        self._threads: list[threading.Thread] = []
        self._owner: Owner | None = None

    def __enter__(self) -> Workers:
        self._owner = Owner(self._owners)
        try:
            with self._connection() as database:
                self._sweep(JobStore(database))
            for lane, number in self._lanes.items():
                for index in range(number):
                    self._start(self._work, f"{lane}-{index}", lane)
            self._start(self._keep, "leases", "")
        except BaseException:
            # Also when somebody interrupts: threads that have begun must end before what they use is closed.
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.wake()
        for thread in self._threads:
            thread.join()
        if self._owner is not None:
            self._owner.__exit__(None, None, None)

    def wake(self) -> None:
        """Somebody has put jobs in."""
        with self._changed:
            self._round += 1
            self._changed.notify_all()

    def drain(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Wait until no job is ready, none runs, here or elsewhere, and none is to be tried again; or `stopped` says so.

        Jobs that wait for something that is not there, such as a model, are left.

        Raises:
            WorkspaceError, StoreError: no worker has been able to write for a minute, as with a full disk.
        """
        with self._connection() as database:
            store = JobStore(database)
            while not stopped():
                try:
                    if store.wake_due(now_ms()):
                        self.wake()
                except WorkspaceBusyError as error:
                    log.warning("the queue could not be looked at: %s", error)
                if not store.is_working():
                    return
                if self._trouble and time.monotonic() - self._trouble[0] > _PATIENCE_SECONDS:
                    raise self._trouble[1]
                time.sleep(_DRAIN_SECONDS)

    def wait(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Go on until `stopped` says so, or somebody interrupts the thread that waits here."""
        while not stopped():
            time.sleep(1.0)

    def _start(self, target: Callable[[str], None], name: str, lane: str) -> None:
        thread = threading.Thread(target=target, args=(lane,), name=f"jobs-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    @contextmanager
    def _connection(self) -> Iterator[Database]:
        database = self._open()
        try:
            yield database
        finally:
            database.close()

    # -- a worker ---------------------------------------------------------------------------------------------------------

    def _work(self, lane: str) -> None:
        assert self._owner is not None
        with self._connection() as database:
            store = JobStore(database)
            while not self._stop.is_set():
                seen = self._round
                try:
                    moment = now_ms()
                    job = store.claim(lane, self._owner.worker_id, secrets.token_hex(8), moment, moment + LEASE_MS)
                    if job is not None:
                        self._do(job, database, store)
                        self._trouble = None
                        continue
                except WorkspaceBusyError as error:
                    log.warning("a worker waits: %s", error)  # another program holds the database
                except Exception as error:
                    log.error("a worker could not go on: %s", error)  # such as a full disk
                    self._note_trouble(error)
                with self._changed:
                    if not self._stop.is_set() and self._round == seen:
                        self._changed.wait(_POLL_SECONDS)

    def _do(self, job: JobRow, database: Database, store: JobStore) -> None:
        with self._changed:
            self._running += 1
        try:
            outcome = self._outcome(job, database)
            while not self._settled(job, outcome, database, store) and not self._stop.wait(_POLL_SECONDS):
                pass
        finally:
            with self._changed:
                self._running -= 1
                self._last_end = time.monotonic()
        self.wake()

    def _settled(self, job: JobRow, outcome: Outcome, database: Database, store: JobStore) -> bool:
        """Settle a job; False when the database or the disk refuses, and it is to be tried again: nobody else will, for this
        process lives and its leases are renewed."""
        try:
            self._settle(job, outcome, database, store)
        except WorkspaceError as error:
            log.warning("job %s (%s) cannot be settled yet: %s", job.job_id, job.kind, error)
            self._note_trouble(error)
            return False
        return True

    def _note_trouble(self, error: Exception) -> None:
        """Since when no worker can write; another program that holds the database will let go of it."""
        is_lasting = isinstance(error, WorkspaceError | StoreError) and not isinstance(error, WorkspaceBusyError)
        if is_lasting and self._trouble is None:
            self._trouble = (time.monotonic(), error)

    def _settle(self, job: JobRow, outcome: Outcome, database: Database, store: JobStore) -> None:
        match outcome:
            case Done():
                try:
                    with database.transaction():
                        if store.finish(job):
                            outcome.write()
                except Superseded:
                    store.defer(job, now_ms(), "what it is about changed while it was worked on")
                except WorkspaceError:
                    raise
                except Exception as error:
                    self._fail(job, store, Err(f"{job.kind}: cannot be written ({type(error).__name__}: {error})"))
            case Defer():
                store.defer(job, outcome.until_ms, outcome.reason)
            case Err():
                self._fail(job, store, outcome)

    def _outcome(self, job: JobRow, database: Database) -> Outcome:
        handler = self._handlers.get(job.kind)
        if handler is None:
            return Err(f"{job.kind}: this version has no such job", retryable=False)
        try:
            return handler(job, database)
        except Exception as error:
            log.exception("job %s (%s)", job.job_id, job.kind)
            return Err(f"{job.kind}: {type(error).__name__}: {error}")

    @staticmethod
    def _fail(job: JobRow, store: JobStore, outcome: Err) -> None:
        if outcome.retryable and job.attempts < job.max_attempts:
            store.retry(job, now_ms() + retry_delay_ms(job.job_id, job.attempts), outcome.message)
        else:
            store.bury(job, outcome.message)

    # -- leases -----------------------------------------------------------------------------------------------------------

    def _keep(self, _: str) -> None:
        assert self._owner is not None
        renewed = time.monotonic()
        with self._connection() as database:
            store = JobStore(database)
            while not self._stop.wait(_POLL_SECONDS):  # finished jobs, which wake the workers, are nothing to it
                moment = time.monotonic()
                if not self._running:
                    self._on_idle(moment - self._last_end)
                try:
                    if store.wake_due(now_ms()):
                        self.wake()
                    if moment - renewed >= _RENEW_SECONDS:
                        store.renew(self._owner.worker_id, now_ms() + LEASE_MS)
                        renewed = moment
                except (WorkspaceError, StoreError) as error:
                    log.error("leases could not be looked after: %s", error)
                if moment - self._swept >= _SWEEP_SECONDS:
                    self._sweep(store)

    def _sweep(self, store: JobStore) -> None:
        """Free the leases of the dead, and those that have run out; where that cannot be written, it is due again at once."""
        try:
            dead = [owner for owner in store.owners() if is_dead(self._owners, owner)]
            if store.free_leases(now_ms(), dead):
                self.wake()
            self._swept = time.monotonic()
        except (WorkspaceError, StoreError) as error:
            log.error("leases could not be freed: %s", error)
