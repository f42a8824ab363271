"""Days spelled out for the index."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo

from sapwood.sdk.dates import ENGLISH_MONTHS

_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_CHINESE_WEEKDAYS = ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"]


def date_words(moment: datetime, zone: tzinfo = UTC) -> str:
    """The ways in which people name a day, for the index: numbers with and without zero, month and weekday in both
    languages. Few words, since they count in the length of every passage."""
    day: date = moment.astimezone(zone).date()
    month = ENGLISH_MONTHS[day.month - 1].capitalize()
    return f"{day.isoformat()} {day.day} {month} {day.month}月 {_WEEKDAYS[day.weekday()]} {_CHINESE_WEEKDAYS[day.weekday()]}"
