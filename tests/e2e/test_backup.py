"""A workspace into one file and back, also while it is written to."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Result, run_command

Sapwood = Callable[..., Result]


def _answers(workspace: Path) -> object:
    hits = run_command("search", "words number", "--limit", "200", "--json", workspace=workspace).json["hits"]
    return [(hit["node_id"], hit["path"], hit["content"], hit["score"]) for hit in hits]


def _fill(folder: Path, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nSome words, number {number}.\n", encoding="utf-8")


def test_a_restored_workspace_gives_the_same_answers(
    sapwood: Sapwood, folder: Path, workspace: Path, tmp_path: Path
) -> None:
    _fill(folder, 30)
    sapwood("import", str(folder), "--wait")
    (workspace / "config.toml").write_text('owner = "olga"\n', encoding="utf-8")
    (workspace / "wiki" / "My own.md").write_text("Mine.", encoding="utf-8")
    note = next((workspace / "wiki" / "raw").rglob("*.md"))
    note.write_text(note.read_text(encoding="utf-8").replace("Some words", "Other words"), encoding="utf-8")
    file, other = tmp_path / "all.backup", tmp_path / "other"
    taken = sapwood("backup", str(file), "--vectors", "--json")
    assert taken.code == 0 and taken.json["items"] == 30 and oct(file.stat().st_mode & 0o777) == "0o600"
    assert sapwood("backup", str(file), "--json").code == 1
    restored = run_command("restore", str(file), "--json", workspace=other)
    assert restored.code == 0 and restored.json["items"] == 30 and restored.json["vectors"]
    for place in (other, workspace):  # looks at the vault, and takes the edit in
        assert run_command("doctor", "--json", workspace=place).json["ok"]
    assert _answers(other) == _answers(workspace) and "Other words" in str(_answers(other))
    assert (other / "wiki" / "My own.md").read_text() == "Mine." and "olga" in (other / "config.toml").read_text()
    assert oct(other.stat().st_mode & 0o777) == "0o700"
    assert run_command("import", str(folder), "--json", workspace=other).json["counts"]["stored"] == 0
    assert not list(workspace.glob("tmp/*"))


def test_a_backup_that_is_taken_during_an_import_fits_together(folder: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "busy"
    _fill(folder, 50)
    run_command("import", str(folder), workspace=workspace)
    _fill(folder, 1500, 50)
    for number in range(0, 50, 2):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nNew words, number {number}.\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "sapwood", "import", str(folder), "--workspace", str(workspace)],
        stdout=subprocess.DEVNULL,
    )
    time.sleep(0.8)
    for number in range(3):
        file, other = tmp_path / f"{number}.backup", tmp_path / f"restored{number}"
        assert run_command("backup", str(file), workspace=workspace).code == 0
        assert run_command("restore", str(file), workspace=other).code == 0
        report = run_command("doctor", "--json", workspace=other).json
        assert report["ok"], [check for check in report["checks"] if not check["ok"]]
    assert process.wait(timeout=120) == 0


@pytest.mark.parametrize("damage", ["cut", "foreign", "escape", "none"])
def test_what_is_no_whole_backup_restores_nothing(sapwood: Sapwood, folder: Path, tmp_path: Path, damage: str) -> None:
    file, other = tmp_path / "x.backup", tmp_path / "other"
    _fill(folder, 5)
    sapwood("import", str(folder))
    sapwood("backup", str(file))
    if damage == "cut":
        os.truncate(file, file.stat().st_size // 2)
    elif damage == "foreign":
        file.write_bytes(b"words")
    elif damage == "escape":
        with tarfile.open(file) as old:
            parts = [(entry, old.extractfile(entry).read()) for entry in old]  # type: ignore[union-attr]
        with tarfile.open(file, "w:gz") as new:
            for entry, data in parts:
                if entry.name == "wiki/.sapwood/decisions.jsonl" or entry.name.startswith("wiki/raw"):
                    entry.name = "wiki/../../escaped.md"
                new.addfile(entry, io.BytesIO(data))
    else:
        file.unlink()
    refused = run_command("restore", str(file), "--json", workspace=other)
    assert refused.code == 1 and refused.json["error"] and "Traceback" not in refused.err
    assert not other.exists() or not list(other.iterdir())
    assert not (tmp_path / "escaped.md").exists() and not list(tmp_path.glob(".other-restore*"))


def test_a_workspace_that_exists_is_not_written_over(sapwood: Sapwood, folder: Path, tmp_path: Path) -> None:
    _fill(folder, 2)
    sapwood("import", str(folder))
    sapwood("backup", str(tmp_path / "x.backup"))
    refused = sapwood("restore", str(tmp_path / "x.backup"), "--json")
    assert refused.code == 1 and "exists already" in refused.json["error"]


def test_a_rebuild_waits_for_nobody_who_works(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _fill(folder, 2)
    sapwood("import", str(folder))
    process = subprocess.Popen([sys.executable, "-m", "sapwood", "work", "--workspace", str(workspace)])
    try:
        deadline = time.monotonic() + 30
        while not list((workspace / "memory_tree").glob("owners/*")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        refused = sapwood("rebuild", "--json")
        assert refused.code == 1 and "slow work" in refused.json["error"]
    finally:
        process.kill()
        process.wait()
    assert sapwood("rebuild", "--json").json["ok"]


def test_an_import_that_empties_its_folder_does_not_reach_the_backup(
    sapwood: Sapwood, folder: Path, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapwood.bulk import backup
    from sapwood.memory import Memory

    _fill(folder, 3)
    sapwood("import", str(folder))
    add = backup._add_text

    def clearing(*arguments: object) -> None:
        Memory(workspace).workspace.clear_tmp()
        add(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(backup, "_add_text", clearing)
    with Memory(workspace) as memory:
        memory.back_up(tmp_path / "x.backup")
    assert run_command("restore", str(tmp_path / "x.backup"), "--json", workspace=tmp_path / "other").json["items"] == 3


def _tree(place: Path) -> dict[str, bytes]:
    return {file.relative_to(place).as_posix(): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def test_a_flipped_bit_anywhere_is_noticed_or_changes_nothing(sapwood: Sapwood, folder: Path, tmp_path: Path) -> None:
    from sapwood.errors import SapwoodError
    from sapwood.memory import Memory

    _fill(folder, 5)
    sapwood("import", str(folder))
    file = tmp_path / "x.backup"
    sapwood("backup", str(file))
    whole = file.read_bytes()
    Memory.restore(file, tmp_path / "reference")
    reference = _tree(tmp_path / "reference")
    refused = 0
    for number in range(40):
        data = bytearray(whole)
        data[20 + number * (len(data) - 21) // 40] ^= 1 << number % 8
        file.write_bytes(data)
        try:
            Memory.restore(file, tmp_path / f"other{number}")
        except SapwoodError:
            refused += 1
        else:  # some bits of a compressed stream say nothing
            assert _tree(tmp_path / f"other{number}") == reference
    assert refused >= 35
    file.write_bytes(whole[:-8])
    with pytest.raises(SapwoodError):
        Memory.restore(file, tmp_path / "cut")


def test_a_backup_whose_database_names_files_outside_is_refused(
    sapwood: Sapwood, folder: Path, workspace: Path, tmp_path: Path
) -> None:
    import apsw

    _fill(folder, 2)
    sapwood("import", str(folder))
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    database = apsw.Connection(str(workspace / "memory_tree" / "chunks.db"))
    database.execute("INSERT INTO mem_tree_unlinks VALUES (?)", (str(victim),))
    database.close()
    sapwood("backup", str(tmp_path / "x.backup"))
    refused = run_command("restore", str(tmp_path / "x.backup"), "--json", workspace=tmp_path / "other")
    assert refused.code == 1 and "outside of the vault" in refused.json["error"]
    sapwood("doctor")
    assert victim.read_text() == "mine"
