"""Files are found and told by the days that they name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Result

Sapwood = Callable[..., Result]


def test_a_message_is_found_by_the_day_that_it_says_not_by_its_files_time(sapwood: Sapwood, folder: Path) -> None:
    records = [
        {
            "id": f"m{n}",
            "speaker": "Mel" if n % 2 else "Ann",
            "text": f"words number {n}",
            "time": f"2023-05-0{n}T10:00:00Z",
        }
        for n in range(1, 5)
    ]
    (folder / "talk.json").write_text(json.dumps(records), encoding="utf-8")
    sapwood("import", str(folder))
    hits = sapwood("search", "3 May 2023", "--unit", "passage", "--json").json["hits"]
    assert hits[0]["passages"][0]["native_id"] == "m3"
    assert hits[0]["date"] == "2023-05-03T10:00:00Z"
    item = sapwood("search", "words", "--unit", "item", "--json").json["hits"][0]
    assert item["date_source"] == "said"


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Shanghai"])
def test_a_day_holds_what_its_notes_and_chats_say_in_the_users_zone(
    sapwood: Sapwood, folder: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("SAPWOOD_TIMEZONE", zone)
    (folder / "2023-05-08 shed.md").write_text("Carla Jensen repaired the old bicycle in the shed.")
    (folder / "plan.md").write_text("---\ndate: 2023-05-08\n---\nBob Keller ordered soil for the apple trees.\n")
    lines = [
        "2023-05-08 00:10 - Ann Lee: The night train leaves from platform seven.",
        "2023-05-08 23:40 - Bob Keller: The hotel is booked for three nights.",
        "2023-05-09 00:20 - Ann Lee: Breakfast is included in the price of the room.",
    ]
    (folder / "chat.txt").write_text("\n".join(lines))
    sapwood("import", str(folder), "--wait")
    told = sapwood("recap", "--on", "2023-05-08").out
    assert all(word in told for word in ("bicycle", "soil", "platform seven", "hotel")) and "Breakfast" not in told
    assert "Breakfast" in sapwood("recap", "--on", "2023-05-09").out
