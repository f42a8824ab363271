"""Dates and times that people give to options."""

from __future__ import annotations

from datetime import datetime, tzinfo

import click

__all__ = ["moment"]


def moment(text: str | None, zone: tzinfo, option: str, *, end: bool = False) -> datetime | None:
    """An aware time out of a date or time; a bare date is its first or, for `end`, its last moment in the user's zone."""
    if text is None:
        return None
    from datetime import time as clock_time

    from sapwood.text.dates import parse_date

    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        parsed = parse_date(text, zone)
        if parsed is None:
            raise click.BadParameter(
                f"{text!r} is no date; write 2024-05-06, 2024-05-06T15:00 or 2024年5月6日", param_hint=option
            ) from None
        found = parsed.astimezone(zone)
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone)
    only_date = ":" not in text
    return datetime.combine(found.date(), clock_time.max, found.tzinfo) if end and only_date else found
