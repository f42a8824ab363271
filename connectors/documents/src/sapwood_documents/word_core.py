"""The core properties of an office file, read from its own part.

python-docx makes up a set with the present time when it does not find the part by its usual relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sapwood.sdk import aware

_CONTENT_TYPE = "application/vnd.openxmlformats-package.core-properties+xml"
_NAMES = {
    "{http://purl.org/dc/elements/1.1/}title": "title",
    "{http://purl.org/dc/elements/1.1/}creator": "author",
    "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}lastModifiedBy": "editor",
    "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}keywords": "keywords",
    "{http://purl.org/dc/terms/}created": "created",
    "{http://purl.org/dc/terms/}modified": "modified",
}


@dataclass(frozen=True, slots=True)
class CoreProperties:
    """Title, people, keywords and aware dates; empty or None where the file does not say."""

    title: str = ""
    author: str = ""
    editor: str = ""
    keywords: str = ""
    created: datetime | None = None
    modified: datetime | None = None

    @classmethod
    def of(cls, document: Any) -> CoreProperties:
        """From a python-docx document."""
        part = next((p for p in document.part.package.iter_parts() if p.content_type == _CONTENT_TYPE), None)
        if part is None:
            return cls()
        from lxml import etree

        root = etree.fromstring(part.blob, etree.XMLParser(resolve_entities=False, no_network=True))
        texts = {name: " ".join((node.text or "").split()) for node in root if (name := _NAMES.get(node.tag))}
        return cls(
            texts.get("title", ""), texts.get("author", ""), texts.get("editor", ""), texts.get("keywords", ""),
            _w3cdtf(texts.get("created", "")), _w3cdtf(texts.get("modified", "")),
        )  # fmt: skip


def _w3cdtf(text: str) -> datetime | None:
    """The W3C profile of ISO 8601: a year, year and month, a day, or a moment; without a zone UTC is meant."""
    if not text:
        return None
    padded = text + {4: "-01-01", 7: "-01"}.get(len(text), "")
    try:
        moment = datetime.fromisoformat(padded)
    except ValueError:
        return None
    return aware(moment, UTC)
