"""Locks of other processes, and files of state that a power cut left empty or half written."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.conftest import Result

from sapwood.store.schema import MIGRATIONS

Sapwood = Callable[..., Result]

_HOLD = """
import apsw, sys, time
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(3)
db.execute("COMMIT")
"""


def test_a_write_waits_for_another_process_that_holds_the_database(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    (folder / "a.md").write_text("first words\n")
    sapwood("import", str(folder))
    (folder / "b.md").write_text("second words\n")
    database = workspace / "memory_tree" / "chunks.db"
    with subprocess.Popen([sys.executable, "-c", _HOLD, str(database)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        result = sapwood("import", str(folder), "--json")
        assert holder.wait() == 0
    assert result.code == 0 and result.json["counts"]["stored"] == 1
    assert sapwood("doctor", "--json").json["ok"]


@pytest.mark.parametrize("damage", [b"", b"half a database"])
def test_a_destroyed_database_is_named_with_the_way_back(
    sapwood: Sapwood, folder: Path, workspace: Path, damage: bytes
) -> None:
    (folder / "a.md").write_text("# A\n\nlasting words\n")
    sapwood("import", str(folder))
    database = workspace / "memory_tree" / "chunks.db"
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    database.write_bytes(damage)
    said = sapwood("search", "lasting", "--json")
    assert said.code == 1 and "sapwood rebuild" in said.json["error"] and "Traceback" not in said.err
    rebuilt = sapwood("rebuild", "--json")
    assert rebuilt.code == 0
    assert sapwood("search", "lasting", "--json").json["total"] == 1
    assert sapwood("import", str(folder), "--json").json["counts"]["stored"] == 0


@pytest.mark.parametrize("damage", ["", "connector = 'fol"])
def test_a_half_written_connection_is_named_or_made_anew_and_loses_nothing(
    sapwood: Sapwood, folder: Path, workspace: Path, damage: str
) -> None:
    (folder / "a.md").write_text("lasting words\n")
    sapwood("import", str(folder))
    (file,) = (workspace / "connections" / "folder").glob("*.toml")
    file.write_text(damage)
    again = sapwood("import", str(folder), "--json")
    assert "Traceback" not in again.err
    if again.code:
        assert file.name in again.json["error"]
    else:
        assert again.json["counts"] == {"stored": 0, "unchanged": 1, "removed": 0, "skipped": 0, "failed": 0}
    assert sapwood("search", "lasting", "--json").json["total"] == 1


def test_left_over_temporary_files_are_cleared_and_notes_untouched(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    (folder / "a.md").write_text("lasting words\n")
    sapwood("import", str(folder))
    (workspace / "tmp" / "left.tmp").write_text("half")
    (workspace / "wiki" / "my own note.md").write_text("mine\n")
    sapwood("import", str(folder))
    assert not (workspace / "tmp" / "left.tmp").exists()
    assert (workspace / "wiki" / "my own note.md").read_text() == "mine\n"


def test_a_database_of_a_newer_sapwood_is_refused(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "a.md").write_text("words\n")
    sapwood("import", str(folder))
    database = apsw.Connection(str(workspace / "memory_tree" / "chunks.db"))
    database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    database.close()
    said = sapwood("status", "--json")
    assert said.code == 1 and "newer Sapwood" in said.json["error"] and "Update Sapwood" in said.json["error"]


def test_a_migration_keeps_a_copy_of_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood.store import database as module

    path = tmp_path / "chunks.db"
    first = module.Database.open(path)
    first.run("INSERT INTO mem_tree_state VALUES ('kept', 'yes')")
    first.close()
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE later (x)"))
    second = module.Database.open(path)
    assert second.version() == len(MIGRATIONS) + 1
    assert second.value("SELECT value FROM mem_tree_state WHERE key = 'kept'") == "yes"
    second.close()
    copies = [p for p in tmp_path.iterdir() if p.name != "chunks.db" and not p.name.endswith(("-wal", "-shm"))]
    assert len(copies) == 1
    old = apsw.Connection(str(copies[0]), flags=apsw.SQLITE_OPEN_READONLY)
    assert old.execute("PRAGMA user_version").fetchall() == [(len(MIGRATIONS),)]
    assert time.time() - copies[0].stat().st_mtime < 600


def test_an_open_database_has_the_settings_that_its_promises_rest_on(tmp_path: Path) -> None:
    from sapwood.store.database import Database

    database = Database.open(tmp_path / "chunks.db")
    settings = {name: database.value(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "foreign_keys")}
    assert settings == {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1}


def test_what_is_replaced_or_removed_leaves_no_row_behind(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "a.md").write_text("first version\n")
    (folder / "b.md").write_text("another file\n")
    sapwood("import", str(folder))
    (folder / "a.md").write_text("second version\n")
    (folder / "b.md").unlink()
    sapwood("import", str(folder))
    database = apsw.Connection(str(workspace / "memory_tree" / "chunks.db"))
    chunks = database.execute("SELECT id FROM mem_tree_chunks").fetchall()
    assert len(chunks) == 1
    for table in ("mem_tree_chunk_bodies", "mem_tree_score", "mem_tree_item_chunks"):
        assert database.execute(f"SELECT chunk_id FROM {table}").fetchall() == chunks
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
