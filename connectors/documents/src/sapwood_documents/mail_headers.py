"""Headers of mails, as they are found in the wild: words of several encodings, raw bytes, broken addresses and dates."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from datetime import UTC, datetime
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime

from sapwood.sdk import decode_text

__all__ = ["addresses", "all_values", "date", "decode_words", "message_ids", "value"]

_WORD = re.compile(r"=\?([\w.:-]{1,40})(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")
_GAP = re.compile(r"(=\?[^?\s]{1,40}\?[bBqQ]\?[^?]*\?=)\s+(?==\?[^?\s]{1,40}\?[bBqQ]\?)")
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "gb_2312-80": "gb18030", "x-gbk": "gb18030", "hz": "hz", "ks_c_5601-1987": "cp949", "x-sjis": "cp932", "big5": "cp950"}  # fmt: skip
_SPECIALS = re.compile(r"[,;:<>()@\[\]\"\\]")
_IDS = re.compile(r"<([^<>\s]{1,500})>")


def text_of(data: bytes, charset: str) -> str:
    """Bytes in a declared charset; half a character becomes U+FFFD. An unknown charset is guessed."""
    name = charset.strip().strip("\"'").lower()
    try:
        return data.decode(_WIDER.get(name, name), "replace")
    except (LookupError, ValueError, UnicodeError):
        return decode_text(data)[0]


def raw_text(raw: str) -> str:
    """A header as it stands in the file: bytes that are no ASCII are UTF-8, else GB18030 or what they look like."""
    data = raw.encode("utf-8", "surrogateescape")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text, encoding = decode_text(data)
        if encoding == "cp1252":  # a letter with an accent between plain ones
            return text
        try:
            return data.decode("gb18030")  # a header is too short for guesses, and this is who writes them raw
        except UnicodeDecodeError:
            return text


def decode_words(raw: str) -> str:
    """A header's text. Neighbouring encoded words of one charset are decoded as one: characters are cut in between."""
    text = _GAP.sub(r"\1", raw_text(raw))
    parts: list[str] = []
    at = 0
    pending, charset = b"", ""
    for match in _WORD.finditer(text):
        between = text[at : match.start()]
        data = _word_bytes(match[2], match[3])
        if pending and not between and match[1].lower() == charset:
            pending += data
        else:
            parts += [text_of(pending, charset) if pending else "", between]
            pending, charset = data, match[1].lower()
        at = match.end()
    parts += [text_of(pending, charset) if pending else "", text[at:]]
    return " ".join("".join(parts).replace("\x00", "").split())


def _word_bytes(kind: str, text: str) -> bytes:
    if kind in "qQ":
        return quopri.decodestring(text.replace("_", " ").encode("utf-8", "replace"), header=False)
    padded = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4))
    except binascii.Error:
        return base64.b64decode(padded[: len(padded) // 4 * 4])


def all_values(message: Message, name: str) -> list[str]:
    """Every header of a name, raw."""
    return [str(raw) for key, raw in message.raw_items() if key.lower() == name.lower()]


def value(message: Message, name: str) -> str:
    """The first header of a name, decoded; empty when there is none."""
    found = all_values(message, name)
    return decode_words(found[0]) if found else ""


def addresses(message: Message, name: str) -> list[str]:
    """`Name <address>` or the address alone, for each mailbox of a header."""
    found = []
    raws = [raw_text(raw).replace("\r", " ").replace("\n", " ") for raw in all_values(message, name)]
    try:
        mailboxes = getaddresses(raws)
    except (RecursionError, ValueError, IndexError):  # such as brackets in brackets in brackets
        mailboxes = []
    for display, address in mailboxes:
        shown, address = decode_words(display), " ".join(address.split())
        if shown and address:
            quoted = '"' + shown.replace("\\", "").replace('"', "'") + '"' if _SPECIALS.search(shown) else shown
            found.append(f"{quoted} <{address}>")
        elif shown or address:
            found.append(shown or address)
    if not found and (rest := value(message, name)):
        found.append(rest[:500])  # no mailbox that a parser knows, yet somebody
    return found


def date(message: Message) -> tuple[datetime | None, str]:
    """When a mail was sent, and what is to be said of it: a time without a zone is taken as UTC."""
    raw = value(message, "Date")
    if not raw:
        return None, ""
    moment: datetime | None
    try:
        moment = parsedate_to_datetime(raw)
    except (ValueError, TypeError, IndexError, OverflowError):
        try:
            moment = datetime.fromisoformat(raw.replace("Z", "+00:00"))
        except ValueError:
            return None, f"its date cannot be read: {raw[:80]}"
    try:
        moment.astimezone(UTC)  # at the ends of the calendar a zone leads outside of it
    except (OverflowError, ValueError):
        return None, f"its date cannot be used: {raw[:80]}"
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC), "" if raw.rstrip().endswith(
            "-0000"
        ) else "its date has no zone and is taken as UTC"
    return moment, ""


def message_ids(message: Message, name: str) -> list[str]:
    """Message ids in a header, without their brackets."""
    return [found for raw in all_values(message, name) for found in _IDS.findall(raw_text(raw))]
