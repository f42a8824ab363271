"""Markdown, with Obsidian's additions: front matter read, wikilinks, embeds and tags kept as they stand."""

from __future__ import annotations

import os
import re
from datetime import date, datetime, tzinfo
from typing import Any
from urllib.parse import unquote

from sapwood.sdk import Converted, ConvertFile, Person, Segment, aware, parse_date
from sapwood_documents.reading import LONGEST_DATE, date_line, read_text

_FENCES = re.compile(r"^( {0,3})(`{3,}|~{3,}).*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"(`+)(?!`)[^\n]{0,2000}?(?<!`)\1(?!`)")
_TAG = re.compile(r"(?:(?<=\s)|^)#([^\W\d_][\w/-]*)", re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]\n]{0,500}\]\(\s*<?([^)\s>\n]{1,2000})>?[^)\n]{0,300}\)")
_H1 = re.compile(r"\A\s*#[ \t]+(.+?)[ \t]*#*[ \t]*(?:\n|\Z)|\A\s*(\S[^\n]*)\n=+[ \t]*(?:\n|\Z)")


def convert(file: ConvertFile) -> Converted:
    """The body with its front matter as metadata.

    The title is the front matter's, else a heading of level 1 that opens the text. The date is the front matter's
    `updated`, `modified`, `date` or `created`, else that of a line `Date: …` at the beginning.
    """
    text = read_text(file).replace("\r\n", "\n").replace("\r", "\n")
    fields, body = front_matter(text)
    prose = without_code(body)
    heading = _H1.match(body)
    title = str(fields.get("title") or (heading and (heading.group(1) or heading.group(2))) or "")
    tags = dict.fromkeys([*_listed(fields.get("tags")), *_listed(fields.get("tag")), *_TAG.findall(prose)])
    author = fields.get("author") or fields.get("authors")
    modified = next(
        (m for key in ("updated", "modified", "lastmod", "date") if (m := _moment(fields.get(key), file.zone))), None
    )
    extra = {k: v for k, v in fields.items() if k not in ("title", "tags", "tag", "author", "authors")}
    lines = [f"{key}: {_shown(value)}" for key, value in extra.items() if value not in (None, "", [])]
    segments = [Segment("front-matter", "\n".join(lines))] if lines else []
    segments.append(Segment("body", body))
    return Converted(
        title=title,
        segments=tuple(segments),
        created=_moment(fields.get("created"), file.zone) or date_line(body, file.zone),
        modified=modified,
        people=tuple(Person(name=name, role="author") for name in _names(author)),
        tags=tuple(tag for tag in tags if tag),
        media_type="text/markdown",
        warnings=_missing_images(file, prose),
    )


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The YAML fields and the rest; a block that is no mapping is part of the text."""
    if not text.startswith("---\n"):
        return {}, text
    end = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE).search(text, 4, 262_144)
    if not end:
        return {}, text
    import yaml

    try:
        fields = yaml.load(text[4 : end.start()], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, text
    if not isinstance(fields, dict):
        return {}, text
    return {str(key): value for key, value in fields.items()}, text[end.end() :].lstrip("\n")


def without_code(text: str) -> str:
    """The text with code blanked out, so that what looks like a tag or link there is none."""
    return _INLINE_CODE.sub(" ", _FENCES.sub("\n", text))


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    parts = (
        value
        if isinstance(value, list)
        else re.split(r"[,\s]+", value)
        if isinstance(value, str) and "," in value
        else [value]
    )
    return [str(part).strip().lstrip("#") for part in parts if part is not None and str(part).strip()]


def _names(value: Any) -> list[str]:
    """People: a list, one name, several names between `;` or, when all are full names, commas; of a mapping its `name`."""
    if isinstance(value, dict):
        return _names(value.get("name"))
    if isinstance(value, list):
        return [name for part in value for name in _names(part)]
    if not isinstance(value, str):
        return [str(value)] if value is not None else []
    parts = [part.strip() for part in re.split(r"[;；、，]|\s+and\s+", value)]
    if len(parts) == 1 and all(" " in part.strip() for part in value.split(",")):
        parts = [part.strip() for part in value.split(",")]
    return [part for part in parts if part]


def _moment(value: Any, zone: tzinfo) -> datetime | None:
    """A date or time of the front matter; without a zone it is one of the user's clock."""
    if isinstance(value, datetime):
        return aware(value, zone)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=zone)
    return parse_date(value, zone) if isinstance(value, str) and len(value) <= LONGEST_DATE else None


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _missing_images(file: ConvertFile, prose: str) -> tuple[str, ...]:
    folder = os.path.dirname(file.path)
    missing = []
    for target in dict.fromkeys(_IMAGE.findall(prose)):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:|#|/", target):
            continue
        path = unquote(target.partition("#")[0].partition("?")[0])
        if path and "\x00" not in path and not os.path.exists(os.path.join(folder, path)):
            missing.append(target)
    return tuple(f"picture not found: {target}" for target in missing[:50])
