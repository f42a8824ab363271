"""Spans of time as people say them: dates, times and words, in English and Chinese.

A span is `[start, end)`, aware, in the user's zone. A day is a whole local day, a clock time without minutes an hour, one
with minutes a minute, a part of a day (`昨天下午`) the hours that the table below gives it. What is not understood is None, never a guess.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, tzinfo

from sapwood.sdk.dates import MONTH_NUMBER, parse_date

__all__ = ["Span", "parse_span"]

Span = tuple[datetime, datetime]
_DAY = timedelta(days=1)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = {name[:length]: n for n, name in enumerate(_WEEKDAYS) for length in (3, len(name))} | {
    "tues": 1,
    "thur": 3,
    "thurs": 3,
}
_CHINESE_WEEKDAY = {
    sign: n for n, signs in enumerate(("一1", "二2", "三3", "四4", "五5", "六6", "日天7")) for sign in signs
}
_NUMBERS = {
    "a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_CHINESE_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_N = r"(\d{1,4}|[a-z]+|[一二两三四五六七八九十]{1,3})"
_UNIT = {"day": 1, "week": 7, "天": 1, "日": 1, "周": 7, "星期": 7, "个星期": 7, "礼拜": 7}
_AGO = re.compile(rf"{_N} (day|week)s? ago|{_N}(天|日|周|个?星期)(?:以)?前")
_LAST_N = re.compile(rf"(?:the )?(?:last|past) {_N} (day|week)s?|(?:最近|过去|近){_N}(天|日|周|个?星期)")
_ENGLISH_CLOCK = re.compile(r"(?:^| )(?:at )?(?:(\d{1,2})(?::(\d{2}))? ?(am|pm)|(\d{1,2}):(\d{2}))$")
_CHINESE_CLOCK = re.compile(
    r"(凌晨|早上|上午|中午|下午|傍晚|晚上)?(\d{1,2}|[一二两三四五六七八九十]{1,3})(?:点|點|时|時|[:：])(半|\d{1,2}|[一二三四五六七八九十]{1,3})?分?$"
)
_PARTS = {
    "morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24),
    "凌晨": (0, 6), "早上": (5, 12), "早晨": (5, 12), "上午": (5, 12), "中午": (11, 14), "下午": (12, 18), "傍晚": (17, 20), "晚上": (18, 24), "夜里": (18, 24),
}  # fmt: skip
_PART = re.compile(f"(?:{'|'.join(_PARTS)})$")
_SHORT_PARTS = {"last night": "yesterday night", "tonight": "today night", "昨晚": "昨天晚上", "昨夜": "昨天夜里", "今晚": "今天晚上", "今早": "今天早上", "前晚": "前天晚上"}  # fmt: skip
_PLAIN_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{4}\s*年\s*\d{1,2}\s*月\s*\d{1,2}\s*[日号]")
_MONTH = re.compile(r"(\d{4})-(\d{1,2})|(\d{4})\s*年\s*(\d{1,2})\s*月份?")
_YEAR = re.compile(r"(\d{4})\s*年?")
_WEEK = re.compile(r"(\d{4})-w(\d{1,2})")


def parse_span(text: str, now: datetime) -> Span | None:
    """What a date, a time or words mean at a moment.

    Args:
        text: `2026-05-03`, `2026-05-03 15:00`, `2026-05`, `2026-W18`, `last Tuesday 15:00`, `3 days ago`, `昨天`, `上周二下午三点`.
        now: aware, in the user's zone.
    """
    try:
        return _parse(text, now)
    except OverflowError:
        return None  # beyond the calendar


def _parse(text: str, now: datetime) -> Span | None:
    words = " ".join(text.strip().lower().split())
    zone = now.tzinfo
    assert zone is not None
    if days := _days(words, now.date()):
        return _whole(*days, zone)
    for clock, pattern in ((_english_clock, _ENGLISH_CLOCK), (_chinese_clock, _CHINESE_CLOCK)):
        if match := pattern.search(words):
            rest = words[: match.start()].strip().removesuffix(" at").rstrip(",的 ")
            days = _days(rest, now.date()) if rest else (now.date(), now.date())
            found = clock(match)
            if days and days[0] == days[1] and found:
                return _hour(days[0], *found, zone)
    return _part_of_day(words, now.date(), zone) or _written(text, zone)


_FULL_HOUR = re.compile(r"\dT\d{2}$")


def _written(text: str, zone: tzinfo) -> Span | None:
    """A date or a time that is written out in full."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        parsed = parse_date(text, zone)
        if parsed is None:
            return None
        found = parsed.astimezone(zone)
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone)
    if _FULL_HOUR.search(text):
        return found, found + timedelta(hours=1)
    if ":" not in text and "：" not in text:
        return _whole(found.date(), found.date(), zone)
    return found, found + timedelta(minutes=1 if not found.second else 0, seconds=1 if found.second else 0)


