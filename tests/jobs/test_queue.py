"""The queue: each job once, in order, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.clock import now_ms
from sapwood.jobs.outcome import Defer, Done, Err, Outcome
from sapwood.jobs.owner import Owner, is_dead
from sapwood.jobs.workers import Handler, Workers, retry_delay_ms
from sapwood.store.database import Database
from sapwood.store.jobs import JobRow, JobStore, NewJob

MINUTE = 60_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A fresh chunks.db."""
    opened = Database.open(tmp_path / "chunks.db")
    yield opened
    opened.close()


@pytest.fixture
def store(database: Database) -> JobStore:
    """Its queue."""
    return JobStore(database)


def _claim(store: JobStore, at: int = 1000, lane: str = "work", token: str = "t", owner: str = "o") -> JobRow | None:
    return store.claim(lane, owner, token, at, at + MINUTE)


def _put(store: JobStore, *jobs: NewJob, at: int = 1000) -> int:
    return store.enqueue(list(jobs), at)


def test_jobs_are_taken_by_priority_then_age_and_only_from_their_lane(store: JobStore) -> None:
    _put(store, NewJob("late", {}, priority=9), NewJob("first", {"n": 1}), NewJob("model", {}, lane="model"))
    _put(store, NewJob("urgent", {}, priority=1), NewJob("second", {}))
    _put(store, NewJob("last", {}, priority=200))
    taken = []
    while job := _claim(store):
        taken.append(job.kind)
    assert taken == ["urgent", "late", "first", "second", "last"]
    model = _claim(store, lane="model")
    assert model is not None and model.kind == "model"


def test_a_key_is_in_the_queue_once_until_its_job_has_ended(store: JobStore) -> None:
    assert _put(store, NewJob("a", {}, "key"), NewJob("a", {}, "key"), NewJob("b", {}, "other", lane="else")) == 2
    job = _claim(store)
    assert job is not None and store.defer(job, 10**15, "no model")
    assert _put(store, NewJob("a", {}, "key")) == 0  # it waits
    store.wake_due(10**15)
    again = _claim(store)
    assert again is not None and store.bury(again, "broken")
    assert _put(store, NewJob("a", {}, "key")) == 1  # it has failed
    renewed = _claim(store)
    assert renewed is not None and store.finish(renewed)
    assert _put(store, NewJob("a", {}, "key")) == 1  # it is done


def test_a_job_that_is_asked_for_while_it_runs_is_done_once_more_with_the_newer_payload(store: JobStore) -> None:
    _put(store, NewJob("a", {"n": 1}, "key"))
    job = _claim(store)
    _put(store, NewJob("a", {"n": 2}, "key"), NewJob("a", {"n": 3}, "key"))
    assert _claim(store, token="u") is None  # it still runs
    assert job is not None and job.payload == {"n": 1} and store.finish(job)
    again = _claim(store, token="v")
    assert again is not None and (again.payload, again.attempts) == ({"n": 3}, 1)
    assert store.finish(again) and _claim(store) is None and not store.counts()


def test_of_failures_with_one_key_the_last_stays(store: JobStore) -> None:
    for reason in ("first", "second"):
        _put(store, NewJob("a", {}, "key"))
        job = _claim(store)
        assert job is not None and store.bury(job, reason)
    assert [row.last_error for row in store.listed("failed", 10)] == ["second"]
    _put(store, NewJob("a", {}, "key"), NewJob("b", {}, "other"))
    other, job = _claim(store), _claim(store, token="u")
    assert other is not None and job is not None and {other.kind, job.kind} == {"a", "b"}
    assert store.finish(job) and store.finish(other)
    assert store.counts() == {}  # it has succeeded since


def test_a_deferred_job_waits_and_the_attempt_does_not_count(store: JobStore) -> None:
    _put(store, NewJob("a", {}))
    job = _claim(store)
    assert job is not None and job.attempts == 1
    assert store.defer(job, 5000, "the model is down")
    assert store.wake_due(4999) == 0 and _claim(store, 4999) is None
    assert store.listed("deferred", 10)[0].last_error == "the model is down"
    assert store.wake_due(5000) == 1
    job = _claim(store, 5000)
    assert job is not None and job.attempts == 1


