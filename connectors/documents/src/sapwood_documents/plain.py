"""Plain text in any encoding, and chats that were exported as text."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

from sapwood.sdk import Converted, ConvertFile, Person, Segment, decode_text
from sapwood.sdk.sources import Kind
from sapwood_documents.reading import is_text, read_text

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
_UNAMBIGUOUS = re.compile(r"^(\d{4})[./-](\d{1,2})[./-](\d{1,2}),?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?$")


def convert(file: ConvertFile) -> Converted:
    """The text as one segment, or a chat with a segment a message."""
    text = read_text(file).replace("\r\n", "\n").replace("\r", "\n")
    chat = _as_chat(text)
    return chat or Converted(segments=(Segment("text", text),), media_type="text/plain")


def looks_like_text(path: str) -> bool:
    """True when the first 8 KiB are UTF-8 or another encoding of text."""
    with open(path, "rb") as stream:
        start = stream.read(8192)
    if b"\x00" in start[:1024] and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return is_text(decode_text(start)[0])


def _as_chat(text: str) -> Converted | None:
    """Messages when at least three lines, and most of those with a stamp, read as `<time> <author>: <text>`.

    A stamp whose day and month can be told apart becomes the message's time; every other stays in its text, since no
    program can know which of 11/8/21 is the month.
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
    segments: list[Segment] = []
    left_out: Counter[str] = Counter()
    for number, (stamp, author, parts) in enumerate(messages):
        body = "\n".join(parts).strip()
        if not author:
            left_out["notices of the program"] += 1
        elif not body or _NO_CONTENT.match(body):
            left_out["messages without text"] += 1
        else:
            at = _moment(stamp)
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


def _moment(stamp: str) -> datetime | None:
    match = _UNAMBIGUOUS.match(stamp.strip())
    if not match:
        return None
    try:
        return datetime(*(int(part or 0) for part in match.groups()), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
