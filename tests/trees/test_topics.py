"""What is known of whom, under any of their names, the newest first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result

Sapwood = Callable[..., Result]
ENV = {"SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1"}
MAIL = """From: {sender}
To: Ben Marten <ben@example.org>
Subject: {subject}
Date: {date}
Message-ID: <{number}@example.org>
Content-Type: text/plain; charset=utf-8

{body}
"""


@pytest.fixture
def imported(sapwood: Sapwood, folder: Path) -> Sapwood:
    mails = [
        ("Olga Petrova <olga@example.org>", "Rent", "Mon, 04 May 2026 09:00:00 +0000", "The rent of the flat in Hamburg rises to 900 euros in June."),
        ("olga@example.org", "Boiler", "Tue, 05 May 2026 09:00:00 +0000", "The boiler was repaired, the bill of 240 euros is attached."),
        ("Carl <carl@example.org>", "Party", "Wed, 06 May 2026 09:00:00 +0000", "Olga Petrova plans the party in Hamburg; the cellar was booked for 22 May."),
        ("Carl <carl@example.org>", "Bikes", "Thu, 07 May 2026 09:00:00 +0000", "The bikes were stolen from the yard, the police came at noon."),
    ]  # fmt: skip
    for number, (sender, subject, date, body) in enumerate(mails):
        (folder / f"{number}.eml").write_text(
            MAIL.format(sender=sender, subject=subject, date=date, number=number, body=body), encoding="utf-8"
        )
    said = [
        {
            "id": "1",
            "speaker": "李娜",
            "time": "2026-05-08T08:00:00Z",
            "text": "深圳的仓库合同已经签了，租金每月两万元。",
        },
        {"id": "2", "speaker": "王强", "time": "2026-05-08T08:01:00Z", "text": "好的，我明天去深圳验收仓库。"},
    ]
    (folder / "chat.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    assert sapwood("import", str(folder), "--wait", env=ENV).code == 0
    return sapwood


def _topic(sapwood: Sapwood, *arguments: str) -> Any:
    result = sapwood("topic", *arguments, "--json", env=ENV)
    assert result.code == 0, result.err
    return result.json


@pytest.mark.parametrize("name", ["Olga Petrova", "olga@example.org", "OLGA PETROVA", "person:olga petrova"])
def test_a_person_is_found_by_any_of_their_names_newest_first(imported: Sapwood, name: str) -> None:
    assert [hit["title"] for hit in _topic(imported, name)["hits"]] == ["Party", "Boiler", "Rent"]


def test_the_passages_that_speak_of_somebody_come_with_each_chunk(imported: Sapwood) -> None:
    party, boiler, _ = _topic(imported, "Olga Petrova")["hits"]
    assert "plans the party" in party["passages"][0]["text"] and boiler["passages"][0]["author"] == "olga@example.org"


def test_chinese_names_and_places_are_known_too(imported: Sapwood) -> None:
    (hit,) = _topic(imported, "李娜")["hits"]
    assert [passage["author"] for passage in hit["passages"]] == ["李娜"]
    assert {passage["author"] for passage in _topic(imported, "深圳")["hits"][0]["passages"]} == {"李娜", "王强"}


def test_a_window_and_a_limit_narrow_the_answer(imported: Sapwood) -> None:
    found = _topic(imported, "Olga Petrova", "--until", "2026-05-05")
    assert [hit["title"] for hit in found["hits"]] == ["Boiler", "Rent"]
    first = _topic(imported, "Olga Petrova", "-n", "1")
    assert (len(first["hits"]), first["total"], first["truncated"]) == (1, 3, True)


def test_nobody_is_named_with_the_way_out(imported: Sapwood) -> None:
    result = imported("topic", "Nobody Known", env=ENV)
    assert result.code == 1 and "nobody and nothing is called so" in result.err and "sapwood entities" in result.err


def test_what_no_entity_is_called_is_looked_for_in_the_texts(imported: Sapwood) -> None:
    found = _topic(imported, "rent of the flat")
    assert [hit["title"] for hit in found["hits"]] == ["Rent"] and "nobody and nothing" in found["legs"]["names"]
    assert "rent of the flat" in imported("topic", "rent of the flat", env=ENV).out


def test_names_are_looked_up_by_a_part_of_them(imported: Sapwood) -> None:
    found = imported("entities", "olga", "--json", env=ENV).json["entities"]
    assert {match["entity_id"] for match in found} >= {"email:olga@example.org"}
    assert imported("entities", "100%", "--json", env=ENV).json["entities"] == []
    places = imported("entities", "ham", "--kind", "location", "--kind", "misc", "--json", env=ENV).json["entities"]
    assert [match["surface"] for match in places] == ["Hamburg"]


def test_the_story_of_a_chat_that_spans_days_comes_by_days_newest_first_and_told_by_what_says_most(
    sapwood: Sapwood, folder: Path
) -> None:
    rows = [
        (f"2023-0{month}-1{day}T0{hour}:0{minute}:00Z", who, text)
        for month in (3, 4)
        for day in (1, 2, 3)
        for hour, minute, who, text in [
            (9, 0, "Dana Weiss", "Hi Emil!"),
            (9, 1, "Emil Roth", f"Good morning Dana, the parcel number {month}{day} from Antwerp arrived at the customs office."),
            (9, 2, "Dana Weiss", "Oh nice."),
            (9, 3, "Dana Weiss", f"I will pay the duty of {month}{day} crowns and collect the parcel with the van."),
            (9, 4, "Dana Weiss", "Really?"),
        ]
    ]  # fmt: skip
    lines = (json.dumps({"sender": who, "time": at, "text": text}) for at, who, text in rows)
    (folder / "talk.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert sapwood("import", str(folder), "--wait", env=ENV).code == 0
    (hit,) = _topic(sapwood, "Dana Weiss")["hits"]
    days = [passage["date"][:10] for passage in hit["passages"]]
    assert days == ["2023-04-13", "2023-04-12", "2023-04-11", "2023-03-13", "2023-03-12"]
    assert all("I will pay the duty" in passage["text"] for passage in hit["passages"])
    shown = sapwood("topic", "Dana Weiss", env=ENV).out
    assert shown.startswith("2023-04-13  talk\n") and shown.count("2023-04-12\n") == 1
