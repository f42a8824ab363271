"""The vault: what people change survives, what is damaged is restored, and the vault is enough."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result

Sapwood = Callable[..., Result]


def _document(sections: dict[str, str]) -> str:
    return "\n\n".join(f"# {title}\n\n{(text + ' ') * 350}" for title, text in sections.items())


def _note(workspace: Path, hit: dict[str, Any]) -> Path:
    return workspace / hit["path"]


def _hit(sapwood: Sapwood, query: str) -> dict[str, Any]:
    return sapwood("search", query, "--json").json["hits"][0]


@pytest.fixture
def long_note(sapwood: Sapwood, folder: Path) -> Path:
    """A document of five chunks, imported."""
    file = folder / "long.md"
    file.write_text(
        _document({name: f"{name} words about this part." for name in ("alpha", "beta", "gamma", "delta", "epsilon")})
    )
    report = sapwood("import", str(folder), "--json").json
    assert report["files"][0]["items"][0]["chunks"] == 5
    return file


def test_an_edit_is_taken_in_found_and_undone(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "a.md").write_text("# A\n\nthe wrong phone number\n")
    sapwood("import", str(folder))
    note = _note(workspace, _hit(sapwood, "wrong"))
    original = note.read_text()
    note.write_text(original.replace("wrong phone", "corrected telephone"))
    report = sapwood("import", str(folder), "--json").json
    assert report["vault"]["edited"] == [note.relative_to(workspace / "wiki").as_posix()]
    hit = _hit(sapwood, "corrected telephone")
    assert hit["edited"] and "corrected telephone" in hit["content"]
    assert sapwood("search", "wrong", "--json").json["total"] == 0
    assert "edited: true" in note.read_text()
    note.write_text(note.read_text().replace("corrected telephone", "wrong phone"))
    assert sapwood("import", str(folder), "--json").json["vault"]["reverted"]
    assert not _hit(sapwood, "wrong")["edited"]
    assert sapwood("doctor", "--json").json["ok"]


def test_an_edit_survives_a_change_elsewhere_and_follows_a_shifted_place(
    sapwood: Sapwood, folder: Path, workspace: Path, long_note: Path
) -> None:
    note = _note(workspace, _hit(sapwood, "gamma words"))
    note.write_text(note.read_text().replace("gamma words", "corrected gamma", 1))
    text = long_note.read_text()
    long_note.write_text(text.replace("alpha words", "changed alpha"))
    sapwood("import", str(folder))
    assert _hit(sapwood, "corrected gamma")["edited"]
    long_note.write_text(_document({"preface": "preface words first."}) + "\n\n" + long_note.read_text())
    sapwood("import", str(folder))
    hit = _hit(sapwood, "corrected gamma")
    assert hit["edited"] and "0003-" in hit["path"]
    assert sapwood("status", "--json").json["ok"]
    assert sapwood("doctor", "--json").json["ok"]


@pytest.mark.parametrize("choice", ["keep", "drop"])
def test_an_edit_whose_source_changed_waits_for_a_decision(
    sapwood: Sapwood, folder: Path, workspace: Path, long_note: Path, choice: str
) -> None:
    note = _note(workspace, _hit(sapwood, "gamma words"))
    note.write_text(note.read_text().replace("gamma words", "corrected gamma", 1))
    sapwood("import", str(folder))
    long_note.write_text(long_note.read_text().replace("gamma words", "rewritten gamma"))
    sapwood("import", str(folder))
    assert "rewritten gamma" in _hit(sapwood, "rewritten gamma")["content"]
    assert sapwood("search", "corrected", "--json").json["total"] == 0
    status = sapwood("status", "--json")
    waiting = [c for c in status.json["checks"] if c["name"].startswith("waiting edit ")]
    assert status.code == 3 and len(waiting) == 1 and "corrected gamma" in waiting[0]["facts"]["edited"]
    assert sapwood("edits", choice, waiting[0]["name"].removeprefix("waiting edit ")).code == 0
    assert (sapwood("search", "corrected", "--json").json["total"] > 0) == (choice == "keep")
    assert sapwood("status", "--json").json["ok"]
    assert sapwood("doctor", "--json").json["ok"]


def test_properties_and_tags_of_the_user_survive_changes(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    file = folder / "a.md"
    file.write_text("# A\n\nfirst version\n")
    sapwood("import", str(folder))
    note = _note(workspace, _hit(sapwood, "version"))
    note.write_text(note.read_text().replace("tags:\n", "rating: 5\ntags:\n  - mine\n"))
    file.write_text("# A\n\nsecond version\n")
    sapwood("import", str(folder))
    text = _note(workspace, _hit(sapwood, "second version")).read_text()
    assert "rating: 5" in text and "  - mine\n" in text


@pytest.mark.parametrize("damage", ["", "---\ntitle: [unclosed\n---\nbody", "no front matter", "\x00\x00\x00"])
def test_a_damaged_file_is_restored(sapwood: Sapwood, folder: Path, workspace: Path, damage: str) -> None:
    (folder / "a.md").write_text("# A\n\nprecious words\n")
    sapwood("import", str(folder))
    note = _note(workspace, _hit(sapwood, "precious"))
    good = note.read_text()
    note.write_text(damage)
    report = sapwood("import", str(folder), "--json").json
    assert report["vault"]["restored"][0][0] == note.relative_to(workspace / "wiki").as_posix()
    assert note.read_text() == good and _hit(sapwood, "precious")


def test_a_deleted_file_is_a_question_and_doctor_writes_it_again(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    (folder / "a.md").write_text("# A\n\nprecious words\n")
    sapwood("import", str(folder))
    note = _note(workspace, _hit(sapwood, "precious"))
    note.unlink()
    status = sapwood("status", "--json")
    assert status.code == 3 and any("deleted from the vault" in c["detail"] for c in status.json["checks"])
    assert _hit(sapwood, "precious")
    assert sapwood("doctor", "--repair", "--json").json["ok"] and note.exists()


def _imported_note(sapwood: Sapwood, folder: Path, workspace: Path) -> Path:
    """The vault's file of a document of two words that was just imported."""
    (folder / "a.md").write_text("original words\n")
    sapwood("import", str(folder))
    (note,) = (workspace / "wiki" / "raw").rglob("*.md")
    return note


