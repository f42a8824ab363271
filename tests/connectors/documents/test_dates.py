"""Which moment a file names: its own lines and name, exported messages, and the zone of times that name none."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sdk import Converted, ConvertFile, Kind, date_in_name, parse_date
from sapwood_documents import convert

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")


def _read(place: Path, name: str, text: str, zone: ZoneInfo = SHANGHAI) -> Converted:
    path = place / name
    path.write_text(text, encoding="utf-8")
    found = convert(ConvertFile(str(path), name, path.stat().st_size, zone=zone))
    assert found is not None
    return found


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text + "+00:00")


@pytest.mark.parametrize(
    "text",
    [
        "Date: 8 May 2023\n\nWe planted a tree.", "# Meeting\n\n- Date: 2023-05-08\n- Place: Rome\n", "**Date:** May 8, 2023\n\nWords.",
        "# 2023-05-08\n\nToday was quiet.", "Monday, May 8, 2023\n\nToday was quiet.", "2023年5月8日 星期一\n\n今天很安静。", "日期：2023年5月8日\n内容",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@pytest.mark.parametrize("zone", [SHANGHAI, NEW_YORK])
def test_a_note_is_of_the_day_that_its_first_lines_name_in_the_users_zone(
    tmp_path: Path, text: str, name: str, zone: ZoneInfo
) -> None:
    assert _read(tmp_path, name, text, zone).created == datetime(2023, 5, 8, tzinfo=zone)


@pytest.mark.parametrize(
    "text",
    [
        "The meeting of 8 May 2023 was long.\n\nWords.", "# Plan for 2023-05-08\n\nWords.", "Date: soon\n", "5/6/2023\n\nwords", "May 2023\n\nwords",
        "\n".join(f"line {n}" for n in range(20)) + "\nDate: 2023-05-08\n", "2023-02-30\n\nwords",
    ],
)  # fmt: skip
def test_a_date_that_is_only_spoken_of_is_not_the_notes_own(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, "a.md", text).created is None


def test_front_matter_without_a_zone_is_of_the_users_clock(tmp_path: Path) -> None:
    found = _read(tmp_path, "a.md", "---\ncreated: 2023-05-08 23:30:00\nupdated: 2023-05-09\n---\nwords\n", NEW_YORK)
    assert found.created == _utc("2023-05-09T03:30:00") and found.modified == _utc("2023-05-09T04:00:00")


def test_stamps_of_an_exported_chat_are_of_the_users_clock(tmp_path: Path) -> None:
    lines = [f"2023-05-08 20:1{n} - Ann Lee: words {n}" for n in range(4)]
    assert _read(tmp_path, "chat.txt", "\n".join(lines)).segments[0].at == _utc("2023-05-08T12:10:00")


@pytest.mark.parametrize("stamp", ["2023-05-08T20:10:00", "2023-05-08 20:10", "8:10 pm on 8 May, 2023", "2023/5/8 下午8:10", "2023-05-08T12:10:00Z"])  # fmt: skip
def test_flat_records_are_messages_whatever_way_their_time_is_written(tmp_path: Path, stamp: str) -> None:
    records = [{"sender": "Ann Lee", "text": f"words {n}", "time": stamp} for n in range(3)]
    found = _read(tmp_path, "c.json", json.dumps(records))
    assert found.kind is Kind.CHAT
    assert [(s.text, s.author, s.at) for s in found.segments] == [(f"words {n}", "Ann Lee", _utc("2023-05-08T12:10:00")) for n in range(3)]  # fmt: skip


def test_an_export_of_telegram_is_a_chat_named_as_it_was(tmp_path: Path) -> None:
    messages = [
        {"id": 1, "type": "service", "date": "2023-05-08T20:00:00", "date_unixtime": "1683547200", "actor": "Ann", "action": "create_group", "text": ""},
        *(
            {"id": n, "type": "message", "date": f"2023-05-08T20:1{n}:00", "date_unixtime": str(1683547200 + 60 * (10 + n)), "from": "Ann Lee", "from_id": "user7",
             "text": ["see ", {"type": "link", "text": "https://example.org"}, f" number {n}"]}
            for n in range(2, 8)
        ),
    ]  # fmt: skip
    found = _read(tmp_path, "result.json", json.dumps({"name": "Family", "type": "private_group", "id": 99, "messages": messages}))  # fmt: skip
    assert (found.kind, found.title) == (Kind.CHAT, "Family")
    notice, first = found.segments[:2]
    assert "create_group" in notice.text and not notice.author
    assert (first.native_id, first.author, first.at) == ("2", "Ann Lee", _utc("2023-05-08T12:12:00"))
    assert first.text == "see https://example.org number 2"


def test_the_exact_moment_of_an_export_wins_over_its_clock_and_its_copies_are_not_told(tmp_path: Path) -> None:
    messages = [
        {"id": n, "type": "message", "date": "2026-11-24T00:05:00", "date_unixtime": "1795449900", "from": "Lena Voss", "from_id": "user11", "text": f"words {n}",
         "edited": "2026-11-24T09:00:00", "text_entities": [{"type": "plain", "text": f"words {n}"}]}
        for n in range(3)
    ]  # fmt: skip
    found = _read(tmp_path, "result.json", json.dumps({"name": "Boat", "messages": messages}), NEW_YORK)
    assert [s.at for s in found.segments] == [_utc("2026-11-23T16:05:00")] * 3
    assert [s.text for s in found.segments] == [f"words {n}\n- edited: 2026-11-24T09:00:00" for n in range(3)]


def test_an_export_of_discord_has_authors_by_their_shown_names(tmp_path: Path) -> None:
    messages = [
        {"id": f"1{n}", "timestamp": f"2023-05-08T12:1{n}:00+00:00", "content": f"words {n}", "author": {"id": "7", "name": "ann", "nickname": "Ann Lee"}}
        for n in range(3)
    ]  # fmt: skip
    found = _read(tmp_path, "d.json", json.dumps({"guild": {"name": "Club"}, "messages": messages}))
    assert found.kind is Kind.CHAT and [s.author for s in found.segments if s.at] == ["Ann Lee"] * 3
    assert "Club" in found.segments[0].text, "what stands around the messages is kept"


def test_records_that_are_no_messages_stay_a_document(tmp_path: Path) -> None:
    records = [{"name": "Ann", "text": f"word {n}"} for n in range(4)]
    assert _read(tmp_path, "r.json", json.dumps(records)).kind is Kind.DOCUMENT


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2023-05-08", date(2023, 5, 8)), ("2023-05-08-garden", date(2023, 5, 8)), ("20230508_garden", date(2023, 5, 8)), ("IMG-20230508-WA0001", date(2023, 5, 8)),
        ("会议2023年5月8日纪要", date(2023, 5, 8)), ("8 May 2023", date(2023, 5, 8)), ("minutes 8-May-2023", date(2023, 5, 8)), ("report_2023.05.08_v2", date(2023, 5, 8)),
        ("2023-05-08 and again 20230508", date(2023, 5, 8)),
        ("2023-05-01 to 2023-05-08", None), ("2023-13-08", None), ("1234567890123", None), ("report 2023", None), ("May 2023", None), ("1850-01-02", None), ("05-06-2023", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("zone", [SHANGHAI, NEW_YORK])
def test_the_one_day_that_a_files_name_holds(name: str, day: date | None, zone: ZoneInfo) -> None:
    assert date_in_name(name, zone) == (day and datetime(day.year, day.month, day.day, tzinfo=zone))


@given(st.dates(date(1970, 1, 2), date(2099, 12, 30)), st.sampled_from(["%Y-%m-%d", "%Y%m%d", "%Y.%m.%d", "%d %B %Y", "%B %d, %Y"]))  # fmt: skip
def test_every_day_is_read_back_from_a_name(day: date, form: str) -> None:
    found = date_in_name(f"notes {day.strftime(form)}", NEW_YORK)

    assert found is not None and found.astimezone(NEW_YORK).date() == day


@given(st.text(max_size=60))
def test_no_name_breaks_the_reading_of_dates(name: str) -> None:
    found = date_in_name(name)
    assert found is None or 1970 <= found.year <= 2099
    assert parse_date(name) is None or parse_date(name).tzinfo is UTC  # type: ignore[union-attr]
