"""An item without some of its messages, paragraphs and names, and how texts are compared for that."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from sapwood.sdk.sources import CanonicalisedSource, Kind, Segment
from sapwood.text.fold import CJK_CLASS, fold
from sapwood.text.markdown import BlockKind, blocks

__all__ = ["Cut", "normal", "scopes_of", "units", "without"]

_MARKS = re.compile(r"[*_`~\\]")
_CJK_BREAK = re.compile(rf"(?<=[{CJK_CLASS}])\s+(?=[{CJK_CLASS}])")
_ENTRY = re.compile(r"\s{0,12}(?:[-*+]|\d{1,4}[.)])\s")


def normal(text: str, *, as_written: bool = False) -> str:
    """A text as it is compared: without the signs of Markdown and those that nobody sees, with single spaces, none between Chinese.

    `as_written` keeps capitals, width and writing; otherwise they are folded.
    """
    seen = (
        "".join(sign for sign in _MARKS.sub("", text) if unicodedata.category(sign) != "Cf")
        if not text.isascii()
        else _MARKS.sub("", text)
    )
    kept = " ".join((seen if as_written else fold(seen)).split())
    return kept if kept.isascii() else _CJK_BREAK.sub("", kept)


def scopes_of(source: CanonicalisedSource) -> list[str]:
    """All that an item belongs to: its own source, the folders around it, its connection."""
    owner = ":".join(source.item_id.split(":", 2)[:2])
    return [source.source_id, *(f"{owner}:{c.id}/" for c in source.metadata.container), f"{owner}:/"]


@dataclass(frozen=True, slots=True)
class Cut:
    """An item without what is to be forgotten (None when nothing is left), and the texts that were taken out."""

    source: CanonicalisedSource | None
    segments: tuple[Segment, ...] = ()
    units: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True when nothing was taken out."""
        return self.source is not None and not (self.segments or self.units or self.names)


def without(
    source: CanonicalisedSource,
    *,
    segment: Callable[[Segment], bool],
    unit: Callable[[str], bool],
    name: Callable[[str], bool],
    blockwise: bool = False,
) -> Cut:
    """Take out of an item the messages, paragraphs and names for which these are true.

    A message of a chat goes as a whole; of a mail or document, the paragraph, the entry of a list or the row of a table. `blockwise` asks
    about whole blocks before their lines: what reads as a list or a talk here may have read as a paragraph where it was forgotten.
    """
    gone: list[Segment] = []
    cut: list[str] = []
    names: list[str] = []
    kept: list[Segment] = []

    def stays(*texts: str) -> bool:
        found = [text for text in texts if text and name(text)]
        names.extend(found)
        return not found

    for part in source.segments:
        if segment(part) or (source.kind is Kind.CHAT and unit(part.text)):
            gone.append(part)
            continue
        text = part.text if source.kind is Kind.CHAT else _without_units(part.text, unit, cut, blockwise=blockwise)
        headers = _without_names(part.headers, stays)
        if text.strip() or not part.text.strip():
            kept.append(
                part if (text, headers) == (part.text, part.headers) else replace(part, text=text, headers=headers)
            )
    data = source.metadata
    metadata = replace(
        data,
        people=tuple(p for p in data.people if stays(p.name, p.address, p.id)),
        tags=tuple(t for t in data.tags if stays(t)),
        attachments=tuple(a for a in data.attachments if stays(a.name, a.id)),
        warnings=tuple(w for w in data.warnings if stays(w)),
    )
    if not kept and source.segments:
        return Cut(None, tuple(gone), tuple(cut), tuple(names))
    if not (gone or cut or names):
        return Cut(source)
    return Cut(replace(source, segments=tuple(kept), metadata=metadata), tuple(gone), tuple(cut), tuple(names))


def _without_names(headers: tuple[tuple[str, str], ...], stays: Callable[..., bool]) -> tuple[tuple[str, str], ...]:
    """Headers of a mail without some of the people in them; the subject is its title, and not looked at here."""
    kept: list[tuple[str, str]] = []
    for header, value in headers:
        if header.lower() == "subject":
            kept.append((header, value))
            continue
        left = [who for who in map(str.strip, value.split(",")) if stays(who)]
        if left:
            kept.append((header, ", ".join(left)))
    return tuple(kept)


def _without_units(text: str, unit: Callable[[str], bool], cut: list[str], *, blockwise: bool) -> str:
    left: list[str] = []
    for block in blocks(text):
        whole = text[block.start : block.end]
        pieces = [whole[start:end] for start, end in _lines(whole, block.kind)]
        if blockwise and len(pieces) > 1 and unit(whole):
            pieces = [whole]
        elif blockwise and len(pieces) == 1 and block.kind is BlockKind.PARAGRAPH and not unit(whole):
            pieces = whole.splitlines(keepends=True)
        for piece in pieces:
            if piece.strip() and unit(piece):
                cut.append(piece.strip())
            else:
                left.append(piece)
    return "".join(left)


def units(text: str) -> list[str]:
    """The paragraphs of a text, and the entries and lines of which they are made; joined they are the text."""
    return [
        text[block.start : block.end][start:end]
        for block in blocks(text)
        for start, end in _lines(text[block.start : block.end], block.kind)
    ]


def _lines(text: str, kind: BlockKind) -> list[tuple[int, int]]:
    """Entries of a list with the lines that go on, rows of a table, lines of a paragraph that are talk; else the whole."""
    lines = text.splitlines(keepends=True)
    if kind is BlockKind.PARAGRAPH and not _is_talk(lines):
        return [(0, len(text))]
    if kind not in (BlockKind.LIST, BlockKind.TABLE, BlockKind.PARAGRAPH):
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    at = 0
    for line in lines:
        goes_on = kind is BlockKind.LIST and found and line.strip() and not _ENTRY.match(line)
        if goes_on:
            found[-1] = (found[-1][0], at + len(line))
        else:
            found.append((at, at + len(line)))
        at += len(line)
    return found


_SPEAKER = re.compile(r"(?:\[[^\]\n]{1,40}\]\s*)?[^\W\d_][^:：\n]{0,39}[:：]\s?\S")


def _is_talk(lines: list[str]) -> bool:
    """True for lines that each begin with somebody and a colon."""
    said = [line for line in lines if line.strip()]
    return len(said) > 1 and all(_SPEAKER.match(line.strip()) for line in said)
