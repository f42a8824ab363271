"""Messages among the records of a JSON file: who said what and when, as exports of chats write them.

Read are flat records (`sender`, `text`, `time`) and those of Telegram's and Discord's exports, in which an author is an
object and a text a list of pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
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
_NOISE = (
    "type",
    "from_id",
    "text_entities",
    "actor_id",
    "date_unixtime",
    "edited_unixtime",
)  # of Telegram's export, beside what they repeat
_MOST = 0.8  # of the records are messages; an export also has notices such as "Anna joined"
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `others` are the fields of its record that are none of text, author, id and the time of sending."""

    text: str
    author: str
    at: datetime
    others: dict[str, Any]


def is_talk(records: list[Any], zone: tzinfo) -> bool:
    """True when most of the records are dated messages: a text, an author, a time."""
    return bool(records) and sum(as_message(r, "", zone) is not None for r in records) >= _MOST * len(records)


def as_message(record: Any, native_id: str, zone: tzinfo) -> Message | None:
    """The message of a record with the id under which it is kept; None when it is none."""
    if not isinstance(record, dict):
        return None
    text_key = next((k for k in _TEXT_KEYS if k in record and _text(record[k]) is not None), "")
    author, at = author_of(record), time_of(record, zone)
    if not (text_key and author and at):
        return None
    said = {
        text_key,
        *(k for k in ID_KEYS if str(record.get(k)) == native_id),
        *(k for k in _AUTHOR_KEYS if _name(record.get(k)) == author),
    }
    noise = set(_NOISE if "text_entities" in record or "from_id" in record else ())
    noise |= {next(key for key, value in record.items() if TIME_NAME.search(str(key)) and moment(value, zone))}
    others = {
        key: value
        for key, value in record.items()
        if key not in said
        and key not in noise
        and not _says_when(key, value, at, zone)
        and value not in (None, "", [], {})
    }
    return Message(_text(record[text_key]) or "", author, at, others)


def as_segment(message: Message, native_id: str, outline: Callable[[Any], Iterable[str]]) -> Segment:
    """Id, author and time stand in the message's heading and row; every other field follows its text."""
    return Segment(native_id, "\n".join([message.text, *outline(message.others)]), message.at, message.author)


def author_of(record: dict[str, Any]) -> str:
    """Who wrote a record; empty when it does not say."""
    return next((name for k in _AUTHOR_KEYS if (name := _name(record.get(k)))), "")


def time_of(record: dict[str, Any], zone: tzinfo) -> datetime | None:
    """The first moment among the fields that are named as times; one that leaves no doubt of its zone before one that names none."""
    found = [(v, m) for k, v in record.items() if TIME_NAME.search(str(k)) and (m := moment(v, zone))]
    first = next((value for value, _ in found), None)
    if isinstance(first, str) and not _EXACT.search(
        first
    ):  # the same moment may stand beside it in seconds, as in `date_unixtime`
        return next(
            (m for v, m in found if _is_close(m, found[0][1]) and (not isinstance(v, str) or _EXACT.search(v))),
            found[0][1],
        )
    return found[0][1] if found else None


def _is_close(one: datetime, other: datetime) -> bool:
    """True for what may be one moment by two clocks."""
    return abs((one - other).total_seconds()) <= 26 * 3600


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


def _says_when(key: str, value: Any, at: datetime, zone: tzinfo) -> bool:
    """True for the field of the message's time, and for the same time once more, as `date_unixtime` beside `date`."""
    return bool(TIME_NAME.search(str(key))) and moment(value, zone) == at


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
