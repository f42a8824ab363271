"""Search at 100,000 and 500,000 passages beside the bare queries of the same questions over the same index and the same vectors.

The store holds the benchmark's own paragraphs and turns, which answer the questions, and made-up documents up to the
number asked for. Wall time; each question is asked of all, one after the other, after a warm-up. The vectors are random
around 200 centres, as many as there are passages: the questions' own vectors come from the real model. The bare vector
query is the model's answer and the ten passages nearest by sign.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sapwood.ingest.commit import Writer
from sapwood.memory import Memory
from sapwood.models.choice import open_embedder
from sapwood.recall.query import parse
from sapwood.store.connections import ConnectionStore
from sapwood.store.search import SearchStore
from sapwood.store.vectors import Model, VectorStore
from tests.bench import data, texts
from tests.bench.hotpath import feed


def _documents() -> Iterator[texts.Document]:
    for name in data.CHINESE:
        for number, paragraph in enumerate(data.paragraphs(name)):
            yield texts.Document(f"{name} {number}", paragraph)
    for sample in data.chats():
        for session, turns in sample.sessions.items():
            yield texts.Document(f"{sample.name} {session}", "\n\n".join(f"{t['speaker']}: {t['text']}" for t in turns))


class _Filler:
    """Fills a workspace up to a number of passages, step by step."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        with memory.database.transaction():
            connection = ConnectionStore(memory.database).open("folder", "bench", "bench", 0)
        self._writer = Writer(memory.workspace, memory.database, (connection, "folder", "bench", "bench"))
        self._made = texts.Writer(11)
        real = list(_documents())
        feed(self._writer, real, 0)
        self._number = len(real)

    def fill(self, passages: int) -> int:
        """Put in made-up documents up to about this many passages; how many there are."""
        while (held := SearchStore(self._memory.database).size()[1]) < passages:
            count = min(2000, max(50, (passages - held) // 6))
            numbers = range(self._number, self._number + count)
            feed(self._writer, [self._made.document(n) for n in numbers], self._number)
            self._number += count
        return held


def _fill_vectors(memory: Memory) -> Model:
    """A vector for each passage that has none, put in as the work puts them in."""
    import numpy

    embedder = open_embedder("offline", memory.settings, memory.workspace.memory_tree)
    numbers = numpy.random.default_rng(3)
    centres = numbers.standard_normal((200, 512), dtype=numpy.float32)
    vectors = VectorStore(memory.database, memory.workspace.embeddings)
    with vectors.attached(create=True):
        model = vectors.add_model(embedder.signature, "offline")
        vectors.set_dims(model, 512)
        below = 1 << 62
        while part := vectors.missing(model, below, 5000):
            below = part[-1][0]
            made = centres[numbers.integers(0, 200, len(part))] + numbers.standard_normal(
                (len(part), 512), dtype=numpy.float32
            )
            made /= numpy.linalg.norm(made, axis=1, keepdims=True)
            vectors.put(model, [(p, h, v.tobytes()) for (p, h), v in zip(part, made, strict=True)], [])
        vectors.set_complete(model, 1)
        found = vectors.model(embedder.signature)
    embedder.close()
    assert found is not None
    return found


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


def _time(action: Callable[[], Any]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def run(sizes: tuple[int, ...] = (100_000, 500_000), questions: int = 400) -> list[dict[str, float]] | None:
    """For each number of passages p95 in milliseconds of all, and the ratio; None when the data is not at hand."""
    if not data.at_hand():
        return None
    asked = [q for name in data.CHINESE for q, _ in data.questions(name)]
    asked += [q["question"] for sample in data.chats() for q in sample.questions]
    asked = random.Random(5).sample(asked, min(questions, len(asked)))
    with tempfile.TemporaryDirectory() as place, Memory(Path(place) / "ws", create=True) as memory:
        filler = _Filler(memory)
        return [{"passages": filler.fill(size), **_measure(memory, asked)} for size in sizes]


def _measure(memory: Memory, asked: list[str]) -> dict[str, float]:
    model = _fill_vectors(memory)
    embedder = open_embedder("offline", memory.settings, memory.workspace.memory_tree)
    vectors = VectorStore(memory.database, memory.workspace.embeddings)

    def bare_vectors(question: str) -> None:
        vector = embedder.encode([question], urgent=True)[0]
        assert vector is not None
        with vectors.attached():
            vectors.nearest(model, vector, 10, "", [])

    rows = memory.database.rows
    bare = "SELECT rowid FROM mem_tree_passages_fts WHERE mem_tree_passages_fts MATCH ? ORDER BY rank LIMIT 10"
    floor: list[float] = []
    near: list[float] = []
    ours: list[float] = []
    for warm in (True, False):
        for question in asked[:50] if warm else asked:
            expression = parse(question).expression
            floor.append(_time(lambda e=expression: rows(bare, (e,))))  # type: ignore[misc]
            near.append(_time(lambda q=question: bare_vectors(q)))  # type: ignore[misc]
            ours.append(_time(lambda q=question: memory.search(q)))  # type: ignore[misc]
        if warm:
            floor.clear(), ours.clear(), near.clear()
    embedder.close()
    return {
        "questions": len(ours), "fts5_p95_ms": 1000 * _p95(floor), "vectors_p95_ms": 1000 * _p95(near), "ours_p95_ms": 1000 * _p95(ours),
        "ratio": _p95(ours) / (_p95(floor) + _p95(near)),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
