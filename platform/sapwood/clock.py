"""Time: one place that reads the clock, so that tests can set it, and the conversions of epoch milliseconds."""

from __future__ import annotations

import contextlib
import math
import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sapwood.errors import ConfigurationError

_LOCALTIME = "/etc/localtime"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.fromtimestamp(time.time(), UTC)


def now_ms() -> int:
    """The present moment in milliseconds since the epoch."""
    return int(time.time() * 1000)


def to_ms(moment: datetime) -> int:
    """Milliseconds since the epoch; exact for every year that datetime can hold.

    Raises:
        ValueError: the moment has no zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def from_ms(milliseconds: int) -> datetime:
    """The inverse of `to_ms`, in UTC."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def iso_z(moment: datetime) -> str:
    """RFC 3339 in UTC with whole seconds and a `Z`, as headings of chats carry it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def retry_after(value: str | None) -> float | None:
    """The seconds of an HTTP header Retry-After (RFC 9110, 10.2.3), a number or a date; None without one, or for one that is neither."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        from email.utils import parsedate_to_datetime  # takes as long to import as all else here

        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now()).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def zone(name: str) -> tzinfo:
    """The zone of a setting: an IANA name, `UTC`, or empty for the machine's own zone.

    Raises:
        ConfigurationError: the name is not known.
    """
    if not name:
        return _machine_zone()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigurationError(
            f"timezone = {name!r}", "this zone is not known", "Use an IANA name such as Europe/Berlin or Asia/Shanghai."
        ) from error


def _machine_zone() -> tzinfo:
    """The machine's zone with its changes of the clock, where it can be told; else the offset of today."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name and os.path.exists(_LOCALTIME):
        name = os.path.realpath(_LOCALTIME).partition("zoneinfo/")[2]
    if name:
        with contextlib.suppress(ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo(name)
    return datetime.now().astimezone().tzinfo or UTC
