"""Word documents (.docx) by python-docx's package reader and an own walk over the XML.

Rules: tracked changes are read as accepted (insertions and the target of moves stay, deletions go); hidden text is left
out and said; a text box stands once, after the paragraph that anchors it; merged cells stand once; headers and footers
stand once, at the end; comments and notes follow the body.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from sapwood.sdk import Attachment, Converted, ConvertError, ConvertFile, Person, Segment
from sapwood_documents.html import markdown_table
from sapwood_documents.packages import parse_xml, refuse_bombs
from sapwood_documents.word_core import CoreProperties
from sapwood_documents.word_styles import Numbering, Styles, W

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WPS_TEXT = f"{W}txbxContent"
_GONE = {
    f"{W}del",
    f"{W}moveFrom",
    f"{_MC}Fallback",
    f"{W}instrText",
    f"{W}delText",
    f"{W}rPr",
    f"{W}pPr",
    f"{W}sectPr",
}
_WIDE_GRID = 12  # tables of more columns are forms: their merged cells get no empty companions
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def convert(file: ConvertFile) -> Converted:
    """Body, notes, comments, and headers with footers as segments."""
    import docx
    from docx.opc.exceptions import PackageNotFoundError

    source: Any = file.path
    with open(file.path, "rb") as stream:
        if stream.read(8) == _OLE:
            source = _decrypted(file)
    refuse_bombs(source, file, "Word document")
    try:
        document = docx.Document(source)
    except (PackageNotFoundError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ConvertError(
            "damaged", f"is damaged or no Word document ({_brief(error)})", "Open it in Word and save it again."
        ) from error
    except Exception as error:
        raise ConvertError(
            "damaged", f"cannot be read as a Word document ({_brief(error)})", "Open it in Word and save it again."
        ) from error
    return _Reader(document).read()


_CELL_BORDER = re.compile(r"(?<!\\)\|")


def _brief(error: BaseException) -> str:
    text = re.sub(r"'?(?:[A-Za-z]:)?[/\\]\S+'?", "the file", str(error).splitlines()[0] if str(error) else "")
    return f"{type(error).__name__}: {text}"[:160]


def _decrypted(file: ConvertFile) -> BytesIO:
    import msoffcrypto

    with open(file.path, "rb") as stream:
        try:
            office = msoffcrypto.OfficeFile(stream)
            encrypted = office.is_encrypted()
        except Exception as error:
            raise ConvertError(
                "old_format",
                "is not in the .docx format although its name says so (an older Word file?)",
                "Save it as .docx.",
            ) from error
        if not encrypted:
            raise ConvertError("old_format", "is in Word's older format, not .docx", "Save it as .docx.")
        for password in file.passwords:
            out = BytesIO()
            try:
                office.load_key(password=password)
                office.decrypt(out)
            except Exception:  # noqa: S112  the library raises many kinds for a wrong password
                continue
            if zipfile.is_zipfile(out):
                out.seek(0)
                return out
    given = "and none of the given passwords opens it" if file.passwords else "and no password was given"
    raise ConvertError(
        "encrypted", f"is an encrypted Word document {given}", "Give its password with --password env:NAME."
    )


class _Reader:
    """Walks one document. A word's place decides its segment; ids of notes are counted as Word shows them."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._styles = Styles(document)
        self._numbering = Numbering(document)
        self._links = document.part.rels
        self._boxes: list[Any] = []
        self._notes: list[tuple[str, str]] = []
        self._hidden = 0
        self._pictures: dict[str, str] = {}

    def read(self) -> Converted:
        body = self._blocks(self._document.element.body)
        segments = [Segment("body", body)] if body.strip() else []
        notes = self._note_texts()
        if notes:
            segments.append(Segment("notes", notes))
        comments, commenters = self._comments()
        if comments:
            segments.append(Segment("comments", comments))
        if around := self._headers_and_footers():
            segments.append(Segment("headers-footers", around))
        core = CoreProperties.of(self._document)
        warnings = (f"{self._hidden} hidden passages left out",) if self._hidden else ()
        return Converted(
            title=core.title or self._styles.title_text,
            segments=tuple(segments),
            created=core.created,
            modified=core.modified,
            people=tuple(
                Person(name=name, role=role)
                for name, role in dict.fromkeys(
                    [(core.author, "author"), (core.editor, "editor"), *((c, "commenter") for c in commenters)]
                )
                if name
            ),
            tags=tuple(dict.fromkeys(t.strip() for t in re.split(r"[,;，；]", core.keywords) if t.strip())),
            attachments=tuple(
                Attachment(key, name, reason="picture, named only") for key, name in self._pictures.items()
            ),
            media_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            warnings=warnings,
        )

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _blocks(self, parent: Any) -> str:
        parts: list[str] = []
        in_list = False
        for element in _block_children(parent):
            if element.tag == f"{W}tbl":
                text, item = self._table(element), False
            else:
                text, item = self._paragraph(element)
            if text:
                parts.append(("\n" if item and in_list else "\n\n" if parts else "") + text)
                in_list = item
            boxes, self._boxes = self._boxes, []
            for box in boxes:
                if inner := self._blocks(box):
                    parts.append(("\n\n" if parts else "") + inner)
                    in_list = False
        return "".join(parts)

    def _paragraph(self, paragraph: Any) -> tuple[str, bool]:
        """Its Markdown, and whether it is an item of a list."""
        text = "".join(self._inline(paragraph))
        text = "\n".join(line.rstrip() for line in text.split("\n")).strip()
        if not text:
            return "", False
        level = self._styles.heading_level(paragraph, text)
        if level:
            return f"{'#' * level} {' '.join(text.split())}", False
        mark = self._numbering.mark(paragraph, self._styles)
        if mark:
            pad = " " * (len(mark) - len(mark.lstrip()) + 2)
            return mark + text.replace("\n", "\n" + pad), True
        if re.match(r"#{1,6} |---$|>|```", text):
            text = "\\" + text  # the writer's own signs, not Markdown
        return text, False

    def _inline(self, element: Any) -> Iterator[str]:
        for child in element:
            tag = child.tag
            if not isinstance(tag, str) or tag in _GONE:
                continue
            if tag == f"{W}r":
                if self._styles.hidden(child):
                    self._hidden += 1
                else:
                    yield from self._run(child)
            elif tag == f"{W}hyperlink":
                yield self._link(child)
            elif tag == f"{_M}t":
                yield child.text or ""
            elif tag == _WPS_TEXT:
                self._boxes.append(child)
            else:
                yield from self._inline(child)

    def _run(self, run: Any) -> Iterator[str]:
        for child in run:
            tag = child.tag
            if not isinstance(tag, str) or tag in _GONE:
                continue
            if tag == f"{W}t":
                yield child.text or ""
            elif tag in (f"{W}tab", f"{W}ptab"):
                yield "\t"
            elif tag in (f"{W}br", f"{W}cr"):
                yield "\n"
            elif tag == f"{W}noBreakHyphen":
                yield "-"
            elif tag in (f"{W}footnoteReference", f"{W}endnoteReference"):
                yield self._note_mark(child, tag)
            else:
                self._anchored(child)

    def _anchored(self, element: Any) -> None:
        """Text boxes and pictures below a drawing; of alternative contents only the first choice counts."""
        stack = [element]
        while stack:
            node = stack.pop()
            if not isinstance(node.tag, str) or node.tag == f"{_MC}Fallback":
                continue
            if node.tag == _WPS_TEXT:
                self._boxes.append(node)
                continue
            if node.tag.endswith("}docPr") and (node.get("descr") or node.get("name")):
                self._pictures.setdefault(
                    f"picture-{node.get('id')}", " ".join((node.get("descr") or node.get("name")).split())
                )
            stack += reversed(list(node))

    def _link(self, element: Any) -> str:
        text = "".join(self._inline(element))
        rel = self._links.get(element.get(f"{_R}id") or "")
        target = rel.target_ref if rel is not None and rel.is_external else ""
        if not target or not text.strip():
            return text
        return f"[{text.strip()}]({target.replace(' ', '%20').replace(')', '%29')})"

    def _table(self, table: Any) -> str:
        rows = list(_rows(table))
        grid = max((sum(_span(cell) for cell in row) for row in rows), default=0)
        if grid == 1 or (len(rows) == 1 and len(rows[0]) == 1):  # a frame around text
            return "\n\n".join(filter(None, (self._blocks(cell) for row in rows for cell in row)))
        lines: list[list[str]] = []
        for row in rows:
            line: list[str] = []
            for cell in row:
                line.append("" if _continued(cell) else self._cell(cell))
                if grid <= _WIDE_GRID:
                    line += [""] * (_span(cell) - 1)
            if any(line):
                lines.append(line)
        return markdown_table(lines) if lines else ""

    def _cell(self, cell: Any) -> str:
        text = self._blocks(cell)
        lines = [line.strip() for line in text.split("\n")]
        flat = [
            " ".join(c.strip() for c in _CELL_BORDER.split(line)).strip().replace("\\|", "|")
            if line.startswith("|")
            else line
            for line in lines
            if not re.fullmatch(r"\|(?: --- \|)+", line)
        ]
        return "<br>".join(line for line in flat if line).replace("|", "\\|")

    # -- around the body ------------------------------------------------------------------------------------------

    def _note_mark(self, reference: Any, tag: str) -> str:
        self._notes.append(
            ("footnotes" if tag.endswith("footnoteReference") else "endnotes", reference.get(f"{W}id") or "")
        )
        return f"[^{len(self._notes)}]"

    def _note_texts(self) -> str:
        wanted, parts = list(self._notes), []
        for number, (kind, note_id) in enumerate(wanted, 1):
            root = self._part_xml(kind)
            note = None if root is None else next((n for n in root if n.get(f"{W}id") == note_id), None)
            if note is not None and (text := " ".join(self._blocks(note).split())):
                parts.append(f"[^{number}]: {text}")
        return "\n".join(parts)

    def _comments(self) -> tuple[str, list[str]]:
        root = self._part_xml("comments")
        parts, authors = [], []
        for comment in root if root is not None else ():
            text = self._blocks(comment)
            if text:
                author = " ".join((comment.get(f"{W}author") or "unknown").split())
                when = comment.get(f"{W}date") or ""
                authors.append(author)
                parts.append(f"> **{author}**{f' ({when})' if when else ''}: " + text.replace("\n", "\n> "))
        return "\n\n".join(parts), authors

    def _headers_and_footers(self) -> str:
        """Each distinct header and footer once, headers first."""
        found: dict[str, None] = {}
        for ending in ("header", "footer"):
            for part in self._parts(ending):
                self._links = part.rels
                text = self._blocks(part.element if hasattr(part, "element") else parse_xml(part.blob))
                if text.strip():
                    found.setdefault(text)
        return "\n\n".join(found)

    def _parts(self, ending: str) -> list[Any]:
        rels = self._document.part.rels.values()
        parts = [rel.target_part for rel in rels if not rel.is_external and rel.reltype.endswith(f"/{ending}")]
        return sorted(parts, key=lambda part: str(part.partname))

    def _part_xml(self, ending: str) -> Any:
        parts = self._parts(ending)
        if not parts:
            return None
        self._links = parts[0].rels
        return parts[0].element if hasattr(parts[0], "element") else parse_xml(parts[0].blob)


