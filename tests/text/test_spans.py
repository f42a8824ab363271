"""What dates, times and words mean at a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.text.spans import parse_span

NOW = datetime(2026, 11, 30, 10, 30, tzinfo=UTC)  # a Monday


def _said(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    """First and last minute of a span."""
    found = parse_span(text, now)
    if found is None:
        return None
    form = "%Y-%m-%d %H:%M"
    return found[0].strftime(form), (found[1] - timedelta(minutes=1)).strftime(form)


def _day(day: str, last: str | None = None) -> tuple[str, str]:
    return f"{day} 00:00", f"{last or day} 23:59"


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("today", _day("2026-11-30")), ("今天", _day("2026-11-30")), ("Yesterday", _day("2026-11-29")), ("昨天", _day("2026-11-29")),
        ("前天", _day("2026-11-28")), ("tomorrow", _day("2026-12-01")), ("后天", _day("2026-12-02")), ("next week", _day("2026-12-07", "2026-12-13")), ("下个月", _day("2026-12-01", "2026-12-31")), ("下周三", _day("2026-12-09")), ("the day before yesterday", _day("2026-11-28")), ("3 days ago", _day("2026-11-27")),
        ("three days ago", _day("2026-11-27")), ("三天前", _day("2026-11-27")), ("two weeks ago", _day("2026-11-16")), ("两周前", _day("2026-11-16")),
        ("last week", _day("2026-11-23", "2026-11-29")), ("上周", _day("2026-11-23", "2026-11-29")), ("this week", _day("2026-11-30", "2026-12-06")),
        ("last month", _day("2026-10-01", "2026-10-31")), ("上个月", _day("2026-10-01", "2026-10-31")), ("this month", _day("2026-11-01", "2026-11-30")),
        ("last year", _day("2025-01-01", "2025-12-31")), ("去年", _day("2025-01-01", "2025-12-31")),
        ("last 7 days", _day("2026-11-24", "2026-11-30")), ("最近三天", _day("2026-11-28", "2026-11-30")), ("最近十二天", _day("2026-11-19", "2026-11-30")),
        ("Tuesday", _day("2026-11-24")), ("last Tuesday", _day("2026-11-24")), ("monday", _day("2026-11-30")), ("last monday", _day("2026-11-23")),
        ("上周二", _day("2026-11-24")), ("周一", _day("2026-11-30")), ("周三", _day("2026-11-25")), ("上周末", _day("2026-11-28", "2026-11-29")), ("May 2026", _day("2026-05-01", "2026-05-31")), ("五月", _day("2026-05-01", "2026-05-31")), ("12月", _day("2025-12-01", "2025-12-31")), ("5月6日", _day("2026-05-06")), ("May 5", _day("2026-05-05")), ("3 December", _day("2025-12-03")), ("上上周日", _day("2026-11-22")), ("星期天", _day("2026-11-29")),
        ("2026-05-03", _day("2026-05-03")), ("2026年5月3日", _day("2026-05-03")), ("May 3, 2026", _day("2026-05-03")),
        ("2026-02", _day("2026-02-01", "2026-02-28")), ("2026年2月", _day("2026-02-01", "2026-02-28")), ("2026", _day("2026-01-01", "2026-12-31")),
        ("2026-W01", _day("2025-12-29", "2026-01-04")),
    ],
)  # fmt: skip
def test_words_for_days(text: str, days: tuple[str, str]) -> None:
    assert _said(text) == days


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday afternoon", "2026-11-29 12:00", "2026-11-29 17:59"), ("昨天下午", "2026-11-29 12:00", "2026-11-29 17:59"), ("上周二上午", "2026-11-24 05:00", "2026-11-24 11:59"),
        ("last night", "2026-11-29 18:00", "2026-11-29 23:59"), ("昨晚", "2026-11-29 18:00", "2026-11-29 23:59"), ("this morning", "2026-11-30 05:00", "2026-11-30 11:59"),
        ("今早", "2026-11-30 05:00", "2026-11-30 11:59"), ("last Tuesday in the evening", "2026-11-24 18:00", "2026-11-24 23:59"), ("2026-05-03 morning", "2026-05-03 05:00", "2026-05-03 11:59"),
        ("last Tuesday night", "2026-11-24 18:00", "2026-11-24 23:59"), ("5月6日凌晨", "2026-05-06 00:00", "2026-05-06 05:59"),
    ],
)  # fmt: skip
def test_parts_of_days(text: str, first: str, last: str) -> None:
    assert _said(text) == (first, last)


@pytest.mark.parametrize("text", ["last week evening", "morning glory", "上周下午", "nice night"])
def test_what_names_no_day_has_no_part(text: str) -> None:
    assert _said(text) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("last Tuesday 15:00", "2026-11-24 15:00", "2026-11-24 15:00"), ("last Tuesday at 3pm", "2026-11-24 15:00", "2026-11-24 15:59"),
        ("上周二下午三点", "2026-11-24 15:00", "2026-11-24 15:59"), ("昨天下午三点半", "2026-11-29 15:30", "2026-11-29 15:30"),
        ("昨天晚上8点", "2026-11-29 20:00", "2026-11-29 20:59"), ("yesterday 9:05", "2026-11-29 09:05", "2026-11-29 09:05"),
        ("12am", "2026-11-30 00:00", "2026-11-30 00:59"), ("12 pm", "2026-11-30 12:00", "2026-11-30 12:59"),
        ("2026-05-03T15:00", "2026-05-03 15:00", "2026-05-03 15:00"), ("2026-05-03 15:00", "2026-05-03 15:00", "2026-05-03 15:00"),
        ("昨天晚上11点", "2026-11-29 23:00", "2026-11-29 23:59"), ("凌晨12点半", "2026-11-30 00:30", "2026-11-30 00:30"), ("中午12点", "2026-11-30 12:00", "2026-11-30 12:59"),
    ],
)  # fmt: skip
def test_words_for_times(text: str, first: str, last: str) -> None:
    assert _said(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "last",
        "13月3日",
        "晚上12点",
        "25:00",
        "2026-13",
        "2026-02-30",
        "some days ago",
        "上周八",
        "13pm",
        "last week 15:00",
        "0000",
    ],
)
def test_what_is_not_understood_is_no_guess(text: str) -> None:
    assert _said(text) is None


def test_a_day_of_the_users_zone_has_its_own_length() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = parse_span("2026-10-25", datetime(2026, 11, 1, tzinfo=berlin))
    assert found is not None and found[1].astimezone(UTC) - found[0].astimezone(UTC) == timedelta(hours=25)


@given(st.text(max_size=30), st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_any_text_gives_a_span_or_nothing(text: str, now: datetime) -> None:
    found = parse_span(text, now)
    assert found is None or found[0] < found[1]