def test_a_retry_that_was_put_off_before_the_clock_was_set_back_is_not_waited_for(store: JobStore) -> None:
    hour = 60 * MINUTE
    _put(store, NewJob("a", {}), NewJob("later", {}, available_at_ms=100 * hour), at=50 * hour)
    job = _claim(store, 50 * hour)
    assert job is not None and store.retry(job, 50 * hour + 2000, "failed")
    assert store.wake_due(49 * hour) == 0  # an hour back: it waits a little
    assert store.wake_due(40 * hour) == 1  # ten hours back
    assert store.counts() == {("a", "ready"): 1, ("later", "deferred"): 1}


def test_a_stale_worker_settles_nothing(store: JobStore) -> None:
    _put(store, NewJob("a", {}))
    stale = _claim(store, token="first")
    assert stale is not None
    assert store.free_leases(1000 + MINUTE - 1, []) == 0
    assert store.free_leases(1000 + MINUTE, []) == 1
    fresh = _claim(store, token="second")
    assert fresh is not None and fresh.job_no == stale.job_no
    assert not store.finish(stale)
    assert not store.defer(stale, 1, "x")
    assert not store.retry(stale, 1, "x")
    assert not store.bury(stale, "x")
    assert store.listed("running", 10) == [fresh]
    assert store.finish(fresh) and store.counts() == {}


def test_renewed_leases_last_longer(store: JobStore) -> None:
    _put(store, NewJob("a", {}), NewJob("a", {}))
    _claim(store, owner="me")
    _claim(store, owner="other")
    assert store.renew("me", 10 * MINUTE) == 1
    assert store.free_leases(5 * MINUTE, []) == 1
    assert [job.worker_id for job in store.listed("running", 10)] == ["me"]


def test_a_job_that_outlives_none_of_its_owners_lets_others_go_first_and_fails_for_good(store: JobStore) -> None:
    _put(store, NewJob("poison", {}), NewJob("sound", {}))
    moment = 0
    waits = []
    for _ in range(100):
        job = _claim(store, moment)
        assert job is not None and (job.kind, job.attempts) == ("poison", 1)
        assert store.free_leases(0, ["o"]) == 1
        moment += 1
        waits.append(_due(store, "poison"))
        store.wake_due(10**9)
    assert waits[:7] == [*["ready"] * 5, 16000, 16000] and _claim(store, moment).kind == "sound"  # type: ignore[union-attr]
    (failed,) = store.listed("failed", 10)
    assert failed.kind == "poison" and "ended" in failed.last_error


def _due(store: JobStore, kind: str) -> int | str:
    """When a deferred job is due, else its status."""
    (job,) = [job for job in store.listed(None, 10) if job.kind == kind]
    return job.available_at_ms if job.status == "deferred" else job.status


def test_the_deaths_of_owners_are_no_attempts_and_end_with_an_outcome(store: JobStore) -> None:
    _put(store, NewJob("first", {}))
    assert _claim(store) is not None and store.free_leases(0, ["o"]) == 1
    waiting = _claim(store)
    assert waiting is not None and store.defer(waiting, 10**15, "no model") and not store.is_working()
    _put(store, NewJob("a", {}))
    for _ in range(30):
        assert _claim(store) is not None
        store.free_leases(0, ["o"])
        store.wake_due(10**9)
    job = _claim(store)
    assert job is not None and job.attempts == 1 and store.retry(job, 5, "broken")
    assert store.is_working() and store.wake_due(10) == 1
    job = _claim(store)
    assert job is not None and job.attempts == 2 and store.defer(job, 5, "no model")
    assert store.is_working() and store.listed("deferred", 1)[0].attempts == 1


def test_failed_jobs_are_revived_or_dropped_by_their_ids(store: JobStore) -> None:
    _put(store, NewJob("a", {}, "a"), NewJob("b", {}, "b"), NewJob("c", {}, "c"))
    while job := _claim(store):
        store.bury(job, "broken")
    _put(store, NewJob("c", {}, "c"))  # somebody has put the same in again
    ids = {job.kind: job.job_id for job in store.listed("failed", 10)}
    assert store.drop([ids["b"].removeprefix("job:")[:8]]) == 1
    assert store.revive(None, 2000) == 1
    assert sorted((job.kind, job.status, job.attempts) for job in store.listed(None, 10)) == [
        ("a", "ready", 0), ("c", "ready", 0),
    ]  # fmt: skip