def _answers(sapwood: Sapwood, queries: list[str]) -> list[Any]:
    return [
        [
            (h["node_id"], h["path"], h["content"], h["score"], h["date"])
            for h in sapwood("search", q, "--json").json["hits"]
        ]
        for q in queries
    ]


def test_the_vault_alone_gives_the_same_ids_and_answers(
    sapwood: Sapwood, folder: Path, workspace: Path, long_note: Path
) -> None:
    (folder / "会议.md").write_text("# 会议纪要\n\n讨论了预算。\n")
    (folder / "gone.md").write_text("to be removed\n")
    (folder / "old.md").write_text("to be moved, rare word quokka\n")
    sapwood("import", str(folder))
    (folder / "gone.md").unlink()
    (folder / "old.md").rename(folder / "new.md")
    note = _note(workspace, _hit(sapwood, "delta words"))
    note.write_text(note.read_text().replace("delta words", "corrected delta", 1))
    sapwood("import", str(folder))
    note = _note(workspace, _hit(sapwood, "预算"))
    note.write_text(note.read_text().replace("预算", "决算"))  # not seen by any command before the rebuild
    queries = ["corrected delta", "quokka", "alpha words", "会议"]
    before = _answers(sapwood, queries[:3])
    shutil.rmtree(folder)
    shutil.rmtree(workspace / "memory_tree")
    rebuilt = sapwood("rebuild", "--json")
    assert rebuilt.code == 0 and rebuilt.json["checks"][0]["facts"]["edits"] == 2
    assert _answers(sapwood, queries[:3]) == before
    assert "决算" in _hit(sapwood, "决算")["content"]
    assert sapwood("doctor", "--json").json["ok"]
    assert sapwood("search", "removed", "--json").json["total"] == 0


