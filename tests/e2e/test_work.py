"""The slow work, from the import that asks for it to the index that it fills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from tests.conftest import Result, run_command

Sapwood = Callable[..., Result]

_NOTE = (
    "# Plan\n\nOlga Petrova agreed to pay $2,400 by 2026-05-05, because the landlord asked. 联系 alice@example.com。\n"
)


def _rows(workspace: Path, sql: str) -> list[tuple[Any, ...]]:
    database = apsw.Connection(str(workspace / "memory_tree" / "chunks.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def _state(workspace: Path) -> list[list[tuple[Any, ...]]]:
    """All that the work leaves behind, but for times."""
    return [
        _rows(workspace, "SELECT chunk_id, total, interaction_weight, entity_density, dropped, reason FROM mem_tree_score ORDER BY 1"),
        _rows(workspace, "SELECT entity_id, node_id, entity_kind, surface, score, timestamp_ms FROM mem_tree_entity_index WHERE node_kind = 'leaf' ORDER BY 1, 2"),
        _rows(workspace, "SELECT id, lifecycle_status FROM mem_tree_chunks ORDER BY 1"),
        _rows(workspace, "SELECT kind, status FROM mem_tree_jobs"),
    ]  # fmt: skip


def test_an_import_asks_for_work_and_work_fills_scores_and_entities(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    (folder / "plan.md").write_text(_NOTE, encoding="utf-8")
    sapwood("import", str(folder))
    assert sapwood("jobs", "list", "--json").json["counts"] == {
        "extract_chunk": {"ready": 1},
        "embed_passages": {"ready": 1},
    }
    status = {check["name"]: check for check in sapwood("status", "--json").json["checks"]}
    assert status["pending work"]["ok"] and status["pending work"]["detail"] == "2 jobs"
    assert sapwood("work", "--drain", "--json").json == {"counts": {}}
    found = {row[0] for row in _rows(workspace, "SELECT entity_id FROM mem_tree_entity_index")}
    assert {"person:olga petrova", "email:alice@example.com", "quantity:$2,400", "datetime:2026-05-05"} <= found
    assert _rows(workspace, "SELECT lifecycle_status FROM mem_tree_chunks") == [("sealed",)]
    ((total,),) = _rows(workspace, "SELECT total FROM mem_tree_score")
    hit = sapwood("search", "Olga", "--json").json["hits"][0]
    told = sapwood("explain", hit["node_id"][:10], "--json").json
    assert told["total"] == total and told["band"] == "keep" and told["signals"]["interaction_weight"]["weight"] == 3.0


def test_an_import_that_waits_leaves_no_work(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "plan.md").write_text(_NOTE, encoding="utf-8")
    assert sapwood("import", str(folder), "--wait", "--json").json["counts"]["stored"] == 1
    assert _rows(workspace, "SELECT count(*) FROM mem_tree_jobs") == [(0,)]
    assert _rows(workspace, "SELECT count(*) FROM mem_tree_entity_index WHERE entity_kind = 'person'") == [(1,)]


def test_an_edit_and_a_rebuild_ask_for_the_work_again(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "plan.md").write_text(_NOTE, encoding="utf-8")
    sapwood("import", str(folder))
    sapwood("work", "--drain")
    note = next((workspace / "wiki" / "raw").rglob("*.md"))
    note.write_text(note.read_text(encoding="utf-8").replace("Olga Petrova", "Ruth Delgado"), encoding="utf-8")
    sapwood("import", str(folder))
    sapwood("work", "--drain")
    people = _rows(workspace, "SELECT surface FROM mem_tree_entity_index WHERE entity_kind = 'person'")
    assert people == [("Ruth Delgado",)]
    before = _state(workspace)
    for file in (workspace / "memory_tree").glob("chunks.db*"):
        file.unlink()
    assert sapwood("rebuild", "--json").json["ok"]
    sapwood("work", "--drain")
    assert _state(workspace) == before


def test_killed_at_many_moments_the_work_ends_like_an_unbroken_one(folder: Path, tmp_path: Path) -> None:
    for number in range(120):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{_NOTE} Number {number} speaks of Anna{number} Smith.\n", encoding="utf-8")  # fmt: skip
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for place in (whole, broken):
        assert run_command("import", str(folder), workspace=place).code == 0
    assert run_command("work", "--drain", workspace=whole).code == 0
    for moment in range(12):
        process = subprocess.Popen(
            [sys.executable, "-m", "sapwood", "work", "--workspace", str(broken)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(0.15 + 0.03 * moment)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert run_command("work", "--drain", workspace=broken).code == 0
    assert _state(broken) == _state(whole)
    assert _rows(broken, "SELECT count(*) FROM mem_tree_jobs") == [(0,)]


def _heed_interrupts() -> None:
    """A shell starts its background jobs with interrupts ignored, and so would be all that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_work_ends_on_ctrl_c_without_a_traceback(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "plan.md").write_text(_NOTE, encoding="utf-8")
    sapwood("import", str(folder))
    process = subprocess.Popen(
        [sys.executable, "-m", "sapwood", "work", "--workspace", str(workspace)], stderr=subprocess.PIPE, text=True, preexec_fn=_heed_interrupts
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while _rows(workspace, "SELECT 1 FROM mem_tree_jobs"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said


def test_ids_of_no_failed_job_are_refused(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.txt").write_text("words", encoding="utf-8")
    sapwood("import", str(folder))
    for command in ("retry", "drop"):
        refused = sapwood("jobs", command, "0123456789", "--json")
        assert refused.code == 1 and "No failed job" in refused.json["error"]
    assert sapwood("explain", "0123456789", "--json").code == 1
