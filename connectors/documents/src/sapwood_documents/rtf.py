"""Rich text, as WordPad and old word processors write it."""

from __future__ import annotations

from sapwood.sdk import Converted, ConvertError, ConvertFile, Segment
from sapwood_documents.reading import read_bytes

__all__ = ["convert", "text_of_rtf"]


def convert(file: ConvertFile) -> Converted:
    """The text, paragraph by paragraph."""
    data = read_bytes(file)
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ConvertError(
            "damaged", "is no rich text although its name says so", "Give it the extension of its real type."
        )
    return Converted(segments=(Segment("body", text_of_rtf(data)),), media_type="application/rtf")


def text_of_rtf(data: bytes) -> str:
    """The text of RTF bytes; every paragraph stands by itself."""
    from striprtf.striprtf import rtf_to_text

    text = str(rtf_to_text(data.decode("latin-1"), errors="replace")).replace("\x00", "")  # type: ignore[no-untyped-call]
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return "\n\n".join(line for line in lines if line.strip())
