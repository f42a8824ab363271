"""Reading a text file whole, within its limit, and the date that it gives itself at its beginning."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from itertools import islice

from sapwood.sdk import ConvertError, ConvertFile, decode_text, parse_date

LONGEST_DATE = 60  # characters of a text that is a date and nothing else
_FIRST_LINES = 8  # in which a note names its date
_DATE_LABEL = re.compile(
    r"^[\s#>*_-]*(?:date|datum|fecha|日期|时间|時間)[\s*_]*[:：][\s*_]*(?P<date>\S.*)$", re.IGNORECASE
)
_DATE_WORDS = re.compile(
    r"\b(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?|wed|sat|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|[ap]\.?m|on|of)\b|(?<=\d)(?:st|nd|rd|th)\b"
    r"|(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]|上午|下午|晚上|凌晨|中午|[年月日号號〇一二三四五六七八九十]|民[國国]",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"[\d\s#*_/.,:：()（）+TZ-]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def read_bytes(file: ConvertFile) -> bytes:
    """The bytes of a plain file.

    Raises:
        ConvertError: it is larger than the limit for plain files.
    """
    limit = file.limits.text_bytes
    if file.size > limit:
        raise ConvertError(
            "too_large",
            f"is a plain file of {file.size / 1e6:,.0f} MB, over the limit of {limit / 1e6:,.0f} MB",
            "Split it, or raise max_text_mb of its connection.",
        )
    with open(file.path, "rb") as stream:
        return stream.read(limit + 1)


def read_text(file: ConvertFile, declared: str = "") -> str:
    """The text of a plain file, decoded by the ladder.

    Raises:
        ConvertError: it is too large, or no text at all.
    """
    data = read_bytes(file)
    text, _ = decode_text(data, declared)
    if not is_text(text):
        raise ConvertError("binary", "is not text although its name says so", "Give it the extension of its real type.")
    return text


def is_text(text: str) -> bool:
    """False when more than one character in a hundred of the start is a control character or undecodable."""
    sample = text[:20_000]
    bad = len(_CONTROLS.findall(sample)) + sample.count("\ufffd")
    return bad <= len(sample) / 100


def date_line(text: str, zone: tzinfo) -> datetime | None:
    """The date of a line `Date: …` or `日期：…` among the first lines, or of a first line that is a date and nothing else."""
    lines = islice((line for line in text[:4000].split("\n") if line.strip()), _FIRST_LINES)
    for number, line in enumerate(lines):
        if len(line) > LONGEST_DATE:
            continue
        label = _DATE_LABEL.match(line)
        alone = number == 0 and _NUMBERS.fullmatch(_DATE_WORDS.sub("", line))
        if (label or alone) and (moment := parse_date(label["date"] if label else line, zone)):
            return moment
    return None
