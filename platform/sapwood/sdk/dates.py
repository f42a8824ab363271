"""Dates in text, read with their certainty.

A date is only returned when its parts leave no doubt; "4月20日" without a year, 05/06/2024 and two-digit years are
not guessed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

ENGLISH_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
MONTH_NUMBER = {name[:length]: i for i, name in enumerate(ENGLISH_MONTHS, 1) for length in (3, len(name))} | {"sept": 9}
_CHINESE_DIGITS = str.maketrans("〇零○一二三四五六七八九", "000123456789")
_WIDE_DIGITS = str.maketrans("０１２３４５６７８９：／－．", "0123456789:/-.")

_CLOCK = r"(?:[T\s,]*(?P<mark>上午|下午|晚上|凌晨|中午)?\s*(?P<hour>\d{1,2})[:：](?P<minute>\d{2})(?:[:：](?P<second>\d{2})(?:[.,]\d+)?)?\s*(?P<ampm>[AaPp]\.?[Mm]\b\.?)?\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
_ISO = re.compile(
    r"(?<![\d/.-])(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})(?![\d-])" + _CLOCK
)
_CHINESE = re.compile(r"(?<!\d)(?P<year>\d{4})\s*年\s*(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号號]" + _CLOCK)
_MINGUO = re.compile(r"民[國国]\s*(?P<year>\d{1,3})\s*年\s*(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*日" + _CLOCK)
_CHINESE_NUMERALS = re.compile(
    r"([〇零○一二三四五六七八九]{4})年([一二三四五六七八九十]{1,3})月([一二三四五六七八九十]{1,3})[日号]"
)
_LEAD = r"(?:(?P<lead_hour>\d{1,2}):(?P<lead_minute>\d{2})\s*(?P<lead_ampm>[AaPp]\.?[Mm]\.?)?,?\s+(?:on\s+)?)?"
_DAY_MONTH = re.compile(
    _LEAD + r"\b(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?P<name>[A-Za-z]{3,9})\.?,?\s+(?P<year>\d{4})\b" + _CLOCK
)
_MONTH_DAY = re.compile(
    _LEAD + r"\b(?P<name>[A-Za-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})\b" + _CLOCK
)

_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d\d)([01]\d)([0-3]\d)(?!\d)")
_DAYS_IN_NAMES = [
    re.compile(r"(?<!\d)\d{4}(?P<sep>[-/.])\d{1,2}(?P=sep)\d{1,2}(?!\d)"),
    re.compile(r"(?<!\d)\d{4}\s*年\s*\d{1,2}\s*月\s*\d{1,2}\s*[日号號]"),
    re.compile(r"\b\d{1,2}(?:st|nd|rd|th)?[ -][A-Za-z]{3,9}[ -]\d{4}\b"),
    re.compile(r"\b[A-Za-z]{3,9}[ -]\d{1,2}(?:st|nd|rd|th)?,?[ -]\d{4}\b"),
]


def aware(moment: datetime, zone: tzinfo) -> datetime:
    """The moment itself when it has a zone, else the time of the clock of `zone` that it names."""
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def parse_date(text: str, zone: tzinfo = UTC) -> datetime | None:
    """The first full date of a text, aware, in UTC; a date without a time is midnight in `zone`.

    Reads ISO 8601, `2024/3/5 下午3:05`, `2019 年 10 月 30 日`, `二〇二四年三月五日`, `民國113年3月5日`, full-width digits,
    `8 May 2023`, `1:56 pm on 8 May, 2023` and `May 8, 2023`, each with an optional time of day. Everything else is None.
    """
    text = _chinese_numerals(text.translate(_WIDE_DIGITS))
    best: tuple[int, datetime] | None = None
    for pattern in (_ISO, _CHINESE, _MINGUO, _DAY_MONTH, _MONTH_DAY):
        match = pattern.search(text)
        if match and (moment := _moment(match, zone, pattern is _MINGUO)) and (best is None or match.start() < best[0]):
            best = (match.start(), moment)
    return best[1] if best else None


def date_in_name(name: str, zone: tzinfo = UTC) -> datetime | None:
    """Midnight in `zone` of the one day that a file's name holds: `2024-03-05`, `2024.3.5`, `20240305`, `2024年3月5日`, `5 March 2024`.

    None when it holds no full date, more than one, or one before 1970 or after 2099.
    """
    plain = _chinese_numerals(_COMPACT.sub(r"\1-\2-\3 ", name).replace("_", " "))
    written = [match.group(0) for pattern in _DAYS_IN_NAMES for match in pattern.finditer(plain)]
    # "5-March-2024" is read with blanks; in a date of numbers the hyphens are its own
    found = (parse_date(day.replace("-", " ") if re.search("[A-Za-z]", day) else day, zone) for day in written)
    days = {day for day in found if day is not None}
    if len(days) != 1:
        return None
    day = days.pop()
    return day if 1970 <= day.astimezone(zone).year <= 2099 else None


def _chinese_numerals(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        year, month, day = match.groups()
        return f"{year.translate(_CHINESE_DIGITS)}年{_small_number(month)}月{_small_number(day)}日"

    return _CHINESE_NUMERALS.sub(plain, text)


def _small_number(numeral: str) -> int:
    """1 to 99 written as 五, 十二, 三十, 三十一."""
    tens, ten, ones = numeral.partition("十")
    if not ten:
        return int(numeral.translate(_CHINESE_DIGITS))
    return 10 * (int(tens.translate(_CHINESE_DIGITS)) if tens else 1) + (
        int(ones.translate(_CHINESE_DIGITS)) if ones else 0
    )


def _moment(match: re.Match[str], zone: tzinfo, minguo: bool) -> datetime | None:
    part = match.groupdict()
    month = MONTH_NUMBER.get(part["name"].lower()) if "name" in part else int(part["month"])
    if month is None:
        return None
    year = int(part["year"]) + (1911 if minguo else 0)
    if not 1000 <= year <= 2999:
        return None
    lead = "lead_" if part["hour"] is None and part.get("lead_hour") else ""
    hour, minute, second = int(part[f"{lead}hour"] or 0), int(part[f"{lead}minute"] or 0), int(part["second"] or 0)
    half = (part[f"{lead}ampm"] or "")[:1].lower()
    afternoon = part["mark"] in ("下午", "晚上") or half == "p"
    morning = part["mark"] in ("上午", "凌晨") or half == "a"
    if afternoon and hour < 12:
        hour += 12
    if morning and hour == 12:
        hour = 0
    try:
        moment = datetime(year, month, int(part["day"]), hour, minute, second, tzinfo=_zone_of(part["zone"], zone))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone_of(mark: str | None, default: tzinfo) -> tzinfo:
    if not mark:
        return default
    if mark == "Z":
        return UTC
    sign = -1 if mark[0] == "-" else 1
    digits = mark[1:].replace(":", "")
    return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