@given(st.uuids(), st.integers(1, 40))
def test_the_wait_doubles_up_to_an_hour_and_a_fifth(job: object, attempts: int) -> None:
    wait = retry_delay_ms(f"job:{job}", attempts)
    plain = min(1000 * 2**attempts, 60 * MINUTE)
    assert plain <= wait <= plain * 1.2


# -- owners and workers -------------------------------------------------------------------------------------------------------


def test_an_owner_is_dead_when_its_process_is(tmp_path: Path) -> None:
    owners = tmp_path / "owners"
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom sapwood.jobs.owner import Owner\n"
        "owner = Owner(Path(sys.argv[1]))\nprint(owner.worker_id, flush=True)\ntime.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(owners)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    worker_id = process.stdout.readline().strip()
    assert not is_dead(owners, worker_id)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert is_dead(owners, worker_id) and not list(owners.iterdir())
    with Owner(owners) as me:
        assert not is_dead(owners, me.worker_id)
    assert is_dead(owners, me.worker_id)


@pytest.fixture
def workers(tmp_path: Path, database: Database) -> Callable[..., Workers]:
    """Makes workers over the test's database."""

    def make(lanes: dict[str, int] | None = None, **handlers: Handler) -> Workers:
        return Workers(
            lambda: Database.open(tmp_path / "chunks.db"), tmp_path / "owners", handlers, lanes or {"work": 2}
        )

    return make


def test_done_jobs_are_gone_and_what_they_wrote_stands(
    workers: Callable[..., Workers], database: Database, store: JobStore
) -> None:
    database.run("CREATE TABLE seen (n INTEGER)")

    def handler(job: JobRow, own: Database) -> Outcome:
        return Done(lambda: own.run("INSERT INTO seen VALUES (?)", (job.payload["n"],)))

    _put(store, *(NewJob("note", {"n": n}) for n in range(200)))
    with workers(note=handler) as crew:
        crew.drain()
    assert sorted(row[0] for row in database.rows("SELECT n FROM seen")) == list(range(200))
    assert store.counts() == {}


