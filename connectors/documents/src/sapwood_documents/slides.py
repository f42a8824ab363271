"""Presentations (pptx): a segment a slide, with its notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sapwood.sdk import Attachment, Converted, ConvertError, ConvertFile, Person, Segment
from sapwood_documents.html import markdown_table
from sapwood_documents.packages import refuse_bombs, refuse_encrypted

__all__ = ["convert"]

_MAX_DEPTH = 10  # groups inside of groups
_PICTURE = 13  # MSO_SHAPE_TYPE.PICTURE


def convert(file: ConvertFile) -> Converted:
    """Titles, texts, tables and notes, in reading order."""
    from pptx import Presentation

    refuse_encrypted(file, "presentation")
    refuse_bombs(file.path, file, "presentation")
    try:
        deck = Presentation(file.path)
        slides = list(deck.slides)
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise ConvertError("damaged", f"is no presentation that can be read ({str(error)[:200]})", "Open it in its own program and save it again.") from error  # fmt: skip
    segments: list[Segment] = []
    warnings: list[str] = []
    pictures: list[Attachment] = []
    for number, slide in enumerate(slides, 1):
        try:
            text = _slide(slide, pictures, number)
        except (KeyError, ValueError, AttributeError, TypeError) as error:
            warnings.append(f"slide {number} is damaged ({type(error).__name__})")
            continue
        if text.strip():
            segments.append(Segment(f"slide-{slide.slide_id}", text, page=number))
    core = deck.core_properties
    return Converted(
        title=(core.title or "").strip()
        or next((s.text.splitlines()[0].lstrip("# ") for s in segments if s.text.startswith("## ")), ""),
        segments=tuple(segments),
        created=_aware(core.created),
        modified=_aware(core.modified),
        people=(Person(name=core.author.strip(), role="author"),) if (core.author or "").strip() else (),
        attachments=tuple(pictures),
        media_type="application/vnd.openxmlformats-officedocument.presentationml.presentation",
        warnings=tuple(warnings),
    )


def _aware(moment: Any) -> Any:
    from datetime import UTC

    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _slide(slide: Any, pictures: list[Attachment], number: int) -> str:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    parts = [f"## {heading}"] if heading else []
    for shape in _shapes(slide.shapes, 0):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_text_frame", False):
            parts.append(_paragraphs(shape.text_frame))
        elif getattr(shape, "has_table", False):
            rows = [[" ".join(cell.text.split()).replace("|", "\\|") for cell in row.cells] for row in shape.table.rows]
            parts.append(markdown_table(rows))
        elif shape.shape_type == _PICTURE:
            pictures.append(Attachment(f"s{number}-{shape.shape_id}", shape.name or "picture", _picture_type(shape)))
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
        parts.append("Notes:\n\n" + _paragraphs(notes))
    return "\n\n".join(part for part in parts if part.strip())


def _picture_type(shape: Any) -> str:
    """Empty for a picture that lies elsewhere, or of a kind that cannot be told."""
    try:
        return str(shape.image.content_type)
    except Exception:  # the library opens the picture, which may be anything
        return ""


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:
    """Shapes from top to bottom, then from left to right, through groups."""
    placed = sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))
    for shape in placed:
        if hasattr(shape, "shapes"):
            if depth < _MAX_DEPTH:
                yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _paragraphs(frame: Any) -> str:
    lines: list[str] = []
    for paragraph in frame.paragraphs:
        text = " ".join("".join(run.text for run in paragraph.runs).replace("\v", " ").split()) or " ".join(
            paragraph.text.split()
        )
        if text:
            lines.append(f"{'  ' * paragraph.level}- {text}" if paragraph.level else text)
    return "\n".join(lines)
