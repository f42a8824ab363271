"""Outlines (OPML), as nested lists."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from sapwood.sdk import Converted, ConvertError, ConvertFile, Person, Segment
from sapwood_documents.packages import parse_xml
from sapwood_documents.reading import read_bytes

__all__ = ["convert"]

_MAX_DEPTH = 100


def convert(file: ConvertFile) -> Converted:
    """A list item an outline, its note below it, links kept."""
    from lxml.etree import XMLSyntaxError

    try:
        root = parse_xml(read_bytes(file))
    except XMLSyntaxError as error:
        raise ConvertError("damaged", f"is not valid XML ({str(error)[:200]})", "Correct that place.") from error
    head, body = root.find("head"), root.find("body")
    said = (
        {child.tag: (child.text or "").strip() for child in head if isinstance(child.tag, str)}
        if head is not None
        else {}
    )
    text = "\n".join(_items(body, 0)) if body is not None else ""
    return Converted(
        title=said.get("title", ""),
        segments=(Segment("outline", text),) if text else (),
        created=_moment(said.get("dateCreated", "")),
        modified=_moment(said.get("dateModified", "")),
        people=(Person(name=said["ownerName"], role="author"),) if said.get("ownerName") else (),
        media_type="text/x-opml",
    )


def _items(parent: Any, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    for outline in parent.findall("outline"):
        text = " ".join((outline.get("text") or outline.get("title") or "").split())
        link = next(
            (
                link
                for name in ("htmlUrl", "url", "xmlUrl")
                if (link := outline.get(name, "")).startswith(("http://", "https://"))
            ),
            "",
        )
        line = f"[{text or link}]({link})" if link else text
        if line:
            yield f"{'  ' * depth}- {line}"
        for note in (outline.get("_note") or "").split("\n"):
            if note.strip():
                yield f"{'  ' * depth}  {note.strip()}"
        yield from _items(outline, depth + 1 if line else depth)


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return moment if moment.tzinfo else None
