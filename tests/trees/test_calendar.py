"""Days, ISO weeks, and months and years by the week's Thursday."""

from __future__ import annotations

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trees.calendar import cover, day_bounds_ms, days_between, days_of, level_of, parent_of, parts_of, title_of

DAYS = st.dates(date(1970, 1, 1), date(2100, 1, 1))


@pytest.mark.parametrize(
    ("key", "parent"),
    [("2026-11-30", "2026-W49"), ("2026-W49", "2026-12"), ("2026-12", "2026"), ("2026", None), ("2027-01-01", "2026-W53"), ("2026-W53", "2026-12"), ("2026-W01", "2026-01")],
)  # fmt: skip
def test_a_period_belongs_to_the_next_longer_one_by_its_thursday(key: str, parent: str | None) -> None:
    assert parent_of(key) == parent


def test_a_week_names_its_first_and_last_day() -> None:
    assert title_of("2026-W49") == "2026-W49 (2026-11-30 – 2026-12-06)"


@given(DAYS)
def test_every_day_is_in_exactly_one_week_month_and_year(day: date) -> None:
    key = day.isoformat()
    while (parent := parent_of(key)) is not None:
        assert key in parts_of(parent) and day in days_of(parent)
        key = parent
    assert level_of(key) == 3


@given(
    DAYS, st.integers(0, 900), st.sets(st.sampled_from(["2020-W10", "2020-03", "2020", "2020-W11", "2021-05", "2019"]))
)
def test_a_cover_holds_exactly_the_days_that_are_asked_for_once(first: date, length: int, known: set[str]) -> None:
    last = first + timedelta(days=length)
    covered = [day for key in cover(first, last, known) for day in days_of(key)]
    assert covered == list(days_between(first, last))


def test_a_cover_takes_the_longest_periods_that_are_known() -> None:
    known = {"2026-W18", "2026-W19", "2026-05-11"}
    assert cover(date(2026, 4, 26), date(2026, 5, 12), known) == [
        "2026-04-26",
        "2026-W18",
        "2026-W19",
        "2026-05-11",
        "2026-05-12",
    ]
    assert cover(date(2025, 12, 29), date(2027, 1, 3), {"2026"}) == ["2026"]


def test_a_day_may_have_23_or_25_hours() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    hours = [
        (end - start) / 3_600_000
        for start, end in (day_bounds_ms(date(2026, *day), berlin) for day in ((3, 29), (10, 25), (5, 3)))
    ]
    assert hours == [23, 25, 24]