def _whole(first: date, last: date, zone: tzinfo) -> Span:
    return datetime.combine(first, time.min, zone), datetime.combine(last + _DAY, time.min, zone)


def _hour(day: date, hour: int, minute: int | None, zone: tzinfo) -> Span:
    start = datetime.combine(day, time(hour, minute or 0), zone)
    return start, start + (timedelta(hours=1) if minute is None else timedelta(minutes=1))


def _part_of_day(words: str, today: date, zone: tzinfo) -> Span | None:
    """A morning, an afternoon, an evening or a night, which ends at midnight."""
    words = _SHORT_PARTS.get(words, words)
    match = _PART.search(words)
    if match is None:
        return None
    rest = words[: match.start()].strip().removesuffix(" in the").rstrip(",的 ")
    days = (today, today) if rest in ("", "this") else _days(rest, today)
    if days is None or days[0] != days[1]:
        return None
    first, last = _PARTS[match[0]]
    start = datetime.combine(days[0], time(first), zone)
    end = datetime.combine(days[0], time(last), zone) if last < 24 else datetime.combine(days[0] + _DAY, time.min, zone)
    return start, end


def _days(words: str, today: date) -> tuple[date, date] | None:
    """First and last day of what words mean, None when they mean no days."""
    back = {
        "today": 0, "今天": 0, "今日": 0, "yesterday": 1, "昨天": 1, "昨日": 1, "the day before yesterday": 2, "day before yesterday": 2, "前天": 2, "大前天": 3,
        "tomorrow": -1, "明天": -1, "明日": -1, "the day after tomorrow": -2, "后天": -2,
    }.get(words)  # fmt: skip
    if back is not None:
        day = today - back * _DAY
        return day, day
    return (
        _calendar(words, today)
        or _counted(words, today)
        or _weekday(words, today)
        or _named(words)
        or _without_year(words, today)
    )


def _calendar(words: str, today: date) -> tuple[date, date] | None:
    monday = today - today.weekday() * _DAY
    if words in ("this week", "本周", "这周", "这星期", "这个星期", "本星期"):
        return monday, monday + 6 * _DAY
    if words in ("last week", "上周", "上星期", "上个星期", "上礼拜"):
        return monday - 7 * _DAY, monday - _DAY
    if words in ("上上周", "the week before last"):
        return monday - 14 * _DAY, monday - 8 * _DAY
    if words in ("next week", "下周", "下星期", "下个星期", "下礼拜"):
        return monday + 7 * _DAY, monday + 13 * _DAY
    first = today.replace(day=1)
    if words in ("next month", "下个月", "下月"):
        after = (first + 31 * _DAY).replace(day=1)
        return after, _month_end(after)
    if words in ("this month", "本月", "这个月", "这月"):
        return first, _month_end(first)
    if words in ("last month", "上个月", "上月"):
        before = (first - _DAY).replace(day=1)
        return before, _month_end(before)
    if words in ("this year", "今年", "本年"):
        return date(today.year, 1, 1), date(today.year, 12, 31)
    if words in ("last year", "去年"):
        return date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)
    if words in ("last weekend", "上周末", "上个周末"):
        return monday - 2 * _DAY, monday - _DAY
    if words in ("this weekend", "周末", "这个周末", "这周末", "本周末"):
        return monday + 5 * _DAY, monday + 6 * _DAY
    if words == "前年":
        return date(today.year - 2, 1, 1), date(today.year - 2, 12, 31)
    return None


def _month_end(first: date) -> date:
    return (first + 31 * _DAY).replace(day=1) - _DAY


def _counted(words: str, today: date) -> tuple[date, date] | None:
    if match := _AGO.fullmatch(words):
        number, unit = match[1] or match[3], match[2] or match[4]
        count = _number(number)
        if count is not None:
            day = today - count * _UNIT[unit] * _DAY
            return day, day
    if match := _LAST_N.fullmatch(words):
        number, unit = match[1] or match[3], match[2] or match[4]
        count = _number(number)
        if count:
            return today - (count * _UNIT[unit] - 1) * _DAY, today
    return None


