"""Trees that grow out of an import: what is summarised when, what changes with its leaves, and what comes back from the vault."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result, let_rest

from sapwood.memory import Memory
from sapwood.store.tree_checks import tree_faults

SUBJECTS = [
    "pump",
    "valve",
    "bridge",
    "garden",
    "harbour",
    "station",
    "library",
    "orchard",
    "tunnel",
    "kitchen",
    "museum",
    "tower",
]
Sapwood = Callable[..., Result]


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "none")


def _note(subject: str, number: int = 0) -> str:
    return (
        f"The {subject} was inspected on 3 May by Anna Berg. A crack in the {subject} had grown since the last visit. "
        f"The repair of the {subject} costs 4,{number:03d} euros and takes two weeks.\n"
    )


def _write_notes(folder: Path, count: int) -> None:
    for number, subject in enumerate(SUBJECTS[:count]):
        (folder / f"{number:02d}-{subject}.md").write_text(
            f"# {subject.title()}\n\n{_note(subject, number)}", encoding="utf-8"
        )


def _import(sapwood: Sapwood, folder: Path) -> None:
    result = sapwood("import", str(folder), "--wait", env={"SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1"})
    assert result.code == 0, result.err


def _json(sapwood: Sapwood, *arguments: str) -> Any:
    result = sapwood(*arguments, "--json", env={"SAPWOOD_EMBEDDING_MODEL": "none"})
    assert result.code == 0, result.err + result.out
    return result.json


def _faults(workspace: Path) -> dict[str, int]:
    with Memory(workspace) as memory:
        return {name: count for name, count in tree_faults(memory.database).items() if count}


def _trees(workspace: Path) -> dict[str, Any]:
    """What the trees are, without the times at which they were made."""
    with Memory(workspace) as memory:
        rows = memory.database.rows
        return {
            "summaries": rows("SELECT id, parent_id, child_ids_json, title, content_sha256, summariser FROM mem_tree_summaries ORDER BY id"),
            "buffers": rows("SELECT tree_id, level, node_id FROM mem_tree_buffers ORDER BY 1, 2, 3"),
            "roots": rows("SELECT id, root_id, max_level, title FROM mem_tree_trees ORDER BY id"),
            "leaves": rows("SELECT id, lifecycle_status, parent_summary_id FROM mem_tree_chunks ORDER BY id"),
        }  # fmt: skip


def test_ten_documents_of_a_folder_are_told_in_one_summary_and_the_rest_wait(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _write_notes(folder, 12)
    _import(sapwood, folder)
    hits = _json(sapwood, "source", "files")["hits"]
    summary = next(hit for hit in hits if hit["node_kind"] == "summary")
    assert (len(hits), len(summary["child_ids"]), summary["level"]) == (3, 10, 1)
    assert all(f"**{subject.title()}**: " in summary["content"] for subject in SUBJECTS[:10])
    assert "person:anna berg" in summary["entities"]
    assert _faults(workspace) == {}


def test_a_document_of_one_chunk_gets_no_copy_and_a_long_one_a_tree_of_its_own(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    (folder / "short.md").write_text(_note("pump"), encoding="utf-8")
    (folder / "long.md").write_text(
        "\n\n".join(f"## {s} {n}\n\n{_note(s, n) * 12}" for n in range(4) for s in SUBJECTS), encoding="utf-8"
    )
    _import(sapwood, folder)
    short = _json(sapwood, "source", "short.md")["hits"]
    assert [(hit["node_kind"], hit["title"]) for hit in short] == [("leaf", "short")]
    (root,) = _json(sapwood, "source", "long.md")["hits"]
    leaves = _json(sapwood, "drill", root["node_id"], "--depth", "9")["hits"]
    assert (
        root["node_kind"] == "summary"
        and len(root["child_ids"]) > 1
        and {hit["item_id"] for hit in leaves if hit["node_kind"] == "leaf"} == {root["source_id"]}
    )
    assert {hit["node_id"] for hit in _json(sapwood, "source", "files")["hits"]} == {
        root["node_id"],
        short[0]["node_id"],
    }
    assert _faults(workspace) == {}


def test_the_file_of_a_summary_links_to_what_it_tells_of(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    (summary,) = _json(sapwood, "source", "files")["hits"]
    text = (workspace / summary["path"]).read_text(encoding="utf-8")
    notes = {path.stem for path in (workspace / "wiki" / "raw").rglob("*.md")}
    links = [part.split("]]")[0].split("|")[0] for part in text.split("[[")[1:]]
    assert len(notes) == 10 and set(links) == notes and len(links) == 20  # in the properties and in the text


def test_a_changed_document_is_told_anew_and_its_folder_too(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 11)
    _import(sapwood, folder)
    (folder / "00-pump.md").write_text(
        "# Pump\n\nThe pump was scrapped. Ben Marten bought a windmill from Hamburg in its place.\n", encoding="utf-8"
    )
    _import(sapwood, folder)
    hits = _json(sapwood, "source", "files")["hits"]
    told = " ".join(hit["content"] for hit in hits)
    assert "windmill" in told and "crack in the pump" not in told
    assert [len(hit["child_ids"]) for hit in hits if hit["node_kind"] == "summary"] == [9]
    assert not [
        path
        for path in (workspace / "wiki" / "summaries").rglob("*.md")
        if "crack in the pump" in path.read_text(encoding="utf-8")
    ]
    assert _faults(workspace) == {}


def test_nothing_tells_of_a_removed_document(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    (folder / "03-garden.md").unlink()
    _import(sapwood, folder)
    (summary,) = _json(sapwood, "source", "files")["hits"]
    assert "garden" not in summary["content"].lower() and len(summary["child_ids"]) == 9
    for database in ("chunks.db",):
        assert b"garden" not in (workspace / "wiki" / summary["path"].removeprefix("wiki/")).read_bytes().lower(), (
            database
        )
    assert _faults(workspace) == {}


def test_an_edit_of_a_note_reaches_the_summary_that_tells_of_it(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    note = next(
        path for path in (workspace / "wiki" / "raw").rglob("*.md") if "bridge" in path.read_text(encoding="utf-8")
    )
    front = note.read_text(encoding="utf-8").rpartition("---\n")[0]
    note.write_text(f"{front}---\nA swallow nested below the bridge.\n", encoding="utf-8")
    sapwood("doctor")
    assert sapwood("work", "--drain", env={"SAPWOOD_EMBEDDING_MODEL": "none"}).code == 0
    (summary,) = _json(sapwood, "source", "files")["hits"]
    assert "swallow" in summary["content"] and _faults(workspace) == {}


def test_the_same_import_gives_the_same_trees(sapwood: Sapwood, folder: Path, workspace: Path, tmp_path: Path) -> None:
    _write_notes(folder, 12)
    (folder / "long.md").write_text("\n\n".join(f"## {s}\n\n{_note(s) * 40}" for s in SUBJECTS), encoding="utf-8")
    let_rest(folder)
    _import(sapwood, folder)
    first = _trees(workspace)
    shutil.rmtree(workspace)
    _import(sapwood, folder)
    assert _trees(workspace) == first and len(first["summaries"]) > 2


def test_the_vault_gives_the_same_trees_back(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 12)
    (folder / "long.md").write_text("\n\n".join(f"## {s}\n\n{_note(s) * 40}" for s in SUBJECTS), encoding="utf-8")
    (folder / "sub").mkdir()
    _write_notes(folder / "sub", 11)
    _import(sapwood, folder)
    before = _trees(workspace)
    for file in (workspace / "memory_tree").glob("*.db*"):
        file.unlink()
    assert sapwood("rebuild").code == 0
    assert sapwood("work", "--drain", env={"SAPWOOD_EMBEDDING_MODEL": "none"}).code == 0
    assert _trees(workspace) == before
    assert sapwood("doctor").code == 0


def test_a_damaged_summary_is_made_anew(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    before = _trees(workspace)
    (file,) = (workspace / "wiki" / "summaries").rglob("*.md")
    file.write_text("no front matter", encoding="utf-8")
    for database in (workspace / "memory_tree").glob("*.db*"):
        database.unlink()
    result = sapwood("rebuild", "--json")
    assert result.code == 3 and "is told anew" in json.dumps(result.json)
    assert sapwood("work", "--drain", env={"SAPWOOD_EMBEDDING_MODEL": "none"}).code == 0
    assert _trees(workspace) == before and file.read_text(encoding="utf-8").startswith("---")


def test_what_is_asked_for_a_time_is_told_for_that_time_alone(sapwood: Sapwood, folder: Path) -> None:
    for day in range(1, 13):
        said = [{"id": f"{day}-{n}", "speaker": who, "time": f"2026-05-{day:02d}T09:0{n}:00Z", "text": f"On day {day} we discussed the {SUBJECTS[day - 1]}, part {n}."} for n, who in enumerate(("Anna", "Ben"))]  # fmt: skip
        (folder / f"chat-{day:02d}.json").write_text(json.dumps(said), encoding="utf-8")
    _import(sapwood, folder)
    whole = _json(sapwood, "source", "files")["hits"]
    assert [hit["node_kind"] for hit in whole].count("summary") == 1
    days = _json(sapwood, "source", "files", "--since", "2026-05-03", "--until", "2026-05-04")["hits"]
    assert sorted(hit["date"][:10] for hit in days) == ["2026-05-03", "2026-05-04"] and {
        hit["node_kind"] for hit in days
    } == {"leaf"}


def test_a_source_that_nobody_knows_is_named_with_the_way_out(sapwood: Sapwood, folder: Path) -> None:
    _write_notes(folder, 1)
    _import(sapwood, folder)
    result = sapwood("source", "nowhere")
    assert result.code == 1 and "nowhere: no source is called so" in result.err and "sapwood source" in result.err
    assert sapwood("drill", "L1:00000000").code != 0


def test_every_link_of_the_vault_leads_to_one_note(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 12)
    (folder / "long.md").write_text("\n\n".join(f"## {s}\n\n{_note(s) * 40}" for s in SUBJECTS), encoding="utf-8")
    for day in (3, 4):
        said = [{"id": f"{day}-{n}", "speaker": who, "time": f"2026-05-{day:02d}T09:0{n}:00Z", "text": f"We decided to repaint the {SUBJECTS[day]} in May, part {n}."} for n, who in enumerate(("Anna", "Ben"))]  # fmt: skip
        (folder / f"chat-{day}.json").write_text(json.dumps(said), encoding="utf-8")
    _import(sapwood, folder)
    notes: dict[str, int] = {}
    for path in (workspace / "wiki").rglob("*.md"):
        notes[path.stem] = notes.get(path.stem, 0) + 1
    links = {
        (path.name, part.split("]]")[0].split("|")[0])
        for path in (workspace / "wiki").rglob("*.md")
        if "raw" not in path.parts
        for part in path.read_text(encoding="utf-8").split("[[")[1:]
    }
    assert {name for name, _ in links} >= {"Home.md", "2026-05-03.md", "2026-W18.md"}
    assert {link for _, link in links if notes.get(link) != 1} == set()


def test_a_name_with_brackets_makes_no_link(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    lines = [
        f"2026-05-0{n % 4 + 1} 09:1{n % 10} - Cleo [[Vane]]: We decided to repaint shed {n} in May, part {n}."
        for n in range(40)
    ]
    (folder / "c.txt").write_text("\n".join(lines), encoding="utf-8")
    _import(sapwood, folder)
    for path in (workspace / "wiki").rglob("*.md"):
        assert "[[vane" not in path.read_text(encoding="utf-8").lower(), path
    assert "Cleo [Vane]" in sapwood("recap", "--on", "2026-05-02").out


def test_the_home_page_leads_to_every_source_whether_told_as_a_whole_or_not(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    for name in ("Oslo", "Turin"):
        said = [{"sender": ("Anna", "Ben")[n % 2], "time": f"202{n // 200}-05-06T09:{n % 60:02d}:00Z", "text": f"We decided to repaint shed {n} of {name} in the month of May. " * 4} for n in range(400)]  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")
    _import(sapwood, folder)
    page = (workspace / "wiki/Home.md").read_text(encoding="utf-8")
    assert "\n- files\n" in page and "|Oslo · 2020-05-06 – 2021-05-06]]" in page and "|Turin · 2020" in page
    assert "Years: [[2021]] · [[2020]]" in page and "Months: [[2021-05]] · [[2020-05]]" in page


def test_a_home_page_that_somebody_changed_is_left(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    page, graph = workspace / "wiki/Home.md", workspace / "wiki/.obsidian/graph.json"
    assert "|files]]" in page.read_text(encoding="utf-8") and graph.exists()
    page.write_text("my own page\n", encoding="utf-8")
    graph.write_text("{}", encoding="utf-8")
    _write_notes(folder, 12)
    _import(sapwood, folder)
    assert page.read_text(encoding="utf-8") == "my own page\n" and graph.read_text(encoding="utf-8") == "{}"
