"""Processes that are killed right before or right after one commit after the other: they end like those that nobody killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Result, let_rest, run_command
from tests.trees.test_days import _week
from tests.trees.test_growth import SUBJECTS, _faults, _note, _trees, _write_notes

ENV = {"SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1", "SAPWOOD_TIMEZONE": "UTC"}
_KILLED = """
import os, sys
from sapwood.store.database import Database
limit, before = int(sys.argv[1]), sys.argv[2] == "before"
commits, run = 0, Database.run
def counted(self, sql, *arguments):
    global commits
    commits += sql == "COMMIT"
    dies = sql == "COMMIT" and commits == limit
    if dies and before: os._exit(9)
    done = run(self, sql, *arguments)
    if dies: os._exit(9)
    return done
Database.run = counted
sys.argv = ["sapwood", *sys.argv[3:]]
from sapwood.cli.app import main
main()
"""


def _killed_at_each_border(workspace: Path, *command: str) -> int:
    """Run a command again and again, until it gets to its end; how often it died. Each time it dies a few commits on: so that what goes
    on from where it was is killed all the way, and what begins anew at one commit after the other."""
    for number in range(300):
        limit, where = 2 + number % 5 + number // 10, ("before", "after")[number // 5 % 2]
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, str(limit), where, *command, "--workspace", str(workspace)],
            capture_output=True, text=True, env={**os.environ, **ENV}, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            return number
        assert done.returncode == 9, done.stderr
    raise AssertionError("it never gets to its end")


def _notes(workspace: Path) -> dict[str, str]:
    """The files of the vault without the lines that say when they were made."""
    return {
        str(path.relative_to(workspace)): "\n".join(line for line in path.read_text(encoding="utf-8").split("\n") if not line.startswith(("sealed_at", "ingested")))
        for path in (workspace / "wiki").rglob("*.md")
        if "reports" not in path.parts and path.name != "Home.md"
    }  # fmt: skip


@pytest.fixture
def twins(folder: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two workspaces into which the same was imported, with all the slow work still to do."""
    _write_notes(folder, 12)
    _week(folder)
    (folder / "long.md").write_text(
        "\n\n".join(f"## {s} {n}\n\n{_note(s, n) * 20}" for n in range(2) for s in SUBJECTS), encoding="utf-8"
    )
    let_rest(folder)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run_command("import", str(folder), workspace=whole, env=ENV).code == 0
    shutil.copytree(whole, broken)
    return whole, broken


def _work(workspace: Path) -> Result:
    return run_command("work", "--drain", workspace=workspace, env=ENV)


def test_growing_killed_at_each_commit(twins: tuple[Path, Path]) -> None:
    whole, broken = twins
    assert _work(whole).code == 0
    assert _killed_at_each_border(broken, "work", "--drain") > 30
    assert _trees(broken) == _trees(whole) and _notes(broken) == _notes(whole) and _faults(broken) == {}


def _edit_a_chunk(workspace: Path) -> None:
    note = next(
        path for path in sorted((workspace / "wiki" / "raw").rglob("*.md")) if "The pump was" in path.read_text()
    )
    note.write_text(note.read_text().replace("has", "has surely").replace("two weeks", "three weeks"), encoding="utf-8")


def _edit_a_summary(workspace: Path) -> None:
    page = sorted((workspace / "wiki" / "summaries").rglob("L1-*.md"))[0]
    page.write_text(page.read_text().replace("inspected on 3 May", "inspected on 4 May", 1), encoding="utf-8")


@pytest.mark.parametrize("edit", [_edit_a_chunk, _edit_a_summary])
def test_edits_killed_at_each_commit(twins: tuple[Path, Path], edit: Callable[[Path], None]) -> None:
    whole, broken = twins
    assert _work(whole).code == 0
    shutil.rmtree(broken)
    shutil.copytree(whole, broken)
    for place in twins:
        edit(place)
    for command in (("doctor",), ("work", "--drain")):
        assert run_command(*command, workspace=whole, env=ENV).code == 0
        _killed_at_each_border(broken, *command)
    assert _trees(broken) == _trees(whole) and _notes(broken) == _notes(whole) and _faults(broken) == {}
    told = "three weeks" if edit is _edit_a_chunk else "inspected on 4 May"
    assert any(told in text for name, text in _notes(broken).items() if "raw" not in name)


def test_forgetting_killed_at_each_commit(twins: tuple[Path, Path]) -> None:
    whole, broken = twins
    assert _work(whole).code == 0
    shutil.rmtree(broken)
    shutil.copytree(whole, broken)
    command = ("forget", "--match", "crack in the pump", "--purge", "--yes")
    assert run_command(*command, workspace=whole, env=ENV).code == 0
    assert _killed_at_each_border(broken, *command) > 2
    for place in twins:
        assert _work(place).code == 0
    assert _faults(broken) == {} and run_command("doctor", workspace=broken, env=ENV).code == 0
    assert {n: t for n, t in _notes(broken).items() if "raw" in n} == {
        n: t for n, t in _notes(whole).items() if "raw" in n
    }
    for path in broken.rglob("*"):
        assert not path.is_file() or b"crack in the pump" not in path.read_bytes().lower(), path