def _weekday(words: str, today: date) -> tuple[date, date] | None:
    """A weekday is the last one that has been; `last` and 上 that of the week before only in Chinese, where it is meant so."""
    if match := re.fullmatch(r"(?:on |last |this past )?([a-z]+)", words):
        number = _WEEKDAY.get(match[1])
        if number is None:
            return None
        back = (today.weekday() - number) % 7
        day = today - (back or (7 if words.startswith(("last", "this past")) else 0)) * _DAY
        return day, day
    if match := re.fullmatch(r"(上上|上个?|下个?|这个?|本)?(?:周|星期|礼拜)([一二三四五六日天1-7])", words):
        monday = today - today.weekday() * _DAY
        weeks = {"上上": 2, "上": 1, "上个": 1, "下": -1, "下个": -1}.get(match[1] or "", 0)
        day = monday - 7 * weeks * _DAY + _CHINESE_WEEKDAY[match[2]] * _DAY
        if match[1] is None and day > today:
            day -= 7 * _DAY  # people ask for what has been
        return day, day
    return None


def _named(words: str) -> tuple[date, date] | None:
    """A month, a week or a year by its number."""
    try:
        if match := _MONTH.fullmatch(words):
            first = date(int(match[1] or match[3]), int(match[2] or match[4]), 1)
            return first, _month_end(first)
        if match := _WEEK.fullmatch(words):
            monday = date.fromisocalendar(int(match[1]), int(match[2]), 1)
            return monday, monday + 6 * _DAY
        if match := _YEAR.fullmatch(words):
            return date(int(match[1]), 1, 1), date(int(match[1]), 12, 31)
        if _PLAIN_DATE.fullmatch(words):
            year, month, day = (int(n) for n in re.findall(r"\d+", words))
            return date(year, month, day), date(year, month, day)
    except (ValueError, OverflowError):
        pass
    return None


def _without_year(words: str, today: date) -> tuple[date, date] | None:
    """A month or a day of one without its year: the last one that has been; a month may have a year too."""
    year: int | None = None
    if match := re.fullmatch(r"([a-z]+)\.?(?: (\d{1,2})(?:st|nd|rd|th)?)?(?:,? (\d{4}))?", words):
        month, day_of, year = MONTH_NUMBER.get(match[1]), match[2], int(match[3]) if match[3] else None
    elif match := re.fullmatch(r"(?:(\d{1,2})(?:st|nd|rd|th)? )([a-z]+)\.?(?: (\d{4}))?", words):
        month, day_of, year = MONTH_NUMBER.get(match[2]), match[1], int(match[3]) if match[3] else None
    elif match := re.fullmatch(
        r"(\d{1,2}|[一二三四五六七八九十]{1,2})月(?:份|(\d{1,2}|[一二三四五六七八九十]{1,3})[日号])?", words
    ):
        number = _number(match[1])
        month, day_of = (
            number if number and 1 <= number <= 12 else None,
            str(_number(match[2]) or "") if match[2] else None,
        )
    else:
        return None
    if month is None:
        return None
    try:
        for chosen in (year,) if year else (today.year, today.year - 1):
            first = date(chosen, month, int(day_of) if day_of else 1)
            if year or first <= today:
                return first, first if day_of else _month_end(first)
    except ValueError:
        pass
    return None


def _number(text: str) -> int | None:
    if text.isdigit():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    if not all(sign in _CHINESE_DIGITS or sign == "十" for sign in text) or not text:
        return None
    tens, has_ten, ones = text.partition("十")
    if not has_ten:
        return _CHINESE_DIGITS[text] if len(text) == 1 else None
    return 10 * _CHINESE_DIGITS.get(tens, 1) + _CHINESE_DIGITS.get(ones, 0)


def _english_clock(match: re.Match[str]) -> tuple[int, int | None] | None:
    if match[4]:
        hour, minute = int(match[4]), int(match[5])
        return (hour, minute) if hour < 24 and minute < 60 else None
    hour, minute_of = int(match[1]), int(match[2]) if match[2] else None
    if not 1 <= hour <= 12 or (minute_of or 0) > 59:
        return None
    return hour % 12 + (12 if match[3] == "pm" else 0), minute_of


def _chinese_clock(match: re.Match[str]) -> tuple[int, int | None] | None:
    hour = _number(match[2])
    minute = 30 if match[3] == "半" else _number(match[3]) if match[3] else None
    if hour is None or hour > 23 or (minute or 0) > 59:
        return None
    if (match[1] in ("下午", "傍晚", "晚上") and hour < 12) or (match[1] == "中午" and hour < 11):
        hour += 12
    elif match[1] == "凌晨" and hour == 12:
        hour = 0
    elif match[1] == "晚上" and hour == 12:
        return None  # midnight, of which day nobody can tell
    return hour, minute
