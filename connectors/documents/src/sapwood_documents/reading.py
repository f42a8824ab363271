"""Reading a text file whole, within its limit."""

from __future__ import annotations

import re

from sapwood.sdk import ConvertError, ConvertFile, decode_text

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