def _block_children(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables, through content controls and tracked insertions of whole blocks."""
    for child in parent:
        tag = child.tag
        if not isinstance(tag, str) or tag in _GONE:
            continue
        if tag in (f"{W}p", f"{W}tbl"):
            yield child
        elif tag in (f"{W}sdt", f"{W}sdtContent", f"{W}ins", f"{W}moveTo", f"{W}customXml", f"{W}smartTag"):
            yield from _block_children(child)
        elif tag == f"{_MC}AlternateContent":
            choice = child.find(f"{_MC}Choice")
            if choice is not None:
                yield from _block_children(choice)


def _rows(table: Any) -> Iterator[list[Any]]:
    for child in table:
        if child.tag == f"{W}tr":
            if child.find(f"{W}trPr/{W}del") is None:
                yield list(_row_cells(child))
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml"):
            yield from _rows(child)


def _row_cells(row: Any) -> Iterator[Any]:
    for child in row:
        if child.tag == f"{W}tc":
            yield child
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml"):
            yield from _row_cells(child)


def _span(cell: Any) -> int:
    span = cell.find(f"{W}tcPr/{W}gridSpan")
    value = span.get(f"{W}val") if span is not None else "1"
    return min(int(value), 100) if value and value.isdigit() and int(value) > 0 else 1


def _continued(cell: Any) -> bool:
    """True for the lower part of a vertically merged cell, or the right part of an old-style horizontal merge."""
    for name in ("vMerge", "hMerge"):
        merge = cell.find(f"{W}tcPr/{W}{name}")
        if merge is not None and merge.get(f"{W}val") != "restart":
            return True
    return False
