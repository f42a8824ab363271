"""Plain text in any encoding, and chats that were exported as text."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, tzinfo

from sapwood.sdk import Converted, ConvertFile, Person, Segment, decode_text
from sapwood.sdk.sources import Kind
from sapwood_documents import mbox
from sapwood_documents.reading import date_line, is_text, read_text
from sapwood_documents.transcripts import as_transcript

# "[05.05.23, 15:48:11] James: Hi" and "11/8/21, 9:41 AM - User name: Hi"
_STAMP = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s+\d{1,2}:\d{2}(?::\d{2})?(?:[\s_\u202f\u00a0]*[AaPp]\.?[Mm]\.?)?"
_CHAT_LINE = re.compile(
    rf"^\u200e?\[?(?P<stamp>{_STAMP})\]?(?:\s*[-–—]\s*|\s+)(?P<author>[^:\n]{{1,60}}):\s(?P<text>.*)$"
)
_SYSTEM_LINE = re.compile(rf"^\u200e?\[?(?P<stamp>{_STAMP})\]?(?:\s*[-–—]\s*|\s+)(?P<text>[^:\n]*)$")
_NO_CONTENT = re.compile(
    r"^\u200e?(?:<Media omitted>|<attached: .*>|(?:image|video|audio|sticker|GIF|document) omitted|This message was deleted\.?|You deleted this message\.?|<媒体已省略>|此消息已删除|null)$",
    re.IGNORECASE,
)
_SHORT_DATE = re.compile(
    r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2}),?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?(?:[\s_\u202f\u00a0]*([AaPp]\.?[Mm]\.?))?$"
)
_UNAMBIGUOUS = re.compile(r"^(\d{4})[./-](\d{1,2})[./-](\d{1,2}),?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?$")


def convert(file: ConvertFile) -> Converted:
    """The text as one segment; a chat or a transcript with a segment a message; an mbox under another name as such."""
    with open(file.path, "rb") as stream:
        if mbox.looks_like_mbox(stream.read(4096)):
            return mbox.convert(file)
    text = read_text(file).replace("\r\n", "\n").replace("\r", "\n")
    return (
        _as_chat(text, file.zone)
        or as_transcript(text)
        or Converted(segments=(Segment("text", text),), created=date_line(text, file.zone), media_type="text/plain")
    )


def looks_like_text(path: str) -> bool:
    """True when the first 8 KiB are UTF-8 or another encoding of text."""
    with open(path, "rb") as stream:
        start = stream.read(8192)
    if b"\x00" in start[:1024] and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return is_text(decode_text(start)[0])


def _as_chat(text: str, zone: tzinfo) -> Converted | None:
    """Messages when at least three lines, and most of those with a stamp, read as `<time> <author>: <text>`.

    A stamp whose day and month can be told apart, by itself or by another of the same chat, becomes the message's time;
    every other stays in its text, since no program can know which of 11/8/21 is the month. Stamps are of the user's
    clock, in `zone`: the programs that export them write no zone.
    """
    lines = text.split("\n")
    first = [bool(_CHAT_LINE.match(line)) for line in lines[:200]]
    if sum(first) < 3 or sum(first) < 0.5 * sum(1 for line in lines[:200] if line.strip()):
        return None
    messages: list[tuple[str, str, list[str]]] = []
    for line in lines:
        if match := _CHAT_LINE.match(line):
            messages.append((match["stamp"], match["author"].strip(), [match["text"]]))
        elif match := _SYSTEM_LINE.match(line):
            messages.append((match["stamp"], "", [match["text"]]))
        elif messages:
            messages[-1][2].append(line)
    day_first = _day_first([stamp for stamp, _, _ in messages])
    segments: list[Segment] = []
    left_out: Counter[str] = Counter()
    for number, (stamp, author, parts) in enumerate(messages):
        body = "\n".join(parts).strip()
        if not author:
            left_out["notices of the program"] += 1
        elif not body or _NO_CONTENT.match(body):
            left_out["messages without text"] += 1
        else:
            at = _moment(stamp, day_first, zone)
            segments.append(Segment(f"m{number}", body if at else f"({stamp.strip()}) {body}", at, author))
    people = dict.fromkeys(s.author for s in segments)
    warnings = tuple(f"{count} {what} left out" for what, count in left_out.items())
    return Converted(
        segments=tuple(segments),
        kind=Kind.CHAT,
        people=tuple(Person(name=name, role="participant") for name in people),
        media_type="text/plain",
        warnings=warnings,
    )


def _day_first(stamps: list[str]) -> bool | None:
    """True for 13/5/2024, False for 5/13/2024; None when no stamp of the chat tells, when they contradict each other, or
    when the file mixes styles of stamps, as one that was put together from several exports does."""
    found = [m for stamp in stamps if (m := _SHORT_DATE.match(stamp.strip()))]
    if len({(re.sub(r"\d", "", m[0].split()[0]), bool(m[6]), bool(m[7])) for m in found}) != 1 or len(found) != len(
        stamps
    ):
        return None
    day, month = any(int(m[1]) > 12 for m in found), any(int(m[2]) > 12 for m in found)
    return day if day != month else None


def _moment(stamp: str, day_first: bool | None, zone: tzinfo) -> datetime | None:
    text = stamp.strip()
    if match := _UNAMBIGUOUS.match(text):
        year, month, day = (int(part) for part in match.groups()[:3])
        clock = (*match.groups()[3:], None)
    elif day_first is not None and (match := _SHORT_DATE.match(text)):
        first, second, year = (int(part) for part in match.groups()[:3])
        day, month = (first, second) if day_first else (second, first)
        year += 2000 if year < 100 else 0
        clock = match.groups()[3:]
    else:
        return None
    hour, minute, second_ = (int(part or 0) for part in clock[:3])
    half = re.sub(r"[^apm]", "", (clock[3] or "").lower())
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        return datetime(year, month, day, hour, minute, second_, tzinfo=zone)
    except ValueError:
        return None
