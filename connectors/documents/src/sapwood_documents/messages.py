"""Messages among the records of a JSON file: who said what and when, as exports of chats write them.

Read are flat records (`sender`, `text`, `time`) and those of Telegram's and Discord's exports, in which an author is an
object and a text a list of pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from sapwood.sdk import Segment, parse_date
from sapwood_documents.reading import LONGEST_DATE

TIME_NAME = re.compile(
    r"(?:time|date|created|updated|edited|modified|timestamp|_at$|At$|(?:^|_)ts(?:$|_)|epoch|usec)", re.IGNORECASE
)
ID_KEYS = ("id", "_id", "uuid", "dia_id", "message_id", "msg_id", "ts", "key", "guid")
_TEXT_KEYS = ("text", "content", "message", "body", "msg")
_AUTHOR_KEYS = ("speaker", "author", "sender", "from", "user_name", "username", "user", "name")
_NAME_KEYS = ("nickname", "display_name", "name", "username", "first_name")
_EXACT = re.compile(r"^\d{10,16}(?:\.\d+)?$|(?:Z|[+-]\d{2}:?\d{2})$")
# Of Telegram's export: fields that repeat others, or mean nothing outside of it.
_NOISE = frozenset(("type", "from_id", "text_entities", "actor_id", "date_unixtime", "edited_unixtime"))
_MOST = 0.8  # of the records are messages; an export also has notices such as "Anna joined"
_LONGEST_NAME = 80
_BETWEEN_CLOCKS = timedelta(hours=26)  # at most, of two zones


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `others` are the fields of its record that are none of text, author, id and the time of sending."""

    text: str
    author: str
    at: datetime
    others: dict[str, Any]


def is_talk(records: list[Any], zone: tzinfo) -> bool:
    """True when most of the records are dated messages: a text, an author, a time."""
    messages = sum(
        isinstance(r, dict) and bool(_text_key(r) and author_of(r)) and time_of(r, zone) is not None for r in records
    )
    return bool(records) and messages >= _MOST * len(records)


def as_message(record: Any, native_id: str, zone: tzinfo) -> Message | None:
    """The message of a record with the id under which it is kept; None when it is none."""
    if not isinstance(record, dict):
        return None
    text_key, author, times = _text_key(record), author_of(record), _times(record, zone)
    if not (text_key and author and times):
        return None
    at = _sent(times)
    said = {
        text_key,
        next(iter(times)),
        *(
            key for key, (when, _) in times.items() if when == at
        ),  # the same time once more, as `date_unixtime` beside `date`
        *(key for key in ID_KEYS if str(record.get(key)) == native_id),
        *(key for key in _AUTHOR_KEYS if _name(record.get(key)) == author),
        *(_NOISE if "text_entities" in record or "from_id" in record else ()),
    }
    others = {key: value for key, value in record.items() if key not in said and value not in (None, "", [], {})}
    return Message(_text(record[text_key]) or "", author, at, others)


def as_segment(message: Message, native_id: str, outline: Callable[[Any], Iterable[str]]) -> Segment:
    """Id, author and time stand in the message's heading and row; every other field follows its text."""
    return Segment(native_id, "\n".join([message.text, *outline(message.others)]), message.at, message.author)


def author_of(record: dict[str, Any]) -> str:
    """Who wrote a record; empty when it does not say."""
    return next((name for k in _AUTHOR_KEYS if (name := _name(record.get(k)))), "")


def time_of(record: dict[str, Any], zone: tzinfo) -> datetime | None:
    """The first moment among the fields that are named as times; where that names no zone, one beside it that is the same and leaves no
    doubt, as `date_unixtime` beside `date`."""
    times = _times(record, zone)
    return _sent(times) if times else None


def _text_key(record: dict[str, Any]) -> str:
    return next((key for key in _TEXT_KEYS if key in record and _text(record[key]) is not None), "")


def _times(record: dict[str, Any], zone: tzinfo) -> dict[str, tuple[datetime, bool]]:
    """The fields that are named as times and hold one, each with its moment, and whether it leaves no doubt of its zone."""
    return {
        key: (found, not isinstance(value, str) or bool(_EXACT.search(value)))
        for key, value in record.items()
        if TIME_NAME.search(str(key)) and (found := moment(value, zone))
    }


def _sent(times: dict[str, tuple[datetime, bool]]) -> datetime:
    first, is_exact = next(iter(times.values()))
    if is_exact:
        return first
    same = (when for when, sure in times.values() if sure and abs(when - first) <= _BETWEEN_CLOCKS)
    return next(same, first)


def moment(value: Any, zone: tzinfo) -> datetime | None:
    """A moment out of seconds, milliseconds or microseconds since 1970 (between 1990 and 2100), or out of a text that is a
    full date; a time without a zone is one of the user's clock."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"\d{10}(?:\.\d+)?|\d{13}|\d{16}", text):
            return moment(float(text) if "." in text else int(text), zone)
        return parse_date(text, zone) if len(text) <= LONGEST_DATE else None
    if not isinstance(value, int | float):
        return None
    for scale in (1, 1_000, 1_000_000):
        if 631_152_000 <= value / scale < 4_102_444_800:
            return datetime.fromtimestamp(value / scale, UTC)
    return None


def _name(value: Any) -> str:
    if isinstance(value, dict):
        value = next((value[k] for k in _NAME_KEYS if isinstance(value.get(k), str) and value[k].strip()), "")
    return " ".join(value.split())[:_LONGEST_NAME] if isinstance(value, str) else ""


def _text(value: Any) -> str | None:
    """A text, also one of pieces: texts, and objects with a text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        return None
    pieces = [piece.get("text") if isinstance(piece, dict) else piece for piece in value]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if len(texts) == len(pieces) else None
