"""Forgetting that is killed at any moment: run once more, it ends like an unbroken one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import run_command
from tests.forgetting.test_forget import ENV, _traces, _write

from sapwood.memory import Memory
from sapwood.store.tree_checks import tree_faults


def _told(workspace: Path) -> list[tuple[object, ...]]:
    with Memory(workspace) as memory:
        assert {n: c for n, c in tree_faults(memory.database).items() if c} == {}
        return memory.database.rows(
            # In which tens the leaves are told depends on when each process was killed.
            "SELECT id, lifecycle_status, content FROM mem_tree_chunks UNION ALL SELECT 'told', count(*), sum(stale) FROM mem_tree_summary_children k "
            "JOIN mem_tree_summaries s ON s.id = k.summary_id WHERE s.level = 1 AND s.tree_kind = 'source' ORDER BY 1"
        )


def test_a_killed_purge_is_finished_by_the_same_command(folder: Path, tmp_path: Path) -> None:
    _write(folder)
    for number in range(30):
        (folder / f"{number:02d}.md").write_text(f"# Note {number}\n\nThe gate {number} is painted by Anna Berg.\n\nZanzibar knows {number}.\n", encoding="utf-8")  # fmt: skip
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for place in (whole, broken):
        assert run_command("import", str(folder), "--wait", workspace=place, env=ENV).code == 0
    command = ("forget", "--match", "zanzibar", "--yes", "--purge")
    assert run_command(*command, workspace=whole, env=ENV).code == 0
    random_ = random.Random(5)
    for _ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-m", "sapwood", *command, "--workspace", str(broken)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **ENV}
        )  # fmt: skip
        time.sleep(random_.uniform(0.3, 1.6))
        process.kill()
        process.wait()
    assert run_command(*command, workspace=broken, env=ENV).code == 0
    assert run_command("work", "--drain", workspace=broken, env=ENV).code == 0
    assert run_command("doctor", workspace=broken, env=ENV).code == 0
    assert _traces(broken, "zanzibar") == [] and _told(broken) == _told(whole)
    assert not any(
        check["name"].startswith("forgetting")
        for check in run_command("status", "--json", workspace=broken, env=ENV).json["checks"]
    )


def _forget_and_die(workspace: Path, patch: str, arguments: str) -> None:
    """Forget in a process that a patch ends on its way."""
    code = (
        "import os; from pathlib import Path; from sapwood.memory import Memory; from sapwood.forgetting.acting import Forgetting\n"
        f"{patch}\nwith Memory(Path({str(workspace)!r})) as memory: memory.forget({arguments})"
    )
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, **ENV}, check=False).returncode == 9


@pytest.mark.parametrize("rest", [("forget", "Anna Berg", "--yes", "--purge"), ("forget", "--resume")])
def test_forgetting_somebody_that_was_interrupted_is_done_to_the_end(
    folder: Path, workspace: Path, rest: tuple[str, ...]
) -> None:
    _write(folder)
    assert run_command("import", str(folder), "--wait", workspace=workspace, env=ENV).code == 0
    _forget_and_die(workspace, "Forgetting.tell_anew = lambda self: os._exit(9)", "'Anna Berg', purge=True")
    named = [
        c
        for c in run_command("status", "--json", workspace=workspace, env=ENV).json["checks"]
        if c["name"].startswith("forgetting")
    ]
    assert len(named) == 1 and "--resume" in named[0]["next_step"]
    assert run_command(*rest, workspace=workspace, env=ENV).code == 0
    assert _traces(workspace, "anna berg") == []
    assert not any(
        c["name"].startswith("forgetting")
        for c in run_command("status", "--json", workspace=workspace, env=ENV).json["checks"]
    )


def test_what_a_killed_process_was_about_to_write_is_purged_too(folder: Path, workspace: Path) -> None:
    _write(folder)
    assert run_command("import", str(folder), "--wait", workspace=workspace, env=ENV).code == 0
    dies = "Path.rename = lambda self, target: os._exit(9) if target.name == 'forgotten.jsonl' else os.rename(self, target)"
    _forget_and_die(workspace, dies, "match='Anna Berg', purge=True")
    (left,) = (workspace / "wiki" / ".sapwood").glob(".forgotten.jsonl.*.tmp")
    assert "anna berg" in left.read_text(encoding="utf-8")
    assert any("1: " in c["detail"] for c in run_command("doctor", "--json", workspace=workspace, env=ENV).json["checks"] if c["name"] == "temporary files of killed runs")  # fmt: skip
    assert run_command("forget", "--match", "Anna Berg", "--yes", "--purge", workspace=workspace, env=ENV).code == 0
    assert _traces(workspace, "anna berg") == [] and not left.exists()
