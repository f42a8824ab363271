"""Vectors from the import to the hit: filled in by the work, served while another model fills, made anew when they are lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import Result
from tests.models.test_remote import Server, _json

Sapwood = Callable[..., Result]
OFFLINE = {"SAPWOOD_EMBEDDING_MODEL": "offline"}
_TEXTS = {
    "rent.md": "The landlord raised the rent by eight percent and we have to sign the new lease before the end of June.",
    "饺子.md": "奶奶的饺子：猪肉、白菜、姜和一点香油，每个皮要捏十一个褶。",
    "outage.md": "The database went down at three in the morning because a disk filled up with old log files.",
    "flight.md": "航班晚点六个小时，航空公司给每位乘客赔了四百元。",
}


def _fill(folder: Path) -> None:
    for name, text in _TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")


def _count(workspace: Path, table: str) -> int:
    database = apsw.Connection(str(workspace / "memory_tree" / "embeddings.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
    finally:
        database.close()


def _check(result: Result, name: str) -> dict[str, Any]:
    return next(check for check in result.json["checks"] if check["name"] == name)


def test_a_question_finds_a_text_of_another_language_and_one_in_other_words(sapwood: Sapwood, folder: Path) -> None:
    _fill(folder)
    assert sapwood("import", str(folder), "--wait", env=OFFLINE).code == 0
    for question, file in (
        ("房租涨了多少？", "rent.md"), ("How do I cook grandmother's dumplings?", "饺子.md"), ("How much compensation did the passengers get?", "flight.md"),
        ("What caused the server outage last night?", "outage.md"),
    ):  # fmt: skip
        answer = sapwood("search", question, "--json", env=OFFLINE).json
        assert answer["legs"] == {"text": "live", "vectors": "live"}
        best = answer["hits"][0]
        assert best["source_ref"] == file and best["cosine"] > 0.2
        assert best["breakdown"].get("vector", 0) > 0 or "text" in best["breakdown"]
        assert best["score"] == pytest.approx(sum(best["breakdown"].values()), abs=0.01)
    assert not sapwood("search", "zzqxv", "--json", env=OFFLINE).json["hits"]


def test_without_vectors_full_text_answers_and_says_so(sapwood: Sapwood, folder: Path) -> None:
    _fill(folder)
    sapwood("import", str(folder))
    before = sapwood("search", "rent June", "--json").json
    assert before["hits"] and before["legs"]["vectors"].startswith("none yet")
    off = sapwood("search", "rent June", "--json", env={"SAPWOOD_EMBEDDING_MODEL": "none"}).json
    sapwood("work", "--drain")
    after = sapwood("search", "rent June", "--json").json
    for answer in (off, after):
        assert [hit["node_id"] for hit in answer["hits"]] == [hit["node_id"] for hit in before["hits"]]
    assert off["legs"]["vectors"].startswith("off") and after["legs"]["vectors"] == "live"


def test_status_and_doctor_count_vectors_and_name_what_is_missing(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _fill(folder)
    sapwood("import", str(folder))
    assert _check(sapwood("status", "--json"), "searchable by vectors")["facts"]["vectors"] == 0
    sapwood("work", "--drain")
    facts = _check(sapwood("status", "--json"), "searchable by vectors")["facts"]
    assert (facts["vectors"], facts["missing"], facts["failed"], facts["complete"]) == (4, 0, 0, True)
    assert _check(sapwood("doctor", "--json"), "live passages = vectors")["ok"]
    database = apsw.Connection(str(workspace / "memory_tree" / "embeddings.db"))
    database.execute(
        "DELETE FROM mem_tree_chunk_embeddings_1 WHERE passage_id = (SELECT min(passage_id) FROM mem_tree_chunk_embeddings_1)"
    )
    database.close()
    found = _check(sapwood("doctor", "--json"), "live passages = vectors")
    assert not found["ok"] and found["facts"]["missing"] == 1
    assert sapwood("embed", "--wait").code == 0
    assert _check(sapwood("doctor", "--json"), "live passages = vectors")["ok"]


def test_vectors_follow_edits_and_removals(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _fill(folder)
    sapwood("import", str(folder), "--wait")
    (folder / "rent.md").write_text("The rent stays as it is, says the landlord.", encoding="utf-8")
    (folder / "outage.md").unlink()
    sapwood("import", str(folder), "--wait")
    assert _count(workspace, "mem_tree_chunk_embeddings_1") == 3 == _count(workspace, "mem_tree_chunk_embedding_bits_1")
    assert _check(sapwood("doctor", "--json"), "live passages = vectors")["ok"]


def test_equal_passages_are_asked_for_once(sapwood: Sapwood, folder: Path, server: Server) -> None:
    for number in range(30):
        (folder / f"{number}.txt").write_text("The same words in every file.", encoding="utf-8")
    server.reply = lambda path, body: _json({"embeddings": [[1.0, 2.0] * 4 for _ in body["input"]]})
    model = {"SAPWOOD_EMBEDDING_MODEL": "ollama:m", "SAPWOOD_EMBEDDING_URL": server.url}
    assert sapwood("import", str(folder), "--wait", env=model).code == 0
    assert sum(len(body["input"]) for _, body, _ in server.seen) == 1
    facts = _check(sapwood("status", "--json", env=model), "searchable by vectors")["facts"]
    assert facts["vectors"] == 30


def test_the_old_model_serves_until_the_new_one_is_complete(sapwood: Sapwood, folder: Path) -> None:
    none = {"SAPWOOD_EMBEDDING_MODEL": "offline"}
    _fill(folder)
    sapwood("import", str(folder), "--wait", env=none)
    switched = {"SAPWOOD_EMBEDDING_MODEL": "hashing"}
    assert sapwood("embed", "--json", env=switched).json["models"][0]["vectors"] == 0
    between = sapwood("search", "房租涨了多少？", "--json", env=switched).json
    assert between["legs"]["vectors"] == "live" and between["hits"][0]["breakdown"]["vector"] > 0
    sapwood("work", "--drain", env=switched)
    models = sapwood("embed", "--json", env=switched).json["models"]
    assert {m["model"]: m["vectors"] for m in models} == {"hashing": 4, "offline": 4}
    assert "vector" not in sapwood("search", "房租涨了多少？", "--json", env=switched).json["hits"][0]["breakdown"]
    assert [m["model"] for m in sapwood("embed", "--drop", "offline", "--json", env=switched).json["models"]] == [
        "hashing"
    ]


def test_choosing_a_model_writes_the_setting_and_keeps_the_rest(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _fill(folder)
    sapwood("import", str(folder))
    config = workspace / "config.toml"
    config.write_text('# mine\nowner = "olga"\n', encoding="utf-8")
    unset = {"SAPWOOD_EMBEDDING_MODEL": ""}
    refused = sapwood("embed", "--model", "hashing", "--json", env={"SAPWOOD_EMBEDDING_MODEL": "none"})
    assert refused.code == 1 and "goes before config.toml" in refused.json["error"]
    assert config.read_text(encoding="utf-8") == 'embedding_model = "hashing"\n# mine\nowner = "olga"\n'
    assert sapwood("embed", "--model", "gpt", "--json", env=unset).code == 1


@pytest.mark.parametrize("damage", ["delete", "truncate", "garbage"])
def test_a_lost_or_damaged_file_of_vectors_is_made_anew(
    sapwood: Sapwood, folder: Path, workspace: Path, damage: str
) -> None:
    _fill(folder)
    sapwood("import", str(folder), "--wait")
    file = workspace / "memory_tree" / "embeddings.db"
    for beside in file.parent.glob("embeddings.db-*"):
        beside.unlink()
    if damage == "delete":
        file.unlink()
    elif damage == "truncate":
        os.truncate(file, 5000)
    else:
        file.write_bytes(b"no database" * 1000)
    answer = sapwood("search", "rent", "--json")
    assert answer.code == 0 and answer.json["hits"] and answer.json["legs"]["vectors"] != "live"
    assert sapwood("rebuild", "--vectors", "--json").code in (0, 3)
    assert sapwood("work", "--drain").code == 0
    assert sapwood("search", "rent", "--json").json["legs"]["vectors"] == "live"
    assert _check(sapwood("doctor", "--json"), "live passages = vectors")["ok"]


@pytest.fixture
def server() -> Any:
    started = Server()
    yield started
    started.close()


def test_a_server_that_is_down_defers_and_one_that_lies_fails_by_name(
    sapwood: Sapwood, folder: Path, server: Server
) -> None:
    _fill(folder)
    model = {"SAPWOOD_EMBEDDING_MODEL": "openai:m", "SAPWOOD_EMBEDDING_URL": server.url}
    server.reply = lambda path, body: (503, {}, b"loading")
    assert sapwood("import", str(folder), "--wait", env=model).code == 0
    status = sapwood("status", "--json", env=model)
    deferred = _check(status, "deferred work")
    assert status.json["ok"] and deferred["facts"]["jobs"] == 1 and "503" in deferred["detail"]
    assert sapwood("search", "rent", "--json", env=model).json["hits"]
    (folder / "more.md").write_text("More words.", encoding="utf-8")
    server.reply = lambda path, body: (200, {}, b"<html>Log in</html>")
    wrong = model | {"SAPWOOD_EMBEDDING_URL": f"{server.url}/elsewhere"}
    database = apsw.Connection(str(_chunks(sapwood)))
    database.execute("UPDATE mem_tree_jobs SET available_at_ms = 0")
    database.close()
    assert sapwood("work", "--drain", env=wrong).code == 3
    status = sapwood("status", "--json", env=wrong)
    failed = _check(status, "failed work")
    assert not status.json["ok"] and "a web page" in failed["detail"] and "openai:m" in failed["detail"]


def _chunks(sapwood: Sapwood) -> Path:
    return Path(sapwood.__closure__[0].cell_contents) / "memory_tree" / "chunks.db"  # type: ignore[attr-defined]


def test_another_dimension_under_the_same_name_is_refused(sapwood: Sapwood, folder: Path, server: Server) -> None:
    _fill(folder)
    model = {"SAPWOOD_EMBEDDING_MODEL": "ollama:m", "SAPWOOD_EMBEDDING_URL": server.url}
    server.reply = lambda path, body: _json({"embeddings": [[1.0] * 8 for _ in body["input"]]})
    sapwood("import", str(folder), "--wait", env=model)
    server.reply = lambda path, body: _json({"embeddings": [[1.0] * 16 for _ in body["input"]]})
    (folder / "new.md").write_text("Something new.", encoding="utf-8")
    sapwood("import", str(folder), "--wait", env=model)
    assert "gives 16 numbers where it gave 8" in _check(sapwood("status", "--json", env=model), "failed work")["detail"]
    legs = sapwood("search", "new", "--json", env=model).json["legs"]
    assert "gives 16 numbers" in legs["vectors"]


def test_killing_the_embedder_and_the_worker_loses_nothing(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    import subprocess
    import sys
    import time

    for number in range(200):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nNumber {number} of two hundred.\n", encoding="utf-8")
    sapwood("import", str(folder))
    environment = {**os.environ, "SAPWOOD_EMBEDDING_MODEL": "hashing", "SAPWOOD_EMBEDDER_IDLE_SECONDS": "20"}
    for moment in range(8):
        process = subprocess.Popen(
            [sys.executable, "-m", "sapwood", "work", "--workspace", str(workspace)], env=environment
        )
        time.sleep(0.5 + 0.05 * moment)
        lock = workspace / "memory_tree" / "embedder.lock"
        if moment % 2 and lock.exists() and lock.read_text():
            try:
                os.kill(int(lock.read_text()), signal.SIGKILL)
            except OSError:
                pass
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert sapwood("work", "--drain").code == 0
    assert _check(sapwood("doctor", "--json"), "live passages = vectors")["ok"]
    assert _count(workspace, "mem_tree_chunk_embeddings_1") == 200
    assert sapwood("status", "--json").json["ok"]


def test_what_was_made_before_a_server_has_enough_is_kept(
    sapwood: Sapwood, folder: Path, server: Server, workspace: Path
) -> None:
    for number in range(100):
        (folder / f"{number}.md").write_text(f"Note number {number} of a hundred.", encoding="utf-8")
    calls: list[int] = []

    def reply(path: str, body: dict[str, Any]) -> Any:
        calls.append(len(body["input"]))
        return (
            _json({"embeddings": [[1.0] * 8 for _ in body["input"]]})
            if len(calls) <= 2
            else (429, {"Retry-After": "30"}, b"")
        )

    server.reply = reply
    model = {"SAPWOOD_EMBEDDING_MODEL": "ollama:m", "SAPWOOD_EMBEDDING_URL": server.url}
    sapwood("import", str(folder), "--wait", env=model)
    assert _count(workspace, "mem_tree_chunk_embeddings_1") == sum(calls[:2]) == 64


def test_a_text_that_a_server_refuses_is_named_and_the_others_go_on(
    sapwood: Sapwood, folder: Path, server: Server, workspace: Path
) -> None:
    for number in range(20):
        (folder / f"{number}.md").write_text(f"Note number {number} of twenty.", encoding="utf-8")

    def reply(path: str, body: dict[str, Any]) -> Any:
        if any("number 7 " in text for text in body["input"]):
            return 400, {}, b"input is too long"
        return _json({"embeddings": [[1.0] * 8 for _ in body["input"]]})

    server.reply = reply
    model = {"SAPWOOD_EMBEDDING_MODEL": "ollama:m", "SAPWOOD_EMBEDDING_URL": server.url}
    sapwood("import", str(folder), "--wait", env=model)
    found = _check(sapwood("status", "--json", env=model), "searchable by vectors")
    assert (
        (found["facts"]["vectors"], found["facts"]["failed"]) == (19, 1)
        and "too long" in found["detail"]
        and not found["ok"]
    )


def test_the_old_model_is_asked_where_it_was_asked_before(sapwood: Sapwood, folder: Path, server: Server) -> None:
    _fill(folder)
    other = Server()
    try:
        server.reply = lambda path, body: _json({"embeddings": [[1.0] * 8 for _ in body["input"]]})
        sapwood(
            "import",
            str(folder),
            "--wait",
            env={"SAPWOOD_EMBEDDING_MODEL": "ollama:m", "SAPWOOD_EMBEDDING_URL": server.url},
        )
        asked = len(server.seen)
        switched = {
            "SAPWOOD_EMBEDDING_MODEL": "openai:n",
            "SAPWOOD_EMBEDDING_URL": other.url,
            "SAPWOOD_EMBEDDING_KEY": "env:HOME",
        }
        assert sapwood("search", "rent", "--json", env=switched).json["legs"]["vectors"] == "live"
        assert len(server.seen) == asked + 1 and server.seen[-1][2] == "" and not other.seen
    finally:
        other.close()
