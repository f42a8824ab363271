"""What it costs to grow trees without a model, and how fast they answer.

Channels of dated messages, one leaf a message: what is timed is all that follows once a leaf is admitted (append, seal, the
topics, days, weeks, months and years), in CPU of one thread. Answers are timed at the full size.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import time_machine

from sapwood.clock import now_ms
from sapwood.ingest.commit import Writer
from sapwood.ingest.followup import APPEND, DIGEST, ROUTE, SEAL, appending, routing
from sapwood.jobs.outcome import Done
from sapwood.memory import Memory
from sapwood.pipeline.chunk_jobs import index_mentions
from sapwood.pipeline.grow import DigestHandler, SealHandler, append_buffer
from sapwood.pipeline.topics import TopicHandler
from sapwood.sdk.canonicalise import Message, canonicalise_chat
from sapwood.store.connections import ConnectionStore
from sapwood.store.entities import Mention
from sapwood.store.items import ItemStore
from sapwood.store.jobs import JobStore
from sapwood.text.entities import canonical_id
from sapwood.trees.digest import place_in_days
from tests.bench import texts

_START = datetime(2024, 1, 1, 8, tzinfo=UTC)
_CHANNELS = 20
_STEP = 500
_EARLY = 10  # batches, of which the first two are left out


class _Growth:
    """Adds leaves and does all that follows."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._database = memory.database
        with self._database.transaction():
            connection = ConnectionStore(self._database).open("chat", "bench", "bench", 0)
        self._writer = Writer(memory.workspace, self._database, (connection, "chat", "bench", "bench"))
        self._made = texts.Writer(7, 600)
        self._handlers: dict[str, Callable[..., Any]] = {
            APPEND: append_buffer, SEAL: SealHandler(memory.workspace), DIGEST: DigestHandler(memory.workspace), ROUTE: TopicHandler(memory.workspace),
        }  # fmt: skip

    def add(self, first: int, count: int) -> float:
        """CPU seconds of what follows on leaves, without taking them in."""
        for number in range(first, first + count):
            text = self._made.document(number).text
            said = Message(f"m{number}", _START + timedelta(minutes=21 * number), f"Person {number % 50}", text)
            channel = f"chat:bench:c{number % _CHANNELS}"
            source = canonicalise_chat(
                item_id=f"{channel}:{number}", source_id=channel, scope=channel, title=f"Channel {number % _CHANNELS}", messages=[said]
            )  # fmt: skip
            assert source is not None
            self._writer.add(source)
            if self._writer.full:
                self._writer.flush()
        self._writer.flush()
        items, jobs = ItemStore(self._database), JobStore(self._database)
        with self._database.transaction():
            self._database.run("DELETE FROM mem_tree_jobs")
        began = time.process_time()
        rows = self._database.rows(
            "SELECT id FROM mem_tree_chunks WHERE lifecycle_status = 'pending_extraction' ORDER BY timestamp_ms"
        )
        for number, (chunk_id,) in enumerate(rows, first):
            found = items.with_chunk(chunk_id)
            assert found is not None
            with self._database.transaction():
                self._database.run("UPDATE mem_tree_chunks SET lifecycle_status = 'admitted' WHERE id = ?", (chunk_id,))
                days = place_in_days(self._database, *found, UTC, dropped=False)
                index_mentions(self._database, *found, _mentions(number))
                jobs.enqueue([appending(chunk_id, found[0].source_id), routing(chunk_id), *days], now_ms())
            self._do(jobs, digests=False)
        self._do(jobs, digests=True)
        return time.process_time() - began

    def _do(self, jobs: JobStore, *, digests: bool) -> None:
        while True:
            job = jobs.claim("work", "bench", "token", now_ms(), now_ms() + 60_000)
            if job is None:
                return
            if job.kind == DIGEST and not digests:  # all else is done: it comes last
                self._database.run(
                    "UPDATE mem_tree_jobs SET status = 'ready', attempts = 0 WHERE job_no = ?", (job.job_no,)
                )
                return
            outcome = self._handlers[job.kind](job, self._database)
            assert isinstance(outcome, Done)
            with self._database.transaction():
                if jobs.finish(job):
                    outcome.write()


def _mentions(number: int) -> list[Mention]:
    """Who wrote a leaf, whom it is about, and what: some are named all the time, most seldom."""
    names = [
        ("person", f"Person {number % 50}"),
        ("person", f"Person {number * 7 % 50}"),
        ("organization", f"Firm {number % 400}"),
        ("product", f"Thing {number % 5000}"),
    ]
    return [Mention(canonical_id(kind, name), kind, name, 0.9) for kind, name in dict.fromkeys(names)]


def _p95(action: Callable[[int], Any], rounds: int = 60) -> float:
    times = []
    for number in range(rounds):
        began = time.perf_counter()
        action(number)
        times.append(1000 * (time.perf_counter() - began))
    return sorted(times)[int(0.95 * len(times))]


def _costs(memory: Memory, leaves: int) -> list[float]:
    """CPU milliseconds a leaf, of one batch after the other."""
    growth = _Growth(memory)
    costs = []
    for at in range(0, leaves, _STEP):  # as it would have happened: the last thirty days are those before each leaf
        with time_machine.travel(_START + timedelta(minutes=21 * (at + _STEP)), tick=True):
            costs.append(growth.add(at, _STEP) / _STEP * 1000)
    return costs


def run(leaves: int = 50_000) -> dict[str, float]:
    """CPU milliseconds a leaf from the thousandth to the five thousandth and among the last four thousand, and their ratio; p95 of answers in
    milliseconds.

    The first are measured twice, before and after the others: the machine may have become busier or calmer meanwhile. Four thousand
    leaves are two months, with as many weeks and months to tell at either end.
    """
    with tempfile.TemporaryDirectory() as place, Memory(Path(place) / "ws", create=True) as memory:
        costs = _costs(memory, leaves)
        with tempfile.TemporaryDirectory() as other, Memory(Path(other) / "ws", create=True) as small:
            again = _costs(small, _EARLY * _STEP)
        early = (statistics.mean(costs[2:_EARLY]) + statistics.mean(again[2:_EARLY])) / 2
        late = statistics.mean(costs[2 - _EARLY :])
        pick = random.Random(3)
        tops = [hit.node_id for hit in memory.query_source("c3", limit=50).hits if hit.node_kind == "summary"]
        days = [(_START + timedelta(days=pick.randrange(int(leaves * 21 / 1440)))).date() for _ in range(60)]
        return {
            "leaves": leaves, "early_ms": early, "late_ms": late, "ratio": late / early,
            "source_p95_ms": _p95(lambda n: memory.query_source(f"c{n % _CHANNELS}")),
            "drill_p95_ms": _p95(lambda n: memory.drill_down(tops[n % len(tops)])),
            "day_p95_ms": _p95(lambda n: memory.query_global(days[n])),
            "month_p95_ms": _p95(lambda n: memory.query_global(days[n], days[n] + timedelta(days=30))),
            "topic_p95_ms": _p95(lambda n: memory.query_topic(f"Person {n % 50}")),
        }  # fmt: skip


if __name__ == "__main__":
    import sys

    print(json.dumps(run(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000), indent=1))
