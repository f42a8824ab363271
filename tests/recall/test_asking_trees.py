"""Asking sources, topics and days with words and times; how far each connection is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result
from tests.trees.test_growth import _note, _write_notes

from sapwood.memory import Memory

Sapwood = Callable[..., Result]
ENV = {"SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1", "SAPWOOD_TIMEZONE": "Europe/Berlin"}
MAIL = "From: {who}\nTo: Ben <ben@example.org>\nSubject: {subject}\nDate: {date}\nMessage-ID: <{number}@x.example>\nContent-Type: text/plain; charset=utf-8\n\n{body}\n"


def _json(sapwood: Sapwood, *arguments: str) -> Any:
    result = sapwood(*arguments, "--json", env=ENV)
    assert result.code == 0, result.err + result.out
    return result.json


@pytest.fixture
def imported(sapwood: Sapwood, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Sapwood:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "none")
    _write_notes(folder, 12)
    other = folder / "letters"
    other.mkdir()
    mails = [
        ("Olga Petrova <olga@example.org>", "Rent", "Tue, 05 May 2026 12:30:00 +0000", "The rent of the flat in Hamburg rises to 900 euros in June, for the pump."),
        ("Olga Petrova <olga@example.org>", "Boiler", "Tue, 05 May 2026 13:10:00 +0000", "The boiler in Hamburg was repaired, the bill of 240 euros is attached to it."),
        ("Carl <carl@example.org>", "Bikes", "Thu, 07 May 2026 09:00:00 +0000", "The bikes were stolen from the yard in Hamburg, the police came at noon."),
    ]  # fmt: skip
    for number, (who, subject, date, body) in enumerate(mails):
        (other / f"{number}.eml").write_text(
            MAIL.format(who=who, subject=subject, date=date, number=number, body=body), encoding="utf-8"
        )
    assert sapwood("import", str(folder), "--wait", env=ENV).code == 0
    return sapwood


def test_a_source_is_asked_about_something_and_others_are_left_out(imported: Sapwood) -> None:
    found = _json(imported, "source", "files", "-q", "pump repair")
    assert found["hits"][0]["title"] == "Pump" and "Rent" not in {hit["title"] for hit in found["hits"]}
    assert found["told"] and "**Pump**" in found["told"][0]["content"]
    letters = _json(imported, "source", "letters", "-q", "pump")
    assert [hit["title"] for hit in letters["hits"]] == ["Rent"]
    assert _json(imported, "source", "letters", "-q", "harbour")["hits"] == []
    assert "**Pump**" in imported("source", "files", "-q", "pump", env=ENV).out


def test_somebody_is_asked_about_something(imported: Sapwood) -> None:
    found = _json(imported, "topic", "Olga Petrova", "-q", "Hamburg bill")
    assert [hit["title"] for hit in found["hits"]] == ["Boiler", "Rent"]
    assert _json(imported, "topic", "Carl", "-q", "Hamburg")["hits"][0]["title"] == "Bikes"


def test_an_hour_of_a_day_is_asked_for_in_the_users_zone(imported: Sapwood) -> None:
    at_three = "2026-05-05 15:00"  # in Berlin; 13:00 in UTC
    assert [hit["title"] for hit in _json(imported, "search", "Hamburg", "--on", at_three)["hits"]] == ["Boiler"]
    assert [hit["title"] for hit in _json(imported, "topic", "Olga Petrova", "--on", at_three)["hits"]] == ["Boiler"]
    assert [hit["title"] for hit in _json(imported, "source", "letters", "--on", at_three)["hits"]] == ["Boiler"]
    (hit,) = _json(imported, "recap", "--on", at_three)["hits"]
    assert (
        hit["title"] == "2026-05-05 15:00 – 16:00"
        and "boiler" in hit["content"].lower()
        and "rent" not in hit["content"].lower()
    )
    assert _json(imported, "recap", "--on", "2026-05-05 09:00")["hits"] == []
    refused = imported("search", "x", "--on", "2026-05-05", "--since", "2026-05-01", env=ENV)
    assert refused.code != 0 and "use it alone" in refused.err


def test_what_speaks_most_of_something_stands_first_below_a_summary(imported: Sapwood) -> None:
    summary = next(hit for hit in _json(imported, "source", "files")["hits"] if hit["node_kind"] == "summary")
    below = _json(imported, "drill", summary["node_id"], "-q", "orchard")["hits"]
    assert below[0]["title"] == "Orchard" and len(below) == 10


def test_how_far_each_connection_is(imported: Sapwood, folder: Path, workspace: Path) -> None:
    with Memory(workspace) as memory:
        (row,) = memory.sync_status_list()
    assert (row["connector"], row["items"], row["pending"], row["failed"]) == ("folder", 15, 0, 0)
    assert row["passages"] == row["searchable"] > 0 and row["without_vector"] is None
    assert row["freshness"] == "active" and row["status"] == "done" and row["last_success"] is not None
    assert row["wave"] == {"total": row["chunks"], "examined": row["chunks"]}
    (folder / "new.md").write_text(_note("ferry"), encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    assert imported("import", str(folder), env=ENV).code in (0, 3)
    with Memory(workspace) as memory:
        (row,) = memory.sync_status_list()
        assert (row["pending"], row["failed"], row["items"]) == (1, 1, 16)
        memory.database.run("UPDATE mem_tree_items SET updated_at_ms = updated_at_ms - 120000")
        assert memory.sync_status_list()[0]["freshness"] == "recent"
        memory.database.run("UPDATE mem_tree_items SET updated_at_ms = updated_at_ms - 1200000")
        assert memory.sync_status_list()[0]["freshness"] == "idle"


def test_a_day_is_drilled_down_to_what_was_said_on_it(sapwood: Sapwood, folder: Path) -> None:
    said = [
        (f"2023-07-0{day}T09:{minute:02d}:00", who, text.format(day=day))
        for day in (3, 5)
        for minute, who, text in [
            (0, "Dana Weiss", "Good morning!"),
            (1, "Emil Roth", "The crane of shed {day} in Antwerp was repaired by two welders."),
            (2, "Dana Weiss", "We decided to order {day} new pumps from the factory in Ghent."),
            (3, "Emil Roth", "I will send the drawings of hall {day} to the harbour office."),
        ]
    ]
    rows = [json.dumps({"sender": who, "time": at, "text": text}) for at, who, text in said]
    (folder / "talk.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert sapwood("import", str(folder), "--wait", env=ENV).code == 0
    (hit,) = _json(sapwood, "drill", "2023-07-05")["hits"]
    assert [passage["date"] for passage in hit["passages"]] == [f"2023-07-05T07:0{minute}:00Z" for minute in (1, 2, 3)]
    assert "decided to order 5 new pumps" in hit["passages"][1]["text"] and hit["passages"][1]["author"] == "Dana Weiss"
    asked = _json(sapwood, "drill", "2023-07", "-d", "5", "-q", "drawings")["hits"]
    leaves = [hit for hit in asked if hit["node_kind"] == "leaf"]
    assert [[p["date"][:10] for p in leaf["passages"]] for leaf in leaves] == [["2023-07-03"], ["2023-07-05"]]
    assert all("I will send the drawings" in leaf["passages"][0]["text"] for leaf in leaves)
    shown = sapwood("drill", "2023-07-03", env=ENV).out
    assert (
        "talk  2023-07-03\n" in shown
        and "   Emil Roth: The crane of shed 3 in Antwerp was repaired by two welders." in shown
    )


def test_a_window_within_a_slow_chat_shows_what_was_said_in_it_and_nothing_else(sapwood: Sapwood, folder: Path) -> None:
    lines = [
        "2026-11-24 15:10 - Tom Okafor: I hired the plumber from Leeds for 420 pounds.",
        "2026-11-26 10:00 - Petra Holm: The boiler stands in the cellar now.",
        "2026-11-28 09:00 - Tom Okafor: The plumber came back and went again.",
    ]
    (folder / "c.txt").write_text("\n".join(lines), encoding="utf-8")
    assert sapwood("import", str(folder), "--wait", env=ENV).code == 0

    def said(*asked: str) -> list[str]:
        hits = _json(sapwood, *asked)["hits"]
        return [passage["date"][:10] for hit in hits for passage in hit["passages"]]

    assert said("topic", "Tom Okafor", "--on", "2026-11-24") == ["2026-11-24"]
    assert said("topic", "Tom Okafor", "--until", "2026-11-27") == ["2026-11-24"]
    assert said("topic", "Tom Okafor", "--since", "2026-11-27") == ["2026-11-28"]
    assert _json(sapwood, "topic", "Tom Okafor", "--on", "2026-11-26") | {"told": []} == _json(sapwood, "topic", "Tom Okafor", "--on", "2026-11-25") | {"told": []}  # fmt: skip
    assert said("source", "c.txt", "--on", "2026-11-26") == ["2026-11-26"]
    assert "nothing is told of it yet" in sapwood("drill", "2999-01-01", env=ENV).err
