"""What happened on a day: told by what was said on it, told anew when something comes late."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result

Sapwood = Callable[..., Result]
ENV = {"SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1"}


def _chat(folder: Path, name: str, messages: list[tuple[str, str, str]]) -> None:
    if len(messages) == 1:  # one record alone is no chat
        messages = [*messages, (messages[0][0], "Ben", "Fine.")]
    said = [
        {"id": f"{name}{n}", "speaker": who, "time": when, "text": text} for n, (when, who, text) in enumerate(messages)
    ]
    (folder / f"{name}.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")


def _import(sapwood: Sapwood, folder: Path, **env: str) -> None:
    result = sapwood("import", str(folder), "--wait", env={**ENV, **env})
    assert result.code == 0, result.err


def _recap(sapwood: Sapwood, *arguments: str, **env: str) -> Any:
    result = sapwood("recap", *arguments, "--json", env={**ENV, **env})
    assert result.code == 0, result.err + result.out
    return result.json


def _week(folder: Path) -> None:
    for day, subject in ((4, "budget"), (5, "harbour"), (7, "orchard")):
        _chat(folder, f"talk-{day}", [
            (f"2026-05-{day:02d}T09:00:00Z", "Anna", f"We decided to sell the {subject} in June."),
            (f"2026-05-{day:02d}T09:01:00Z", "张伟", f"{subject} 的合同我来写。"),
        ])  # fmt: skip


def test_a_day_is_told_by_who_said_what_on_it(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _week(folder)
    _import(sapwood, folder)
    found = _recap(sapwood, "--on", "2026-05-05")
    (hit,) = found["hits"]
    assert (
        "**Anna** decided: We decided to sell the harbour in June." in hit["content"]
        and "**张伟** 答应：" in hit["content"]
    )
    assert "budget" not in hit["content"] and hit["path"] == "wiki/daily/2026-05-05.md"
    assert (workspace / hit["path"]).read_text(encoding="utf-8").startswith("---\nid: L0:")


def test_a_span_is_covered_exactly_and_days_without_data_are_named(sapwood: Sapwood, folder: Path) -> None:
    _week(folder)
    _import(sapwood, folder)
    week = _recap(sapwood, "--since", "2026-05-04", "--until", "2026-05-10")
    assert [hit["title"] for hit in week["hits"]] == ["2026-W19 (2026-05-04 – 2026-05-10)"]
    assert week["days_without_data"] == ["2026-05-06", "2026-05-08", "2026-05-09", "2026-05-10"]
    part = _recap(sapwood, "--since", "2026-05-05", "--until", "2026-05-07")
    assert [hit["title"] for hit in part["hits"]] == ["2026-05-05", "2026-05-07"] and part["days_without_data"] == [
        "2026-05-06"
    ]
    nothing = _recap(sapwood, "--on", "2026-03")
    assert nothing["hits"] == [] and len(nothing["days_without_data"]) == 31


def test_one_walks_from_a_year_down_to_the_sentence_and_its_file(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    for month in range(1, 13):
        _chat(
            folder,
            f"m{month}",
            [(f"2025-{month:02d}-08T10:00:00Z", "Anna", f"The lighthouse number {month} was painted white.")],
        )
    _import(sapwood, folder)
    (year,) = _recap(sapwood, "--since", "2024-12-30", "--until", "2025-12-28")["hits"]
    assert (year["level"], len(year["child_ids"])) == (3, 12)
    node = year["node_id"]
    for level in (2, 1, 0):
        (node, *_) = [
            hit["node_id"] for hit in sapwood("drill", node, "--json", env=ENV).json["hits"] if hit["level"] == level
        ]
    (leaf,) = sapwood("drill", node, "--json", env=ENV).json["hits"]
    assert (
        leaf["node_kind"] == "leaf"
        and "lighthouse number 1 " in leaf["content"]
        and (workspace / leaf["path"]).exists()
    )


def test_what_comes_late_is_told_in_its_day_its_week_and_above(sapwood: Sapwood, folder: Path) -> None:
    _week(folder)
    _import(sapwood, folder)
    _chat(
        folder,
        "late",
        [
            (
                "2026-05-05T18:00:00Z",
                "Ben",
                "We decided to rescue the windmill in Holm before the winter because its roof leaks.",
            )
        ],
    )
    _import(sapwood, folder)
    for span in (("--on", "2026-05-05"), ("--since", "2026-05-04", "--until", "2026-05-10")):
        assert "windmill" in " ".join(hit["content"] for hit in _recap(sapwood, *span)["hits"])


def test_what_is_removed_is_told_no_more(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _week(folder)
    _import(sapwood, folder)
    (folder / "talk-5.json").unlink()
    _import(sapwood, folder)
    week = _recap(sapwood, "--since", "2026-05-04", "--until", "2026-05-10")
    assert (
        "harbour" not in " ".join(hit["content"] for hit in week["hits"]) and "2026-05-05" in week["days_without_data"]
    )
    assert not (workspace / "wiki/daily/2026-05-05.md").exists()
    assert sapwood("doctor", env=ENV).code == 0


def test_days_are_those_of_the_users_zone(sapwood: Sapwood, folder: Path) -> None:
    _chat(
        folder,
        "late",
        [
            (
                "2026-05-05T22:30:00Z",
                "Anna",
                "The ferry to Dalian leaves at midnight, and Ben has booked three cabins for us.",
            )
        ],
    )
    _import(sapwood, folder, SAPWOOD_TIMEZONE="Asia/Shanghai")
    assert _recap(sapwood, "--on", "2026-05-06", SAPWOOD_TIMEZONE="Asia/Shanghai")["hits"][0]["title"] == "2026-05-06"
    assert _recap(sapwood, "--on", "2026-05-05", SAPWOOD_TIMEZONE="Asia/Shanghai")["hits"] == []


def test_a_document_dated_by_its_file_alone_is_counted_and_not_told(sapwood: Sapwood, folder: Path) -> None:
    (folder / "note.md").write_text("The attic was cleared out.\n", encoding="utf-8")
    os.utime(folder / "note.md", (1_777_896_000, 1_777_896_000))  # 2026-05-04 12:00
    _import(sapwood, folder)
    found = _recap(sapwood, "--on", "2026-05-04")
    assert (found["hits"], found["documents_dated_by_file_only"], found["days_without_data"]) == ([], 1, ["2026-05-04"])


def test_today_is_told_before_it_is_over(sapwood: Sapwood, folder: Path) -> None:
    from sapwood.clock import iso_z, now

    _chat(
        folder,
        "now",
        [
            (
                iso_z(now()),
                "Anna",
                "The kettle in the kitchen broke, so Ben ordered a new one from Hamburg for 40 euros.",
            )
        ],
    )
    _import(sapwood, folder)
    (hit,) = _recap(sapwood)["hits"]
    assert "kettle" in hit["content"] and hit["path"] == "" and hit["node_id"].startswith("day:")


def test_the_vault_gives_the_same_days_back(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _week(folder)
    _import(sapwood, folder)
    before = _recap(sapwood, "--since", "2026-05-01", "--until", "2026-05-20")
    for database in (workspace / "memory_tree").glob("*.db*"):
        database.unlink()
    assert sapwood("rebuild", env=ENV).code == 0 and sapwood("work", "--drain", env=ENV).code == 0
    assert _recap(sapwood, "--since", "2026-05-01", "--until", "2026-05-20") == before
    assert sapwood("doctor", env=ENV).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--on", "someday"),
        ("--since", "2026-05-04", "--until", "2026-05-01"),
        ("--on", "today", "--since", "2026-05-04"),
    ],
)
def test_a_span_that_makes_no_sense_is_refused(sapwood: Sapwood, folder: Path, arguments: tuple[str, ...]) -> None:
    _week(folder)
    _import(sapwood, folder)
    assert sapwood("recap", *arguments, env=ENV).code == 2
