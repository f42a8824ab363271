"""The body of a mail as Markdown, and the names of its attachments.

One body becomes the text: the plain one, unless it is missing or says almost nothing beside the HTML one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message

from sapwood.sdk import Attachment, decode_text
from sapwood_documents.html import convert_html
from sapwood_documents.mail_headers import decode_words, text_of
from sapwood_documents.quotes import mark_quotations

__all__ = ["MailBody", "read_body"]

MAX_PARTS = 1000
_MAX_DEPTH = 30
_ALMOST_NOTHING = 0.2  # of the HTML body's length


@dataclass(slots=True)
class MailBody:
    """What stands in a mail: texts in order, attachments, and messages inside of it."""

    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    truncated: str = ""

    @property
    def text(self) -> str:
        """All texts, with quotations marked."""
        return mark_quotations("\n\n".join(text for text in self.texts if text.strip()))


def read_body(message: Message) -> MailBody:
    """Walk the parts of a mail."""
    found = MailBody()
    left = MAX_PARTS
    for part, texts in _leaves(message, 0):
        left -= 1
        if left < 0:
            found.truncated = f"it has more than {MAX_PARTS} parts"
            break
        if isinstance(part, _Nested):
            found.messages.append(part.message)
            continue
        if texts is not None:
            found.texts.append(texts)
            continue
        _attachment(part, found)
    return found


@dataclass(frozen=True, slots=True)
class _Nested:
    message: Message


def _leaves(part: Message, depth: int) -> Iterator[tuple[Message | _Nested, str | None]]:
    """Parts with their text, None for what is attached; of alternatives the one that is chosen."""
    if depth > _MAX_DEPTH:
        return
    kind = part.get_content_type()
    if kind == "message/rfc822" and part.is_multipart():
        for inner in part.get_payload():
            if isinstance(inner, Message):
                yield _Nested(inner), None
        return
    if part.is_multipart():
        children = [child for child in part.get_payload() if isinstance(child, Message)]
        if kind == "multipart/alternative":
            yield from _alternative(children, depth)
        else:
            for child in children:
                yield from _leaves(child, depth + 1)
        return
    if kind in ("text/plain", "text/html", "text/enriched") and not _is_attached(part):
        yield part, _text(part, kind)
    else:
        yield part, None


def _alternative(children: list[Message], depth: int) -> Iterator[tuple[Message | _Nested, str | None]]:
    plain, other = "", ""
    rest: list[tuple[Message | _Nested, str | None]] = []
    for child in children:
        for leaf, text in _leaves(child, depth + 1):
            if text is None:
                rest.append((leaf, None))
            elif isinstance(leaf, Message) and leaf.get_content_type() == "text/plain":
                plain = f"{plain}\n\n{text}".strip() if plain else text
            else:
                other = f"{other}\n\n{text}".strip() if other else text
    chosen = plain if plain.strip() and len(plain.strip()) >= _ALMOST_NOTHING * len(other.strip()) else other
    if chosen.strip() and children:
        yield children[0], chosen
    yield from rest


def _is_attached(part: Message) -> bool:
    """A name alone makes no attachment of a text: some programs give their bodies one."""
    disposition = part.get_content_disposition()
    return disposition == "attachment" or (disposition is not None and bool(_filename(part)))


def _filename(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (LookupError, ValueError, UnicodeError):  # a broken RFC 2231 name
        name = str(part.get_param("name") or "")
    return decode_words(name)[:255]


def _text(part: Message, kind: str) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or ""
    text = (
        text_of(data, charset)
        if charset and charset not in ("us-ascii", "ascii", "unknown-8bit", "utf-8")
        else decode_text(data)[0]
    )
    text = text.replace("\x00", "").replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
    if kind != "text/plain":
        return "\n\n".join(segment.text for segment in convert_html(text).segments)
    return text.strip("\n")


def _attachment(part: Message, found: MailBody) -> None:
    name, kind = _filename(part), part.get_content_type()
    if kind.startswith("image/") and part.get("Content-ID") and part.get_content_disposition() != "attachment":
        return  # a picture of the body
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    if name.lower() == "winmail.dat" or kind == "application/ms-tnef":
        from sapwood_documents.tnef import read_tnef

        inside = read_tnef(data)
        if inside is not None:
            if not any(text.strip() for text in found.texts) and inside.text:
                found.texts.append(inside.text)
            found.attachments += inside.attachments
            return
    found.attachments.append(Attachment(f"a{len(found.attachments)}", name or kind, kind, len(data)))
