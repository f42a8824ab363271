"""Texts of others inside of pages that we write: they may not break a link, or be anything but text."""

from __future__ import annotations

__all__ = ["link_to", "plain"]

_SIGNS = {ord(sign): " " for sign in "[]|#^<>`"}


def plain(text: str) -> str:
    """One line of text without signs that mean something in Markdown links, HTML or code; `…` for none."""
    return " ".join(text.translate(_SIGNS).split()) or "…"


def link_to(name: str, shown: str) -> str:
    """A link to the note of this name, without folder and ending."""
    return f"[[{name}|{plain(shown)}]]"
