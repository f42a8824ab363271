"""Trees of what is hot: made, told, archived, brought back; who is who by the user's word."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result

from sapwood.memory import Memory
from sapwood.store.hotness import Named
from sapwood.store.tree_checks import tree_faults
from sapwood.trees.hotness import CREATED_FROM, hotness
from sapwood.trees.topics import TopicTrees

Sapwood = Callable[..., Result]
ENV = {"SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1"}
DAY_MS = 86_400_000
THINGS = ("harbour", "orchard", "bridge", "museum", "tunnel", "garden", "library", "station", "kitchen", "tower")


def _mail(folder: Path, number: int, days_ago: float, sender: str = "Nora Lindqvist <nora@example.org>") -> None:
    folder.mkdir(exist_ok=True)
    thing = f"{THINGS[number % 10]} {number}"
    moment = datetime.now(UTC) - timedelta(days=days_ago, minutes=number)
    (folder / f"{number:03d}.eml").write_text(
        f"From: {sender}\nTo: Ben Marten <ben@example.org>\nSubject: The {thing}\nDate: {format_datetime(moment)}\nMessage-ID: <{number}@{folder.name}.example.org>\n"
        f"Content-Type: text/plain; charset=utf-8\n\nWe decided to sell the {thing} for {number + 2},000 euros before winter.\n",
        encoding="utf-8",
    )  # fmt: skip


def _many(folder: Path, count: int = 14, days_ago: float = 1) -> None:
    for name in ("a", "b"):
        for number in range(count):
            _mail(folder / name, number, days_ago)


def _import(sapwood: Sapwood, folder: Path) -> None:
    result = sapwood("import", str(folder), "--wait", env=ENV)
    assert result.code == 0, result.err


def _json(sapwood: Sapwood, *arguments: str) -> Any:
    result = sapwood(*arguments, "--json", env=ENV)
    assert result.code == 0, result.err + result.out
    return result.json


def _topics(workspace: Path) -> dict[str, str]:
    with Memory(workspace) as memory:
        assert {n: c for n, c in tree_faults(memory.database).items() if c} == {}
        return dict(memory.database.rows("SELECT title, status FROM mem_tree_trees WHERE kind = 'topic' ORDER BY 1"))


def test_hotness_is_the_sum_that_the_reference_names() -> None:
    now = 100 * DAY_MS
    twenty = Named(mentions=20, sources=3, neighbours=10, queries=0, last_ms=now)
    assert (
        hotness(twenty, now) == pytest.approx(3.0445 + 1.5 + 1.0 + 0.5, abs=1e-3)
        and hotness(twenty, now) > CREATED_FROM
    )
    week = Named(mentions=0, sources=0, neighbours=0, queries=1, last_ms=now - 7 * DAY_MS)
    assert hotness(week, now) == pytest.approx(2.5)
    assert hotness(Named(0, 0, 0, 0, now - 40 * DAY_MS), now) == 0
    assert hotness(Named(0, 0, 0, 0, now + DAY_MS), now) == 1.0


def test_who_is_hot_gets_a_tree_that_tells_of_them_alone_and_a_page(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _many(folder)
    _import(sapwood, folder)
    assert _topics(workspace)["Nora Lindqvist"] == "active"
    found = _json(sapwood, "topic", "nora@example.org")
    assert found["total"] == 28 and found["told"] and all(hit["tree_kind"] == "topic" for hit in found["told"])
    dates = [hit["date"] for hit in found["hits"]]
    assert dates == sorted(dates, reverse=True)
    below = _json(sapwood, "drill", found["told"][0]["node_id"])["hits"]
    assert len(below) == 10 and all(hit["node_kind"] == "leaf" for hit in below)
    (match,) = _json(sapwood, "entities", "Nora")["entities"]
    assert (match["entity_id"], match["mentions"]) in (
        ("email:nora@example.org", 28),
        ("person:nora lindqvist", 28),
    ) and len(match["also"]) == 1
    page = (workspace / match["page"]).read_text(encoding="utf-8")
    assert "# Nora Lindqvist" in page and "## Lately" in page and "## Notes" in page and "- Nora Lindqvist\n" in page
    assert f"[[{Path(match['page']).stem}|Nora Lindqvist]]" in (workspace / "wiki" / "Home.md").read_text(
        encoding="utf-8"
    )


def test_a_page_tells_of_which_days_and_leads_to_pages_that_came_after_it(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _many(folder)
    for number in range(20, 23):
        _mail(folder / "a", number, 1, "Carl Olsen <carl@example.org>")
    _import(sapwood, folder)
    ben = workspace / _json(sapwood, "entities", "Ben Marten")["entities"][0]["page"]
    assert "\n- Carl Olsen: 3\n" in ben.read_text(encoding="utf-8")
    for _ in range(20):
        _json(sapwood, "topic", "Carl Olsen")
    assert sapwood("work", "--drain", env=ENV).code == 0
    carl = workspace / _json(sapwood, "entities", "Carl Olsen")["entities"][0]["page"]
    page = ben.read_text(encoding="utf-8")
    assert f"\n- [[{carl.stem}|Carl Olsen]]: 3\n" in page
    assert re.search(r"^- \[\[.+\|.+\]\], 20\d\d-\d\d-\d\d", page.partition("## Told")[2], re.MULTILINE)


def test_pages_follow_an_edit_and_a_deleted_original(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _many(folder)
    _import(sapwood, folder)
    nora = workspace / _json(sapwood, "entities", "Nora")["entities"][0]["page"]
    note = next(f for f in workspace.glob("wiki/raw/*/*/*.md") if "sell the garden 5" in f.read_text(encoding="utf-8"))
    assert "sell the garden 5" in nora.read_text(encoding="utf-8")
    note.write_text(
        note.read_text(encoding="utf-8").replace("sell the garden 5", "keep the echidna 5"), encoding="utf-8"
    )
    _import(sapwood, folder)
    assert "keep the echidna 5" in nora.read_text(encoding="utf-8")
    for place in ("a", "b"):
        (folder / place / "003.eml").unlink()
    _import(sapwood, folder)
    assert "sell the museum 3" not in nora.read_text(encoding="utf-8")


def test_old_times_make_nobody_hot_but_asking_for_them_answers(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _many(folder, days_ago=300)
    _import(sapwood, folder)
    assert _topics(workspace) == {} and _json(sapwood, "topic", "Nora Lindqvist")["total"] == 28


def test_asking_often_makes_a_topic_of_what_is_named_little(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    for number in range(2):
        _mail(folder / "a", number, 1)
    _import(sapwood, folder)
    assert _topics(workspace) == {}
    for _ in range(2):
        _json(sapwood, "topic", "Nora Lindqvist")
    assert sapwood("work", "--drain", env=ENV).code == 0
    assert _topics(workspace)["Nora Lindqvist"] == "active"


def test_a_topic_that_is_cold_is_archived_and_goes_on_when_it_is_hot_again(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _many(folder)
    _import(sapwood, folder)
    with Memory(workspace) as memory, memory.database.transaction():
        memory.database.run("UPDATE mem_tree_entity_index SET timestamp_ms = timestamp_ms - 40 * 86400000")
        TopicTrees(memory.database).sweep()
    assert set(_topics(workspace).values()) == {"archived"}
    told = _json(sapwood, "topic", "Nora Lindqvist")["told"]
    assert told  # what was told can still be read
    for number in range(20, 48):
        _mail(folder / "a", number, 0.1)
    _import(sapwood, folder)
    assert _topics(workspace)["Nora Lindqvist"] == "active"
    page = next((workspace / "wiki" / "topics").glob("nora*.md")).read_text(encoding="utf-8")
    assert "status: active" in page and "goes on when" not in page


def test_a_chunk_that_does_not_name_somebody_any_more_leaves_their_tree(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _many(folder)
    (folder / "a" / "note.md").write_text(f"---\ndate: {datetime.now(UTC).date()}\n---\n\nNora Lindqvist opens the lighthouse in May for 9,000 euros.\n", encoding="utf-8")  # fmt: skip
    _import(sapwood, folder)
    assert _json(sapwood, "topic", "Nora Lindqvist")["total"] == 29
    (folder / "a" / "note.md").write_text(f"---\ndate: {datetime.now(UTC).date()}\n---\n\nSomebody opens the lighthouse in May for 9,000 euros.\n", encoding="utf-8")  # fmt: skip
    _import(sapwood, folder)
    with Memory(workspace) as memory:
        tree = next(t for t in memory.database.rows("SELECT id FROM mem_tree_trees WHERE title = 'Nora Lindqvist'"))[0]
        texts = [
            row[0] for row in memory.database.rows("SELECT content FROM mem_tree_summaries WHERE tree_id = ?", (tree,))
        ]
    assert (
        texts
        and not any("lighthouse" in text for text in texts)
        and _json(sapwood, "topic", "Nora Lindqvist")["total"] == 28
    )
    _topics(workspace)


def test_merge_split_and_rename_change_the_answers_and_outlive_the_databases(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _many(folder)
    for number in range(3):
        _mail(folder / "c", number, 2, "captain@ship.example")
    _import(sapwood, folder)
    assert _json(sapwood, "topic", "captain@ship.example")["total"] == 3
    _json(sapwood, "entities", "merge", "Nora Lindqvist", "captain@ship.example")
    assert sapwood("work", "--drain", env=ENV).code == 0
    assert (
        _json(sapwood, "topic", "captain@ship.example")["total"]
        == 31
        == _json(sapwood, "topic", "nora@example.org")["total"]
    )
    _json(sapwood, "entities", "rename", "nora@example.org", "The Captain")
    assert sapwood("work", "--drain", env=ENV).code == 0
    assert _topics(workspace)["The Captain"] == "active" and "Nora Lindqvist" not in _topics(workspace)
    before = _json(sapwood, "topic", "The Captain")
    assert before["total"] == 31
    assert sapwood("rebuild", env=ENV).code == 0
    assert sapwood("work", "--drain", env=ENV).code == 0
    after = _json(sapwood, "topic", "The Captain")
    assert [hit["node_id"] for hit in after["hits"]] == [hit["node_id"] for hit in before["hits"]]
    assert {hit["node_id"] for hit in after["told"]} == {hit["node_id"] for hit in before["told"]}
    _json(sapwood, "entities", "split", "captain@ship.example")
    assert sapwood("work", "--drain", env=ENV).code == 0
    assert _json(sapwood, "topic", "captain@ship.example")["total"] == 3
    assert _json(sapwood, "topic", "Nora Lindqvist")["total"] == 28
    _topics(workspace)


def test_unknown_and_equal_names_are_told_apart_from_mistakes(sapwood: Sapwood, folder: Path) -> None:
    _many(folder, count=2)
    _import(sapwood, folder)
    for arguments, says in (
        (("merge", "Nora Lindqvist", "Nobody Atall"), "nobody and nothing is called so"),
        (("merge", "Nora Lindqvist", "nora@example.org"), "are one already"),
        (("split", "Ben Marten Marten"), "nobody and nothing is called so"),
        (("rename", "Nora Lindqvist", " "), "is no name"),
        (("rename", "Nora Lindqvist", "Ben Marten"), "is what another one is called"),
        (("merge", "Nora Lindqvist"), "two or more are needed"),
    ):
        result = sapwood("entities", *arguments, env=ENV)
        assert result.code != 0 and says in result.err, (arguments, result.err)


def test_what_a_person_wrote_on_a_page_stays(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _many(folder)
    _import(sapwood, folder)
    page = next((workspace / "wiki" / "topics").glob("nora*.md"))
    page.write_text(page.read_text(encoding="utf-8") + "\nShe likes rye bread.\n", encoding="utf-8")
    _mail(folder / "a", 77, 0.2)
    _import(sapwood, folder)
    text = page.read_text(encoding="utf-8")
    assert "She likes rye bread." in text and "station 77" in text
    assert not (workspace / "trash" / "changed").exists()
    page.write_text(text.replace("# Nora Lindqvist", "# My friend Nora"), encoding="utf-8")
    _mail(folder / "a", 78, 0.2)
    _import(sapwood, folder)
    (kept,) = (workspace / "trash" / "changed").iterdir()
    assert "# My friend Nora" in kept.read_text(encoding="utf-8") and "She likes rye bread." in page.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", ["../x", "..\\x", "a/b", "[[x]]", "<b>x</b>"])
def test_no_name_leads_out_of_the_vault_or_breaks_a_page(
    sapwood: Sapwood, folder: Path, workspace: Path, name: str
) -> None:
    for box in ("a", "b"):
        for number in range(12):
            _mail(folder / box, number, 1, f'"{name}" <odd@example.org>')
    _import(sapwood, folder)
    assert _topics(workspace)
    pages = sorted((workspace / "wiki" / "topics").glob("*.md"))
    assert pages and all(workspace / "wiki" / "topics" == page.parent for page in workspace.rglob("*.md") if page.read_text(encoding="utf-8").startswith("---\nkind: topic"))  # fmt: skip
    assert all("[[x]]" not in page.read_text(encoding="utf-8").partition("\n---\n")[2] for page in pages)
