"""Forgetting: shown first, taken out of everything, not coming back; brought back while it is kept."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result, run_command

from sapwood.memory import Memory
from sapwood.store.tree_checks import tree_faults

Sapwood = Callable[..., Result]
ENV = {"SAPWOOD_EMBEDDING_MODEL": "hashing", "SAPWOOD_WORKERS": "1"}
PLAN = """# Harbour plan

The harbour is dredged in June by Anna Berg for 40,000 euros.

The zanzibar account in Geneva pays for it, nobody else knows.

- buy a crane
- call the zanzibar bank
- paint the gate

| what | cost |
| --- | --- |
| crane | 900 |
| zanzibar fee | 70 |

The orchard is planted in autumn by Ben Marten.

蒙古包的钥匙在抽屉里，没有人知道。

果园在秋天种树，由李娜负责。
"""


def _write(folder: Path) -> None:
    (folder / "plan.md").write_text(PLAN, encoding="utf-8")
    (folder / "zanzibar trip.md").write_text("# A journey\n\nWe fly in May and stay for two weeks.\n", encoding="utf-8")
    (folder / "other.md").write_text(
        "# Other\n\nThe museum opens in spring; Carl Weber has the keys.\n", encoding="utf-8"
    )
    said = [
        ("1", "Anna", "09:00", "We decided to sell the boat in June."),
        ("2", "Ben", "09:01", "Then transfer the money to ZANZIBAR first."),
        ("3", "Anna", "09:02", "I promise to write to the lawyer tomorrow."),
        ("4", "李娜", "09:03", "蒙古包要修屋顶。"),
        ("5", "Anna", "09:04", "Fine, then we meet at the yard on Monday."),
    ]
    chat = [{"id": i, "speaker": who, "time": f"2026-05-05T{at}:00Z", "text": text} for i, who, at, text in said]
    (folder / "talk.json").write_text(json.dumps(chat, ensure_ascii=False), encoding="utf-8")
    (folder / "mail.eml").write_text(
        "From: Olga Petrova <olga@example.org>\nTo: Ben Marten <ben@example.org>\nSubject: Rent\nDate: Mon, 04 May 2026 09:00:00 +0000\n"
        "Message-ID: <1@example.org>\nContent-Type: text/plain; charset=utf-8\n\nThe rent rises to 900 euros in June.\n\nPay it from Zanzibar, please.\n",
        encoding="utf-8",
    )


def _run(sapwood: Sapwood, *arguments: str, code: int = 0) -> Any:
    result = sapwood(*arguments, "--json", env=ENV)
    assert result.code == code, (arguments, result.err, result.out)
    return result.json


def _import(sapwood: Sapwood, folder: Path) -> Any:
    return _run(sapwood, "import", str(folder), "--wait")


@pytest.fixture
def imported(sapwood: Sapwood, folder: Path) -> Sapwood:
    _write(folder)
    _import(sapwood, folder)
    return sapwood


def _all_bytes(workspace: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(workspace.rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            yield file.name, data
            for at in range(len(data) - 2):  # what is packed in databases
                if data[at] == 0x78 and data[at + 1] in (0x01, 0x5E, 0x9C, 0xDA):
                    try:
                        yield f"{file.name} (packed)", zlib.decompressobj().decompress(data[at:], 100_000)
                    except zlib.error:
                        continue


def _traces(workspace: Path, *words: str) -> list[tuple[str, str]]:
    found = []
    for name, data in _all_bytes(workspace):
        text = data.decode("utf-8", "ignore").lower()
        found += [(name, word) for word in words if word in text]
    found += [(str(path), word) for path in workspace.rglob("*") for word in words if word in path.name.lower()]
    return found


def _sound(sapwood: Sapwood, workspace: Path) -> None:
    assert _run(sapwood, "doctor")["ok"]
    with Memory(workspace) as memory:
        assert {n: c for n, c in tree_faults(memory.database).items() if c} == {}


def test_it_is_shown_first_and_nothing_is_changed(imported: Sapwood, workspace: Path) -> None:
    shown = _run(imported, "forget", "--match", "zanzibar")
    by_title = {one["title"]: one for one in shown["would_forget"]}
    assert set(by_title) == {"plan", "zanzibar trip", "Rent", "talk"} or {
        "Harbour plan",
        "A journey",
        "Rent",
        "talk",
    } == set(by_title)
    assert [one["whole"] for one in shown["would_forget"]].count(True) == 1
    assert len(_run(imported, "search", "zanzibar")["hits"]) >= 3
    said = imported("forget", "--match", "zanzibar", env=ENV).out
    assert "add --yes" in said and "call the zanzibar bank" in said


def test_a_purge_leaves_no_trace_and_the_rest_as_it_was(imported: Sapwood, folder: Path, workspace: Path) -> None:
    assert _traces(workspace, "zanzibar", "蒙古")
    done = _run(imported, "forget", "--match", "Zanzibar", "--yes", "--purge")
    assert done["left"] == [] and done["counts"] == {"items": 1, "messages": 1, "paragraphs": 4, "names": 0, "edits": 0}
    assert _traces(workspace, "zanzibar") == []
    _run(imported, "forget", "--match", "蒙古包", "--yes", "--purge")
    assert _traces(workspace, "zanzibar", "蒙古", "古包") == []
    _sound(imported, workspace)
    (plan,) = _run(imported, "search", "dredged")["hits"]
    for stays in (
        "dredged in June",
        "- buy a crane",
        "- paint the gate",
        "| crane | 900 |",
        "planted in autumn",
        "果园在秋天种树",
    ):
        assert stays in plan["content"]
    assert "rent rises" in _run(imported, "search", "rent")["hits"][0]["content"].lower()
    day = _run(imported, "recap", "--on", "2026-05-05")["hits"][0]["content"]
    assert "sell the boat" in day and "lawyer" in day
    assert _run(imported, "search", "zanzibar")["hits"] == []


def test_the_next_imports_and_a_rebuild_do_not_bring_it_back(imported: Sapwood, folder: Path, workspace: Path) -> None:
    _run(imported, "forget", "--match", "zanzibar", "--yes", "--purge")
    report = _import(imported, folder)
    assert report["counts"]["stored"] == 0 and any(
        "1 item was not taken in" in message for message in report["messages"]
    )
    (folder / "plan.md").write_text(PLAN + "\nThe bridge is painted green.\n", encoding="utf-8")
    (folder / "copy.md").write_text(PLAN.replace("# Harbour plan", "# Copy"), encoding="utf-8")
    _import(imported, folder)
    assert _run(imported, "search", "bridge painted")["hits"][0]["content"].count("green") == 1
    assert _run(imported, "rebuild")["ok"]
    _run(imported, "work", "--drain")
    _import(imported, folder)
    assert _run(imported, "search", "zanzibar")["hits"] == []
    with Memory(workspace) as memory:
        texts = [memory.fetch([row[0]])[0].content for row in memory.database.rows("SELECT id FROM mem_tree_chunks")]
    assert texts and not any("zanzibar" in text.lower() for text in texts)
    _sound(imported, workspace)


def test_what_was_forgotten_can_be_brought_back(imported: Sapwood, folder: Path, workspace: Path) -> None:
    def answers() -> Any:
        with Memory(workspace) as memory:
            return memory.database.rows(
                "SELECT i.item_id, i.title, i.content_sha256, i.metadata_sha256, ic.chunk_id FROM mem_tree_items i JOIN mem_tree_item_chunks ic USING (item_no) ORDER BY 1, 5"
            )

    before = answers()
    done = _run(imported, "forget", "--match", "zanzibar", "--yes")
    assert not done["purged"] and answers() != before and _run(imported, "search", "zanzibar")["hits"] == []
    (receipt,) = _run(imported, "forget", "--list")["receipts"]
    assert receipt["receipt"] == done["receipt"] and receipt["state"] == "kept"
    back = _run(imported, "forget", "--undo", done["receipt"])
    assert len(back["restored"]) == 4 and back["changed"] == []
    assert answers() == before
    assert _run(imported, "forget", "--list")["receipts"] == []
    _sound(imported, workspace)
    assert _import(imported, folder)["counts"]["unchanged"] == 5
    assert imported("forget", "--undo", "nothing", env=ENV).code == 1
    done = _run(imported, "forget", "--match", "zanzibar", "--yes")
    assert (
        _run(imported, "forget", done["receipt"], "--purge", "--yes")["left"] == []
        and _traces(workspace, "zanzibar") == []
    )
    assert _run(imported, "forget", "--undo", done["receipt"])["restored"] == []  # but what comes in is taken in again
    _import(imported, folder)
    assert _run(imported, "forget", "--match", "atlantis", "--yes")["receipt"] == ""


def test_what_is_kept_too_long_goes_for_good(imported: Sapwood, workspace: Path) -> None:
    _run(imported, "forget", "--match", "zanzibar", "--yes")
    assert _traces(workspace, "zanzibar")
    result = imported("work", "--drain", env={**ENV, "SAPWOOD_FORGOTTEN_DAYS": "0"})
    assert result.code == 0 and _traces(workspace, "zanzibar") == []
    assert _run(imported, "forget", "--list")["receipts"][0]["state"] == "purged"


def test_an_item_a_folder_and_a_person_can_be_forgotten(imported: Sapwood, folder: Path, workspace: Path) -> None:
    hit = _run(imported, "search", "museum keys")["hits"][0]
    _run(imported, "forget", hit["node_id"], "--yes", "--purge")
    assert _run(imported, "search", "museum keys")["hits"] == [] and _traces(workspace, "carl weber") == []
    done = _run(imported, "forget", "Olga Petrova", "--yes", "--purge")
    assert done["counts"]["items"] == 1 and _traces(workspace, "petrova", "olga@") == []
    assert imported("topic", "Olga Petrova", env=ENV).code == 1
    _import(imported, folder)
    assert _traces(workspace, "petrova", "carl weber") == []
    _run(imported, "forget", "files", "--yes", "--purge")
    _import(imported, folder)
    with Memory(workspace) as memory:
        assert memory.database.value("SELECT count(*) FROM mem_tree_items") == 0
        assert memory.database.value("SELECT count(*) FROM mem_tree_summaries") == 0
    _sound(imported, workspace)


def test_an_edit_that_holds_it_is_cut_and_the_rest_of_it_stays(
    imported: Sapwood, folder: Path, workspace: Path
) -> None:
    notes = {note.read_text(encoding="utf-8"): note for note in (workspace / "wiki" / "raw").rglob("*.md")}
    note = next(file for text, file in notes.items() if "dredged" in text)
    other = next(file for text, file in notes.items() if "museum" in text)
    note.write_text(
        note.read_text(encoding="utf-8").replace("- paint the gate", "- paint the gate blue"), encoding="utf-8"
    )
    other.write_text(
        other.read_text(encoding="utf-8") + "\nThe spare key is in zanzibar.\n\nThe cellar is wet.\n", encoding="utf-8"
    )
    _import(imported, folder)
    assert _run(imported, "search", "spare key")["hits"]
    done = _run(imported, "forget", "--match", "zanzibar", "--yes", "--purge")
    assert done["left"] == [] and _traces(workspace, "zanzibar") == []
    assert "paint the gate blue" in _run(imported, "search", "paint the gate")["hits"][0]["content"]
    museum = _run(imported, "search", "cellar wet")["hits"][0]["content"]
    assert "The cellar is wet." in museum and "museum opens" in museum and "spare key" not in museum
    assert _run(imported, "rebuild")["ok"] and _run(imported, "work", "--drain") is not None
    assert "paint the gate blue" in _run(imported, "search", "paint the gate")["hits"][0]["content"]
    _sound(imported, workspace)


def test_a_note_of_the_users_own_is_named_not_touched(imported: Sapwood, workspace: Path) -> None:
    own = workspace / "wiki" / "My thoughts.md"
    own.write_text("I remember Zanzibar.\n", encoding="utf-8")
    done = _run(imported, "forget", "--match", "zanzibar", "--yes", "--purge", code=3)
    assert done["left"] == ["wiki/My thoughts.md"] and own.read_text(encoding="utf-8") == "I remember Zanzibar.\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--match", "z"), "too short"), (("nobody at all",), "is called so"), ((), "Give one of"),
        (("--match", "x", "--list"), "Give one of"), (("--undo", "../x"), "no such receipt"),
        (("--undo", "x", "--purge"), "goes with TARGET"), (("",), "is empty"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(imported: Sapwood, arguments: tuple[str, ...], says: str) -> None:
    result = imported("forget", *arguments, env=ENV)
    assert result.code != 0 and says in result.err


def test_what_only_the_forgotten_text_named_leaves_no_row(folder: Path, workspace: Path) -> None:
    (folder / "a.md").write_text("# Buying\nDate: 2026-11-20\n\nZacharias Quill bought twenty screens for the office in Bremen.", encoding="utf-8")  # fmt: skip
    (folder / "b.md").write_text("# Other\nDate: 2026-11-21\n\nMaria Stein painted the fence green and left for Hamburg.", encoding="utf-8")  # fmt: skip
    assert run_command("import", str(folder), "--wait", workspace=workspace, env=ENV).code == 0
    assert run_command("topic", "Zacharias Quill", workspace=workspace, env=ENV).code == 0
    assert run_command("forget", "a.md", "--purge", "--yes", workspace=workspace, env=ENV).code == 0
    assert _traces(workspace, "zacharias") == [] and _traces(workspace, "bremen") == []
