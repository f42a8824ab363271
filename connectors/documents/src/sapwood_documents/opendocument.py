"""OpenDocument text and presentations (odt, odp), by their own XML."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Any

from sapwood.sdk import Converted, ConvertError, ConvertFile, Person, Segment, aware
from sapwood_documents.html import markdown_table
from sapwood_documents.packages import parse_xml, refuse_bombs

__all__ = ["convert"]

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_LEFT_OUT = {f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}sequence-decls", f"{_OFFICE}forms"}
_MAX_DEPTH = 200
_MAX_REPEATED = 1000


def convert(file: ConvertFile) -> Converted:
    """Headings, paragraphs, lists and tables; of presentations a segment a slide."""
    refuse_bombs(file.path, file, "OpenDocument file")
    from lxml.etree import XMLSyntaxError

    try:
        with zipfile.ZipFile(file.path) as package:
            names = set(package.namelist())
            if "META-INF/manifest.xml" in names and b"encryption-data" in package.read("META-INF/manifest.xml"):
                raise ConvertError("encrypted", "is an encrypted document", "Save it again without a password.")
            body = parse_xml(package.read("content.xml")).find(f"{_OFFICE}body")
            meta = parse_xml(package.read("meta.xml")) if "meta.xml" in names else None
    except (KeyError, zipfile.BadZipFile, XMLSyntaxError, OSError, RuntimeError) as error:
        raise ConvertError("damaged", f"cannot be read ({str(error)[:200]})", "Open it in its own program and save it again.") from error  # fmt: skip
    pages = body.iter(f"{_DRAW}page") if body is not None and file.extension == "odp" else ()
    segments = [Segment(f"slide-{n}", text, page=n) for n, page in enumerate(pages, 1) if (text := _slide(page))]
    if body is not None and file.extension != "odp" and (text := "\n\n".join(_blocks(body, 0))).strip():
        segments.append(Segment("body", text))
    author = _said(meta, f"{_DC}creator") or _said(meta, f"{_META}initial-creator")
    return Converted(
        title=_said(meta, f"{_DC}title"),
        segments=tuple(segments),
        created=_moment(_said(meta, f"{_META}creation-date"), file.zone),
        modified=_moment(_said(meta, f"{_DC}date"), file.zone),
        people=(Person(name=author, role="author"),) if author else (),
        media_type=f"application/vnd.oasis.opendocument.{'presentation' if file.extension == 'odp' else 'text'}",
    )


def _slide(page: Any) -> str:
    notes = page.find(f"{_PRESENTATION}notes")
    said = list(_blocks(notes, 0)) if notes is not None else []
    if notes is not None:
        page.remove(notes)
    return "\n\n".join([*_blocks(page, 0), *(["Notes:", *said] if said else [])])


def _blocks(parent: Any, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    for child in parent:
        tag = child.tag
        if not isinstance(tag, str) or tag in _LEFT_OUT:
            continue
        if tag == f"{_TEXT}h":
            level = child.get(f"{_TEXT}outline-level") or "1"
            if text := _inline(child):
                yield f"{'#' * min(int(level) if level.isdigit() else 1, 6)} {text}"
        elif tag == f"{_TEXT}p":
            if text := _inline(child):
                yield text
            yield from _framed(child, depth)
        elif tag == f"{_TEXT}list":
            if items := list(_items(child, 0)):
                yield "\n".join(items)
        elif tag == f"{_TABLE}table":
            if rows := list(_rows(child)):
                yield markdown_table(rows)
        else:
            yield from _blocks(child, depth + 1)


def _framed(paragraph: Any, depth: int) -> Iterator[str]:
    """Text boxes that are anchored in a paragraph."""
    for box in paragraph.iter(f"{_DRAW}text-box"):
        yield from _blocks(box, depth + 1)


def _inline(element: Any) -> str:
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: Any) -> Iterator[str]:
    if element.text:
        yield element.text
    for child in element:
        tag = child.tag
        if isinstance(tag, str) and tag not in _LEFT_OUT and tag != f"{_DRAW}frame":
            if tag in (f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break"):
                yield " "
            elif tag == f"{_TEXT}note":
                yield (
                    f" ({_inline(child.find(f'{_TEXT}note-body'))})"
                    if child.find(f"{_TEXT}note-body") is not None
                    else ""
                )
            elif tag == f"{_TEXT}a" and (target := child.get(f"{_XLINK}href", "")).startswith(
                ("http://", "https://", "mailto:")
            ):
                yield f"[{_inline(child)}]({target})"
            else:
                yield from _pieces(child)
        if child.tail:
            yield child.tail


def _items(element: Any, depth: int) -> Iterator[str]:
    for item in element:
        for block in item:
            if block.tag == f"{_TEXT}list":
                if depth < _MAX_DEPTH:
                    yield from _items(block, depth + 1)
            elif text := _inline(block):
                yield f"{'  ' * depth}- {text}"


def _rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row:
            if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                text = " ".join(" ".join(_blocks(cell, 1)).split()).replace("|", "\\|")
                times = cell.get(f"{_TABLE}number-columns-repeated") or "1"
                cells += [text] * min(int(times) if times.isdigit() else 1, _MAX_REPEATED)
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _said(meta: Any, tag: str) -> str:
    found = meta.find(f".//{tag}") if meta is not None else None
    return " ".join((found.text or "").split()) if found is not None else ""


def _moment(text: str, zone: tzinfo) -> datetime | None:
    try:
        return aware(datetime.fromisoformat(text.split(".")[0]), zone)
    except ValueError:
        return None
