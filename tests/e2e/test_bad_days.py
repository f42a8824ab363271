"""What else may happen while somebody searches and works: huge questions, locked databases, very many hits."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.conftest import Result

from sapwood.memory import Memory

Sapwood = Callable[..., Result]


def test_a_question_of_a_megabyte_is_answered_by_its_beginning(
    sapwood: Sapwood, folder: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "hashing")
    (folder / "a.md").write_text("The kestrel flew over the mill. 红隼飞过磨坊。", encoding="utf-8")
    sapwood("import", str(folder), "--wait")
    with Memory(workspace) as memory:
        for text in (
            "kestrel " * 130_000,
            "kestrel " + "x" * 1_000_000,
            "红隼" * 300_000,
            "".join(f"kestrel w{n} " for n in range(60_000)),
        ):
            began = time.monotonic()
            assert [hit.source_ref for hit in memory.search(text).hits] == ["a.md"]
            assert time.monotonic() - began < 20
        for text in ("", " ", "😀😀", "\0", "\ud800"):
            memory.search(text)


def test_ten_thousand_hits_come_in_order_with_filters_and_any_limit(
    sapwood: Sapwood, folder: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "hashing")
    lines = "".join(
        f'{{"id": {n}, "speaker": "{"Ann" if n % 2 else "Bob"}", "text": "common words number {n}", "time": {1_700_000_000 + 60 * n}}}\n'
        for n in range(10_000)
    )
    (folder / "talk.jsonl").write_text(lines, encoding="utf-8")
    sapwood("import", str(folder))
    sapwood("work", "--drain")
    with Memory(workspace) as memory:
        found = memory.search("common words", unit="passage", limit=50, author="ann")
        assert len(found.hits) == 50 and found.total == 5000 and found.legs["vectors"] == "live"
        assert all(hit.author == "Ann" for hit in found.hits)
        for limit in (-1, 0, 5000):
            assert len(memory.search("common words", unit="passage", limit=limit).hits) == (
                1000 if limit == 5000 else 10
            )
        assert "number 7777" in memory.search("common words number 7777", unit="passage").hits[0].content


def test_work_goes_on_after_another_program_has_held_the_database(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    for number in range(30):
        (folder / f"{number}.md").write_text(f"Anna Ek wrote note {number}.", encoding="utf-8")
    sapwood("import", str(folder))
    other = apsw.Connection(str(workspace / "memory_tree" / "chunks.db"))
    other.execute("BEGIN IMMEDIATE")
    process = subprocess.Popen(
        [sys.executable, "-m", "sapwood", "work", "--drain", "--workspace", str(workspace)],
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(20)  # longer than a connection waits
    assert process.poll() is None
    assert sapwood("search", "note 7", "--json").json["hits"]
    other.execute("ROLLBACK")
    other.close()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0 and "Traceback" not in said
    assert sapwood("jobs", "list", "--json").json["counts"] == {}
