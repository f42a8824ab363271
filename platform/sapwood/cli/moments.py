"""Dates and times that people give to options."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta, tzinfo

import click

__all__ = ["days", "hours", "window", "with_time"]

_WAYS = "2024-05-06, 2024-05, 2024-W19, 2024-05-06T15:00, May 2024, 2024年5月6日, yesterday, last week, last Tuesday 15:00, 上周二下午三点"


def with_time(command: Callable[..., None]) -> Callable[..., None]:
    """`--since`, `--until` and `--on`; `window` reads them."""
    for option in (
        click.option(
            "--on", help="A date, a time or words for one or several days: 2026-05-03, yesterday, 上周二下午三点."
        ),
        click.option("--until", help="Not after this date or time."),
        click.option("--since", help="Not before this date or time."),
    ):
        command = option(command)
    return command


def window(
    since: str | None, until: str | None, on: str | None, zone: tzinfo
) -> tuple[datetime | None, datetime | None]:
    """First and last moment of what was asked for, aware; None for an open end."""
    if on is not None and (since is not None or until is not None):
        raise click.BadParameter("use it alone, or --since with --until", param_hint="--on")
    if on is not None:
        first, after = _asked(on, zone, "--on")
        return first, after - timedelta(microseconds=1)
    return _moment(since, zone, "--since"), _moment(until, zone, "--until", end=True)


def _moment(text: str | None, zone: tzinfo, option: str, *, end: bool = False) -> datetime | None:
    """An aware time out of a date, a time or words: the first moment of what they mean, or for `end` the last one."""
    if text is None:
        return None
    first, after = _span(text, zone, option)
    return after - timedelta(microseconds=1) if end else first


def days(text: str, zone: tzinfo, option: str) -> tuple[date, date]:
    """First and last local day of what a date, a time or words mean."""
    first, after = _span(text, zone, option)
    return first.date(), (after - timedelta(microseconds=1)).date()


def hours(text: str, zone: tzinfo, option: str) -> tuple[datetime, datetime] | None:
    """First moment and the one after the last of what an hour or a time of a day means; None for whole days."""
    first, after = _asked(text, zone, option)
    return None if (first.time(), after.time()) == (time.min, time.min) else (first, after)


def _asked(text: str, zone: tzinfo, option: str) -> tuple[datetime, datetime]:
    """What somebody asks for who names a time: 15:00 is the hour that begins then, 15:20 that minute."""
    first, after = _span(text, zone, option)
    if after - first == timedelta(minutes=1) and not first.minute:
        after = first + timedelta(hours=1)
    return first, after


def _span(text: str, zone: tzinfo, option: str) -> tuple[datetime, datetime]:
    from sapwood.clock import now
    from sapwood.text.spans import parse_span

    found = parse_span(text, now().astimezone(zone))
    if found is None:
        raise click.BadParameter(f"{text!r} is no date; write {_WAYS}", param_hint=option)
    return found
