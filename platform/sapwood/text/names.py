"""Names that are safe on every file system, and readable in every language."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_NAME_BYTES = 255
_WINDOWS_RESERVED = {"con", "prn", "aux", "nul", *(f"com{i}" for i in range(1, 10)), *(f"lpt{i}" for i in range(1, 10))}
_NOT_SLUG = re.compile(r"[^\w]+")


def short_hash(text: str, digits: int = 8) -> str:
    """The first hex digits of the SHA-256 of the text's UTF-8 (lone surrogates pass)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def cut_bytes(text: str, limit: int) -> str:
    """The longest start of the text that has at most `limit` bytes of UTF-8 and ends at a character."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")


def slug(text: str, limit: int = 80) -> str:
    """A file or folder name for a text: Unicode letters and digits, lower case, `-` for all else, at most `limit` bytes.

    Wherever that lost information, eight hex digits of the text's SHA-256 are appended, so two texts never share a
    slug unless they are equal; `unknown` stands for a text without any letter or digit. Letter case is information:
    `Plan` and `plan` get two names that also differ on a disk that ignores case.
    """
    composed = unicodedata.normalize("NFC", text)
    kept = _NOT_SLUG.sub("-", composed.lower()).strip("-_")
    kept = unicodedata.normalize("NFC", kept) or "unknown"
    name = cut_bytes(kept, limit).rstrip("-_")
    if name != text or name.casefold() in _WINDOWS_RESERVED:
        tail = short_hash(text)
        name = f"{cut_bytes(kept, limit - 9).rstrip('-_')}-{tail}"
    return name


def is_safe_name(name: str) -> bool:
    """True for one path component that every common file system can hold."""
    return (
        0 < len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME_BYTES
        and not re.search(r'[<>:"/\\|?*\x00-\x1f]', name)
        and name not in (".", "..")
        and not name.endswith((".", " "))
        and name.split(".")[0].casefold() not in _WINDOWS_RESERVED
    )
