"""winmail.dat: what Outlook packs a mail's formatted body and its attachments into (TNEF). Attachments are named, the body
is read as text; nothing else is taken out.

Layout: MS-OXTNEF. A signature and a key, then attributes: level, id, length, data, checksum. Numbers are little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from sapwood.sdk import Attachment, Converted, ConvertError, ConvertFile, Segment
from sapwood_documents.reading import read_bytes
from sapwood_documents.rtf import text_of_rtf

__all__ = ["convert", "is_tnef", "read_tnef"]

_SIGNATURE = b"\x78\x9f\x3e\x22"
_SUBJECT, _TITLE, _DATA, _BEGIN, _MAPI, _ATTACHMENT_MAPI = 0x8004, 0x8010, 0x800F, 0x9002, 0x9003, 0x9005
_RTF, _BODY, _LONG_NAME = 0x1009, 0x1000, 0x3707
_STRING8, _UNICODE, _BINARY = 0x001E, 0x001F, 0x0102
_FIXED = {
    0x0002: 4,
    0x0003: 4,
    0x0004: 4,
    0x0005: 8,
    0x0006: 8,
    0x0007: 8,
    0x000A: 4,
    0x000B: 4,
    0x0014: 8,
    0x0040: 8,
    0x0048: 16,
}
_LARGEST_RTF = 20_000_000
_MOST_PROPERTIES = 10_000


@dataclass(slots=True)
class Tnef:
    """Subject, text, and the names of the attachments."""

    subject: str = ""
    text: str = ""
    attachments: list[Attachment] = field(default_factory=list)


def is_tnef(path: str) -> bool:
    """True when the file begins with TNEF's signature."""
    with open(path, "rb") as stream:
        return stream.read(4) == _SIGNATURE


def convert(file: ConvertFile) -> Converted | None:
    """The body, and the names of the attachments; None when it is another kind of `.dat` file."""
    if not is_tnef(file.path):
        return None
    found = read_tnef(read_bytes(file))
    if found is None:
        raise ConvertError("damaged", "is cut off or no TNEF file", "Ask the sender for a mail without rich text.")
    names = ", ".join(attachment.name for attachment in found.attachments)
    text = "\n\n".join(part for part in (found.text, f"Attachments: {names}" if names else "") if part)
    return Converted(
        title=found.subject, segments=(Segment("body", text),) if text else (), attachments=tuple(found.attachments),
        media_type="application/ms-tnef",
    )  # fmt: skip


def read_tnef(data: bytes) -> Tnef | None:
    """What a TNEF stream holds, as far as it can be read; None when it is none."""
    if not data.startswith(_SIGNATURE):
        return None
    found = Tnef()
    at = 6
    name, size = "", 0
    is_open = False

    def close() -> None:
        if is_open:
            found.attachments.append(Attachment(f"a{len(found.attachments)}", name or "attachment", "", size))

    while at + 9 <= len(data):
        identifier = int.from_bytes(data[at + 1 : at + 3], "little")
        length = int.from_bytes(data[at + 5 : at + 9], "little")
        value = data[at + 9 : at + 9 + length]
        if len(value) < length:
            break
        at += 9 + length + 2
        if identifier == _SUBJECT:
            found.subject = _string(value)
        elif identifier == _BEGIN:
            close()
            name, size, is_open = "", 0, True
        elif identifier == _TITLE:
            name = name or _string(value)
        elif identifier == _DATA:
            size = len(value)
        elif identifier == _ATTACHMENT_MAPI:
            name = _text(_properties(value).get(_LONG_NAME)) or name
        elif identifier == _MAPI:
            found.text = _body(_properties(value))
    close()
    return found


def _string(value: bytes) -> str:
    return " ".join(value.split(b"\x00")[0].decode("cp1252", "replace").split())[:255]


def _text(value: tuple[int, bytes] | None) -> str:
    if value is None:
        return ""
    kind, data = value
    return data.decode("utf-16-le", "replace").rstrip("\x00") if kind == _UNICODE else _string(data)


def _properties(data: bytes) -> dict[int, tuple[int, bytes]]:
    """MAPI properties by number, each with its type and its first value; up to the first that is not understood."""
    found: dict[int, tuple[int, bytes]] = {}
    try:
        (count,) = struct.unpack_from("<I", data, 0)
        at = 4
        for _ in range(min(count, _MOST_PROPERTIES)):
            kind, number = struct.unpack_from("<HH", data, at)
            at += 4
            if number >= 0x8000:  # a named property: a GUID, then a number or a name
                (named,) = struct.unpack_from("<I", data, at + 16)
                at += 24
                if named:
                    (length,) = struct.unpack_from("<I", data, at - 4)
                    at += (length + 3) // 4 * 4
            several, kind = bool(kind & 0x1000), kind & 0x0FFF
            values = 1
            if several or kind not in _FIXED:
                (values,) = struct.unpack_from("<I", data, at)
                at += 4
            for place in range(min(values, _MOST_PROPERTIES)):
                if kind in _FIXED:
                    value, at = data[at : at + _FIXED[kind]], at + _FIXED[kind]
                else:
                    (length,) = struct.unpack_from("<I", data, at)
                    value, at = data[at + 4 : at + 4 + length], at + 4 + (length + 3) // 4 * 4
                if not place:
                    found[number] = (kind, value)
    except struct.error:
        pass
    return found


def _body(properties: dict[int, tuple[int, bytes]]) -> str:
    if _BODY in properties:
        return _text(properties[_BODY]).strip()
    packed = properties.get(_RTF, (0, b""))[1]
    if not packed or int.from_bytes(packed[4:8], "little") > _LARGEST_RTF:
        return ""
    from compressed_rtf import decompress

    try:
        return text_of_rtf(decompress(packed))
    except Exception:  # the library raises plain exceptions for data that is cut off or altered
        return ""
