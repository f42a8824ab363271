"""The queue without work: jobs a second from claim to settled, and what a long queue costs a claim.

Empty jobs, each with its transaction. A claim's cost is measured with 1,000 and with 100,000 ready jobs in turn, so that
other work on the machine slows both.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sapwood.jobs.outcome import Done
from sapwood.jobs.workers import Workers
from sapwood.store.database import Database
from sapwood.store.jobs import JobStore, NewJob


@contextmanager
def _store(place: str, name: str, jobs: int) -> Iterator[tuple[Database, JobStore]]:
    database = Database.open(Path(place) / name)
    store = JobStore(database)
    with database.transaction():
        store.enqueue([NewJob("empty", {"n": n}, f"empty:{n}") for n in range(jobs)], 0)
    try:
        yield database, store
    finally:
        database.close()


def _drained(place: str, workers: int, jobs: int) -> float:
    """Jobs a second."""
    with _store(place, f"{workers}.db", jobs) as (database, _):
        began = time.perf_counter()
        with Workers(
            lambda: Database.open(database.path),
            Path(place) / "owners",
            {"empty": lambda job, own: Done()},
            {"work": workers},
        ) as crew:
            crew.drain()
        return jobs / (time.perf_counter() - began)


def _claims(place: str, sizes: tuple[int, ...], rounds: int = 15, claims: int = 100) -> dict[int, float]:
    """Median microseconds of CPU of a claim with so many jobs ready."""
    times: dict[int, list[float]] = {size: [] for size in sizes}
    opened = {size: _store(place, f"q{size}.db", size) for size in sizes}
    stores = {size: context.__enter__() for size, context in opened.items()}
    for number in range(rounds):
        for size, (database, store) in stores.items():
            began = time.process_time()
            for n in range(claims):
                assert store.claim("work", "o", f"{number}-{n}", 1, 10**15)
            times[size].append((time.process_time() - began) / claims * 1e6)
            database.run("UPDATE mem_tree_jobs SET status = 'ready', attempts = 0 WHERE status = 'running'")
    for context in opened.values():
        context.__exit__(None, None, None)
    return {size: statistics.median(values) for size, values in times.items()}


def run(jobs: int = 4000) -> dict[str, float]:
    """Jobs a second with one and three workers, and a claim's cost with few and many waiting."""
    with tempfile.TemporaryDirectory() as place:
        rates = {workers: _drained(place, workers, jobs) for workers in (1, 3)}
        claims = _claims(place, (1_000, 100_000))
    return {
        "jobs_s_1": rates[1], "jobs_s_3": rates[3], "claim_us_1000": claims[1_000], "claim_us_100000": claims[100_000],
        "ratio": claims[100_000] / claims[1_000],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