def test_after_a_rebuild_the_next_import_stores_nothing_twice(
    sapwood: Sapwood, folder: Path, workspace: Path, long_note: Path
) -> None:
    shutil.rmtree(workspace / "memory_tree")
    sapwood("rebuild")
    assert sapwood("import", str(folder), "--json").json["counts"] == {
        "stored": 0,
        "unchanged": 1,
        "removed": 0,
        "skipped": 0,
        "failed": 0,
    }


def test_a_damaged_manifest_loses_one_item_until_the_next_import(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"words of {name}{name}\n")
    sapwood("import", str(folder))
    manifests = sorted((workspace / "wiki" / ".sapwood" / "items").rglob("*.json"))
    manifests[0].write_text("{half")
    shutil.rmtree(workspace / "memory_tree")
    rebuilt = sapwood("rebuild", "--json")
    assert rebuilt.code == 3 and rebuilt.json["checks"][0]["facts"] == {
        "items": 1,
        "chunks": 1,
        "edits": 0,
        "lost": 1,
        "unclaimed": 1,
        "summaries": 0,
    }
    assert sapwood("import", str(folder), "--json").json["counts"]["stored"] == 1
    assert sapwood("doctor", "--json").json["ok"]


def test_files_are_private(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "a.md").write_text("words\n")
    sapwood("import", str(folder))
    for place in [workspace, *workspace.rglob("*")]:
        mode = os.stat(place).st_mode & 0o777
        assert mode & 0o077 == 0, f"{place} {mode:o}"


def test_a_half_line_of_decisions_harms_nothing(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "a.md").write_text("# A\n\noriginal words\n")
    sapwood("import", str(folder))
    note = _note(workspace, _hit(sapwood, "original"))
    note.write_text(note.read_text().replace("original", "edited"))
    sapwood("import", str(folder))
    decisions = workspace / "wiki" / ".sapwood" / "decisions.jsonl"
    with open(decisions, "a") as out:
        out.write('{"decision": "ed')
    note.write_text(note.read_text().replace("edited words", "twice edited words"))
    sapwood("import", str(folder))
    shutil.rmtree(workspace / "memory_tree")
    assert sapwood("rebuild").code == 0
    assert _hit(sapwood, "twice")["edited"]


def test_text_in_a_file_with_broken_front_matter_is_kept_in_the_trash(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    note = _imported_note(sapwood, folder, workspace)
    note.write_text(note.read_text().replace("title: a", "title: [broken") + "\nmy precious addition\n")
    result = sapwood("import", str(folder), "--json")
    ((path, reason),) = result.json["vault"]["restored"]
    (kept,) = (workspace / "trash" / "damaged").iterdir()
    assert "my precious addition" in kept.read_text() and kept.name in reason and path in str(note)
    assert "precious" not in note.read_text()


def test_a_secret_typed_into_the_vault_is_cut_out(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    note = _imported_note(sapwood, folder, workspace)
    secret = "ghp_" + "aB3dE5" * 6
    note.write_text(note.read_text() + f"\nthe key {secret} is new\n")
    sapwood("import", str(folder))
    assert sapwood("search", "is new", "--json").json["hits"][0]["edited"]
    held = [p for p in workspace.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert held == []


def test_a_waiting_edit_is_settled_by_the_short_id_that_status_prints(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    note = _imported_note(sapwood, folder, workspace)
    note.write_text(note.read_text().replace("original words", "my words"))
    sapwood("import", str(folder))
    (folder / "a.md").write_text("other words of the source\n")
    changed = sapwood("import", str(folder), "--json")
    assert changed.code == 3 and any("edit" in message for message in changed.json["messages"])
    step = next(e["next_step"] for e in sapwood("status", "--json").json["checks"] if "edits keep" in e["next_step"])
    assert sapwood(*step.split(", or")[0].split()[1:]).code == 0
    assert sapwood("search", "my words", "--json").json["total"] == 1
    assert sapwood("status", "--json").json["ok"]
