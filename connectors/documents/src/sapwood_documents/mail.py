"""Mails: `.eml` files, and threads that were taken out of an mbox."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32

from sapwood.sdk import Attachment, Converted, ConvertError, ConvertFile, MailMessage, decode_text, mail_segments
from sapwood.sdk.sources import Kind
from sapwood_documents.mail_body import read_body
from sapwood_documents.mail_headers import addresses, date, message_ids, value
from sapwood_documents.mbox import messages_in
from sapwood_documents.reading import read_bytes

__all__ = ["convert"]

_MAX_DEPTH = 5  # mails inside of mails
_MAX_MAILS = 1000
_LONGEST_RAW = 200_000


@dataclass(slots=True)
class _Reading:
    """What is collected over the mails of a file."""

    mails: list[MailMessage]
    attachments: list[Attachment]
    tags: list[str]
    warnings: list[str]
    truncated: str = ""


def convert(file: ConvertFile) -> Converted:
    """The mails of the file as segments, those inside of others after them."""
    data = read_bytes(file)
    reading = _Reading([], [], [], [])
    mails = list(messages_in(data))
    for raw in mails:
        before = len(reading.mails)
        try:
            _read(BytesParser(policy=compat32).parsebytes(raw), raw, reading, 0)
        except MemoryError:
            raise
        except Exception as error:
            # One that is broken, by accident or on purpose, takes no other of its thread with it.
            if len(mails) == 1 and isinstance(error, ConvertError):
                raise
            if len(reading.mails) == before:
                _keep_raw(raw, error, reading)
            else:
                reading.warnings.append(f"a mail inside of a mail could not be taken apart ({type(error).__name__})")
    if not reading.mails:
        raise ConvertError("empty", "holds no mail", "Nothing needs to be done.")
    segments, people = mail_segments(reading.mails)
    return Converted(
        title=next((mail.subject for mail in reading.mails if mail.subject), ""),
        segments=segments,
        kind=Kind.EMAIL,
        people=people,
        tags=tuple(dict.fromkeys(reading.tags)),
        attachments=tuple(reading.attachments),
        media_type="message/rfc822",
        warnings=tuple(dict.fromkeys(reading.warnings)),
        truncated=reading.truncated,
    )


def _keep_raw(raw: bytes, error: Exception, reading: _Reading) -> None:
    """A mail that cannot be taken apart, as the text that it is."""
    text = decode_text(raw[:_LONGEST_RAW])[0].replace("\x00", "")
    native_id = f"sha256:{hashlib.sha256(raw).hexdigest()[:32]}"
    if native_id not in {mail.id for mail in reading.mails}:
        reading.mails.append(MailMessage(native_id, None, "", (), "", text))
    reading.warnings.append(f"a mail could not be taken apart and stands as its raw text ({type(error).__name__})")


def _read(message: Message, raw: bytes, reading: _Reading, depth: int) -> None:
    if len(reading.mails) >= _MAX_MAILS:
        reading.truncated = f"it holds more than {_MAX_MAILS} mails"
        return
    if depth == 0 and not message.keys():
        raise ConvertError("damaged", "is no mail: it begins with no header", "Give it the extension of its real type.")
    body = read_body(message)
    moment, doubt = date(message)
    ids = message_ids(message, "Message-ID")
    native = ids[0] if ids else f"sha256:{hashlib.sha256(raw).hexdigest()[:32]}"
    taken = {mail.id for mail in reading.mails}
    number = 2
    while (unique := native if number == 2 and native not in taken else f"{native}#{number}") in taken:
        number += 1
    names = [attachment.name for attachment in body.attachments]
    text = "\n\n".join(
        part for part in (body.text, f"Attachments: {', '.join(names)}" if names else "") if part.strip()
    )
    reading.mails.append(
        MailMessage(
            unique, moment, ", ".join(addresses(message, "From")) or ", ".join(addresses(message, "Sender")), tuple(addresses(message, "To")),
            value(message, "Subject"), text or "(no text)", tuple(addresses(message, "Cc")),
        )
    )  # fmt: skip
    start = len(reading.attachments)
    reading.attachments += [
        Attachment(f"a{start + i}", a.name, a.media_type, a.size) for i, a in enumerate(body.attachments)
    ]
    reading.tags += list(_labels(message))
    if doubt:
        reading.warnings.append(doubt)
    reading.truncated = reading.truncated or body.truncated
    if depth < _MAX_DEPTH:
        for inner in body.messages:
            _read(inner, inner.as_bytes(), reading, depth + 1)
    elif body.messages:
        reading.warnings.append(f"mails inside of mails over {_MAX_DEPTH} deep were left out")


def _labels(message: Message) -> Iterator[str]:
    """Gmail's labels, as Takeout writes them."""
    for label in value(message, "X-Gmail-Labels").split(","):
        if name := label.strip().strip('"'):
            yield name
