"""Killed at any moment: the next run ends where an unbroken one would have."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest
from tests.conftest import run_command

_TIMES = ("ingested_at_ms", "updated_at_ms", "created_at_ms", "computed_at_ms", "file_mtime_ns")
_TABLES = (
    "mem_tree_items",
    "mem_tree_chunks",
    "mem_tree_chunk_bodies",
    "mem_tree_item_chunks",
    "mem_tree_passages",
    "mem_tree_score",
    "mem_tree_item_issues",
    "mem_tree_unlinks",
)


def _rows(workspace: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows but their times."""
    db = apsw.Connection(str(workspace / "memory_tree" / "chunks.db"))
    found: dict[str, list[tuple[object, ...]]] = {}
    for table in _TABLES:
        columns = [
            r[1]
            for r in db.execute(f"PRAGMA table_info({table})")
            if r[1] not in (*_TIMES, "attempts", "first_at_ms", "last_at_ms")
        ]
        found[table] = sorted(db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall(), key=repr)
    found["fts"] = sorted(db.execute("SELECT id FROM mem_tree_passages_fts_docsize").fetchall())
    db.close()
    return found


def _files(workspace: Path) -> dict[str, str]:
    """All files of the vault, times in manifests left out."""
    import re

    vault = workspace / "wiki"
    return {
        f.relative_to(vault).as_posix(): re.sub(r'"(?:ingested|updated)_at_ms": \d+', "", f.read_text())
        for f in vault.rglob("*")
        if f.is_file() and "reports" not in f.parts
    }


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of 450 files, some of which fail, and a workspace of an unbroken import of it."""
    root = tmp_path_factory.mktemp("crash")
    folder = root / "files"
    for number in range(450):
        place = folder / f"d{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:03d}.md").write_text(
            f"# Note {number}\n\n" + f"word{number} 中文{number}。 " * (3 + number % 60)
        )
    (folder / "bad.json").write_text("{")
    (folder / "skip.xyz").write_bytes(b"\x00")
    old = time.time() - 3600
    for file in folder.rglob("*"):
        os.utime(file, (old, old))
    whole = root / "whole"
    assert run_command("import", str(folder), workspace=whole).code == 3
    return folder, whole


def _start(folder: Path, workspace: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sapwood", "import", str(folder), "--workspace", str(workspace)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "SAPWOOD_TIMEZONE": "UTC"},
    )  # fmt: skip


@pytest.mark.slow
def test_killed_from_outside_at_fifty_moments_it_ends_like_an_unbroken_run(
    material: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, whole = material
    rows, files = _rows(whole), _files(whole)
    moments = random.Random(20)
    kills = 0
    workspace = tmp_path / "ws0"
    for attempt in range(50):
        process = _start(folder, workspace)
        try:
            process.wait(timeout=moments.uniform(0.3, 2.2))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        else:  # it ended: compare, and begin anew
            assert _rows(workspace) == rows and _files(workspace) == files
            shutil.rmtree(workspace)
            workspace = tmp_path / f"ws{attempt + 1}"
    assert run_command("import", str(folder), workspace=workspace).code == 3
    assert kills >= 25
    assert _rows(workspace) == rows
    assert _files(workspace) == files
    assert run_command("doctor", "--json", workspace=workspace).json["ok"]
    assert not list((workspace / "tmp").iterdir())


_STOP_AT = """
import os, sys
from sapwood.vault import files
from sapwood.store.database import Database
from sapwood.ingest import commit
point = sys.argv.pop(1)
def stop_before(owner, name, when):
    real = getattr(owner, name)
    count = [0]
    def wrapped(*a, **k):
        count[0] += 1
        if when(count[0], a):
            os._exit(9)
        return real(*a, **k)
    setattr(owner, name, wrapped)
if point == "write": stop_before(files.os, "write", lambda n, a: n == 30)
if point == "rename": stop_before(files.os, "rename", lambda n, a: n == 30)
if point == "commit": stop_before(Database, "run", lambda n, a: len(a) > 1 and a[1] == "COMMIT" and n > 400)
if point == "unlink": stop_before(commit, "remove_files", lambda n, a: n == 1)
from sapwood.cli.app import main
main()
"""


def _import_until(script: str, point: str, folder: Path, workspace: Path) -> None:
    """An import that ends by itself right before a step."""
    done = subprocess.run(
        [sys.executable, "-c", script, point, "import", str(folder), "--workspace", str(workspace)],
        env={**os.environ, "SAPWOOD_TIMEZONE": "UTC"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 9, done.stderr


@pytest.mark.parametrize("point", ["write", "rename", "commit", "unlink"])
def test_stopped_right_before_a_step_the_next_start_heals_it(
    material: tuple[Path, Path], tmp_path: Path, point: str
) -> None:
    folder, whole = material
    workspace = tmp_path / "ws"
    _import_until(_STOP_AT, point, folder, workspace)
    assert run_command("import", str(folder), workspace=workspace).code == 3
    assert _rows(workspace) == _rows(whole)
    assert _files(workspace) == _files(whole)
    assert run_command("doctor", "--json", workspace=workspace).json["ok"]


@pytest.mark.parametrize("point", ["rename", "commit", "unlink"])
def test_stopped_while_an_item_is_replaced_neither_version_is_lost(tmp_path: Path, point: str) -> None:
    folder, workspace = tmp_path / "files", tmp_path / "ws"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.md").write_text(f"# {number}\n\nfirst version {number}\n")
    run_command("import", str(folder), workspace=workspace)
    for number in range(0, 60, 2):
        (folder / f"{number}.md").write_text(f"# {number}\n\nsecond version {number}\n")
    script = _STOP_AT.replace("n > 400", "n > 60")
    _import_until(script, point, folder, workspace)
    assert run_command("doctor", "--json", workspace=workspace).json["ok"]
    assert run_command("import", str(folder), workspace=workspace).code == 0
    assert run_command("search", "second version", "--limit", "100", "--json", workspace=workspace).json["total"] == 60
    assert run_command("search", '"second"', "--limit", "100", "--json", workspace=workspace).json["total"] == 30
    assert run_command("doctor", "--json", workspace=workspace).json["ok"]


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(material: tuple[Path, Path], tmp_path: Path) -> None:
    folder, whole = material
    workspace = tmp_path / "ws"
    process = _start(folder, workspace)
    while not list(workspace.glob("wiki/raw/*/*/*.md")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) in (130, 3)
    assert run_command("import", str(folder), workspace=workspace).code == 3
    assert _rows(workspace) == _rows(whole)


def test_a_full_disk_says_so_and_the_old_notes_stay_whole(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("a small disk can be mounted by root only")
    try:
        folder = tmp_path / "files"
        folder.mkdir()
        (folder / "first.md").write_text("first words\n")
        workspace = place / "ws"
        assert run_command("import", str(folder), workspace=workspace).code == 0
        for number in range(400):
            (folder / f"{number}.md").write_text(f"# {number}\n\n" + f"filling text {number} " * 500)
        full = run_command("import", str(folder), "--json", workspace=workspace)
        assert full.code == 1 and "no space left" in full.json["error"] and "Traceback" not in full.err
        assert run_command("search", "first words", "--json", workspace=workspace).json["total"] >= 1
        subprocess.run(["mount", "-o", "remount,size=200m", str(place)], check=True)
        assert run_command("import", str(folder), workspace=workspace).code == 0
        assert run_command("doctor", "--json", workspace=workspace).json["ok"]
    finally:
        subprocess.run(["umount", str(place)], check=False)