def test_a_failing_job_is_tried_five_times_and_one_that_cannot_succeed_once(
    workers: Callable[..., Workers], database: Database, store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.jobs.workers._BASE_MS", 1)

    def handler(job: JobRow, own: Database) -> Outcome:
        match job.payload["how"]:
            case "raise":
                raise RuntimeError("the disk is on fire")
            case "write":
                return Done(lambda: own.run("INSERT INTO nowhere VALUES (1)"))
            case "defer":
                return Defer(now_ms() + 10**9, "the model is down")
            case _:
                return Err("no chance", retryable=False)

    _put(store, *(NewJob("try", {"how": how}) for how in ("raise", "write", "defer", "never")), NewJob("unknown", {}))
    with workers(**{"try": handler}) as crew:
        crew.drain()
    jobs = {job.payload.get("how", "unknown"): job for job in store.listed(None, 10)}
    assert {how: (job.status, job.attempts) for how, job in jobs.items()} == {
        "raise": ("failed", 5), "write": ("failed", 5), "defer": ("deferred", 0), "never": ("failed", 1), "unknown": ("failed", 1),
    }  # fmt: skip
    assert "the disk is on fire" in jobs["raise"].last_error and "no such job" in jobs["unknown"].last_error
    assert jobs["defer"].last_error == "the model is down"


def test_jobs_that_wait_for_a_model_hold_up_no_others(
    workers: Callable[..., Workers], database: Database, store: JobStore
) -> None:
    answer = threading.Event()
    done: list[str] = []

    def model(job: JobRow, own: Database) -> Outcome:
        answer.wait(60)
        return Done(lambda: done.append("model"))

    def quick(job: JobRow, own: Database) -> Outcome:
        return Done(lambda: done.append("quick"))

    _put(
        store,
        *(NewJob("model", {}, lane="model", priority=1) for _ in range(5)),
        *(NewJob("quick", {}) for _ in range(20)),
    )
    with workers({"work": 1, "model": 1}, model=model, quick=quick) as crew:
        deadline = time.monotonic() + 60
        while done.count("quick") < 20:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert "model" not in done
        answer.set()
        crew.drain()
    assert Counter(done) == {"quick": 20, "model": 5}


def test_a_worker_that_lost_its_lease_writes_nothing(
    workers: Callable[..., Workers], database: Database, store: JobStore
) -> None:
    started, go_on = threading.Event(), threading.Event()
    written: list[int] = []

    def handler(job: JobRow, own: Database) -> Outcome:
        started.set()
        go_on.wait(60)
        return Done(lambda: written.append(job.job_no))

    _put(store, NewJob("slow", {}))
    with workers({"work": 1}, slow=handler):
        assert started.wait(60)
        assert store.free_leases(now_ms() + 10 * MINUTE, []) == 1  # its lease ran out, say, while the machine slept
        other = _claim(store, now_ms())
        go_on.set()
    assert written == []
    assert other is not None and store.finish(other)


def test_leaving_waits_for_the_running_job_and_leaves_the_others_ready(
    workers: Callable[..., Workers], database: Database, store: JobStore
) -> None:
    started, go_on = threading.Event(), threading.Event()

    def handler(job: JobRow, own: Database) -> Outcome:
        started.set()
        go_on.wait(60)
        return Done()

    _put(store, NewJob("slow", {}), NewJob("slow", {}))
    with workers({"work": 1}, slow=handler):
        assert started.wait(60)
        threading.Timer(0.2, go_on.set).start()
    assert store.counts() == {("slow", "ready"): 1}


_PROGRAM = """
import sys
from pathlib import Path
from sapwood.jobs.outcome import Done
from sapwood.jobs.workers import Workers
from sapwood.store.database import Database

place = Path(sys.argv[1])

def handler(job, own):
    return Done(lambda: own.run("INSERT INTO seen VALUES (?)", (job.payload["n"],)))

with Workers(lambda: Database.open(place / "chunks.db"), place / "owners", {"note": handler}, {"work": 3}) as workers:
    print("ready", flush=True)
    workers.drain()
"""


def _program(place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", _PROGRAM, str(place)], stdout=subprocess.PIPE, text=True)


def test_two_processes_share_the_jobs_and_do_each_once(tmp_path: Path, database: Database, store: JobStore) -> None:
    database.run("CREATE TABLE seen (n INTEGER)")
    _put(store, *(NewJob("note", {"n": n}) for n in range(600)))
    both = [_program(tmp_path) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    assert sorted(row[0] for row in database.rows("SELECT n FROM seen")) == list(range(600))


def test_killed_at_any_moment_each_job_is_still_done_once(tmp_path: Path, database: Database, store: JobStore) -> None:
    database.run("CREATE TABLE seen (n INTEGER)")
    _put(store, *(NewJob("note", {"n": n}) for n in range(3000)))
    for killed in range(8):
        process = _program(tmp_path)
        assert process.stdout is not None and process.stdout.readline()
        time.sleep(0.01 * killed)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    last = _program(tmp_path)
    assert last.wait(120) == 0
    assert sorted(row[0] for row in database.rows("SELECT n FROM seen")) == list(range(3000))
    assert store.counts() == {}


def test_a_job_whose_end_cannot_be_written_is_settled_once_it_can(
    workers: Callable[..., Workers], database: Database, store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process lives and renews its lease: nobody else would do it."""
    monkeypatch.setattr("sapwood.store.database.BUSY_TIMEOUT_MS", 100)
    monkeypatch.setattr("sapwood.jobs.workers._POLL_SECONDS", 0.1)
    database.run("CREATE TABLE seen (n INTEGER)")
    calls: list[int] = []

    def handler(job: JobRow, own: Database) -> Outcome:
        calls.append(1)
        database.run("BEGIN IMMEDIATE")
        return Done(lambda: own.run("INSERT INTO seen VALUES (1)"))

    _put(store, NewJob("hold", {}, "hold"))
    with workers(hold=handler):
        deadline = time.monotonic() + 20
        while not calls:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.6)
        database.run("COMMIT")
        while store.counts():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert database.rows("SELECT n FROM seen") == [(1,)] and len(calls) == 1
