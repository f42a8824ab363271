"""The calendar of the global tree: days make ISO weeks, weeks make months and years by their Thursday.

A period has a key: `2026-11-30`, `2026-W49`, `2026-12`, `2026`. All days are local days.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta, tzinfo

from sapwood.clock import to_ms

__all__ = [
    "LEVELS",
    "cover",
    "day_bounds_ms",
    "days_between",
    "days_of",
    "level_of",
    "parent_of",
    "parts_of",
    "title_of",
]

LEVELS = {"day": 0, "week": 1, "month": 2, "year": 3}
_DAY = timedelta(days=1)
_KEYS = (
    re.compile(r"\d{4}-\d{2}-\d{2}"), re.compile(r"\d{4}-W\d{2}"), re.compile(r"\d{4}-\d{2}"), re.compile(r"\d{4}"),
)  # fmt: skip


def level_of(key: str) -> int:
    """0 for a day, 1 for a week, 2 for a month, 3 for a year.

    Raises:
        ValueError: it is no period's key.
    """
    for level, pattern in enumerate(_KEYS):
        if pattern.fullmatch(key):
            return level
    raise ValueError(f"{key!r} is no day, week, month or year")


def _week_key(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


def parent_of(key: str) -> str | None:
    """The period that a period belongs to; None for a year."""
    level = level_of(key)
    if level == 0:
        return _week_key(date.fromisoformat(key))
    if level == 1:
        return _thursday(key).isoformat()[:7]
    return key[:4] if level == 2 else None


def _thursday(week: str) -> date:
    return date.fromisocalendar(int(week[:4]), int(week[6:]), 4)


def days_of(key: str) -> list[date]:
    """The days that a period tells of: of a month those of the weeks whose Thursday lies in it."""
    level = level_of(key)
    if level == 0:
        return [date.fromisoformat(key)]
    if level == 1:
        monday = _thursday(key) - 3 * _DAY
        return [monday + n * _DAY for n in range(7)]
    return [day for part in parts_of(key) for day in days_of(part)]


def parts_of(key: str) -> list[str]:
    """The periods that a period is made of; none for a day."""
    level = level_of(key)
    if level == 0:
        return []
    if level == 1:
        return [day.isoformat() for day in days_of(key)]
    if level == 3:
        return [f"{key}-{month:02d}" for month in range(1, 13)]
    first = date.fromisoformat(f"{key}-01")
    thursday = first + ((3 - first.weekday()) % 7) * _DAY
    weeks = []
    while thursday.month == first.month:
        weeks.append(_week_key(thursday))
        thursday += 7 * _DAY
    return weeks


def title_of(key: str) -> str:
    """A period as a person reads it; one of several days names its first and last."""
    if level_of(key) == 0:
        return key
    days = days_of(key)
    return f"{key} ({days[0].isoformat()} – {days[-1].isoformat()})"


def day_bounds_ms(day: date, zone: tzinfo) -> tuple[int, int]:
    """First moment of a local day, and first moment of the next one, in milliseconds; a day may have 23 or 25 hours."""
    start = datetime.combine(day, time.min, zone)
    end = datetime.combine(day + _DAY, time.min, zone) if day < date.max else datetime.combine(day, time.max, zone)
    return to_ms(start), to_ms(end)


def days_between(first: date, last: date) -> Iterator[date]:
    """Every day from the first to the last."""
    day = first
    while day <= last:
        yield day
        day += _DAY


def cover(first: date, last: date, known: Iterable[str]) -> list[str]:
    """The fewest periods that cover exactly these days, in order: a longer one where it is known and lies within."""
    there = set(known)
    found: list[str] = []
    day = first
    while day <= last:
        key = day.isoformat()
        chosen = key
        while (parent := parent_of(key)) is not None:
            if parent in there and (days := days_of(parent))[0] == day and days[-1] <= last:
                chosen = parent
            key = parent
        found.append(chosen)
        day = days_of(chosen)[-1] + _DAY
    return found
