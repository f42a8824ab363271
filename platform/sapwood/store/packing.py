"""Texts as the database keeps them."""

from __future__ import annotations

import zlib

__all__ = ["pack", "unpack"]

_COMPRESSION = 3


def pack(text: str) -> bytes:
    """A body as it is stored: UTF-8, deflated."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _COMPRESSION)


def unpack(data: bytes) -> str:
    """The inverse of `pack`."""
    return zlib.decompress(data).decode("utf-8", "surrogatepass")
