"""Dates and times that people give to options."""

from __future__ import annotations

from datetime import date, datetime, timedelta, tzinfo

import click

__all__ = ["days", "moment"]

_WAYS = "2024-05-06, 2024-05, 2024-W19, 2024-05-06T15:00, May 2024, 2024年5月6日, yesterday, last week, last Tuesday 15:00, 上周二下午三点"


def moment(text: str | None, zone: tzinfo, option: str, *, end: bool = False) -> datetime | None:
    """An aware time out of a date, a time or words: the first moment of what they mean, or for `end` the last one."""
    if text is None:
        return None
    first, after = _span(text, zone, option)
    return after - timedelta(microseconds=1) if end else first


def days(text: str, zone: tzinfo, option: str) -> tuple[date, date]:
    """First and last local day of what a date, a time or words mean."""
    first, after = _span(text, zone, option)
    return first.date(), (after - timedelta(microseconds=1)).date()


def _span(text: str, zone: tzinfo, option: str) -> tuple[datetime, datetime]:
    from sapwood.clock import now
    from sapwood.text.spans import parse_span

    found = parse_span(text, now().astimezone(zone))
    if found is None:
        raise click.BadParameter(f"{text!r} is no date; write {_WAYS}", param_hint=option)
    return found
