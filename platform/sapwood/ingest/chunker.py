"""An item's text into chunks of at most 3,000 tokens.

A chunk is an exact slice of the text plus a prefix and a suffix (a repeated table header, a reopened fence); slices
joined give the text. Chats and mails pack whole messages; documents are cut at the strongest border that helps:
section, paragraph, sentence, grapheme cluster. Only the piece that does not fit is cut further.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace

from sapwood.sdk.sources import Kind, Segment, Span
from sapwood.text.borders import grapheme_cut, sentence_ends
from sapwood.text.markdown import Block, BlockKind, blocks
from sapwood.text.tokens import count_many, count_tokens, fitting

MAX_TOKENS = 3000
_PARAGRAPH = 7  # border strengths: heading levels 1 to 6, then paragraphs, then pieces of one
_PIECE = 8
_USUAL_TOKEN = 4  # characters of a token in English prose; fewer in every other script
_LONGEST_TOKEN = 8  # characters a token has at most, on the average of any text but long runs of blanks


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]` with what stands around it.

    `headings` is the path of headings at its start, `tokens` the count of prefix, slice and suffix.
    """

    start: int
    end: int
    tokens: int
    prefix: str = ""
    suffix: str = ""
    headings: tuple[str, ...] = ()

    def content(self, text: str) -> str:
        """What is stored, hashed and shown."""
        return f"{self.prefix}{text[self.start : self.end]}{self.suffix}"


@dataclass(frozen=True, slots=True)
class _Atom:
    """A slice that is not cut any more; `border` is the strength of the border before it, 1 the strongest."""

    start: int
    end: int
    tokens: int
    border: int
    prefix: str = ""
    suffix: str = ""


def chunk(kind: Kind, text: str, spans: list[Span], limit: int = MAX_TOKENS) -> list[Piece]:
    """The chunks of an item in order; none for an empty text.

    Args:
        kind: chats and mails are cut between messages, documents by structure.
        text: the rendered item.
        spans: its segments, in order; for chats and mails they are the messages.
        limit: tokens a chunk may have, by the real tokenizer.
    """
    if not text:
        return []
    # A longer text is hardly ever short enough to stay whole; when it is, the grouping below leaves it so.
    if len(text) <= limit * _USUAL_TOKEN and (whole := count_tokens(text)) <= limit:
        return [Piece(0, len(text), whole)]
    if kind is Kind.DOCUMENT:
        atoms, headings = _document_atoms(text, spans, limit)
    else:
        atoms, headings = _message_atoms(text, spans, limit), None
    pieces: list[Piece] = []
    for group in _grouped(atoms, limit):
        pieces += _checked(text, group, limit)
    if headings:
        starts = [start for start, _ in headings]
        pieces = [replace(p, headings=headings[bisect_right(starts, p.start) - 1][1]) for p in pieces]
    return pieces


def _message_atoms(text: str, spans: list[Span], limit: int) -> list[_Atom]:
    edges = sorted({0, *(s.start for s in spans if s.end > s.start), len(text)})
    slices = list(itertools.pairwise(edges))
    counts = count_many([text[a:b] for a, b in slices])
    atoms: list[_Atom] = []
    for (start, end), tokens in zip(slices, counts, strict=True):
        if tokens <= limit:
            atoms.append(_Atom(start, end, tokens, _PARAGRAPH))
        else:  # one message that is too long: its pieces are packed with no neighbour
            atoms += _prose_atoms(text, start, end, limit, 1)
    return atoms


def _document_atoms(text: str, spans: list[Span], limit: int) -> tuple[list[_Atom], list[tuple[int, tuple[str, ...]]]]:
    """Atoms, and the heading path from each offset on."""
    edges = [s.start for s in spans if s.end > s.start] or [0]
    if edges[0] != 0:
        edges.insert(0, 0)
    edges.append(len(text))
    found: list[tuple[Block, int]] = []
    for start, end in itertools.pairwise(edges):
        found += [(block, start) for block in blocks(text[start:end])]
    counts = count_many([text[at + b.start : at + b.end] for b, at in found])
    atoms: list[_Atom] = []
    paths: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    path: list[tuple[int, str]] = []
    glued = 0  # strength of a heading that waits for the block that it introduces
    for (block, at), tokens in zip(found, counts, strict=True):
        start, end = at + block.start, at + block.end
        if block.kind is BlockKind.HEADING:
            path = [entry for entry in path if entry[0] < block.level] + [(block.level, block.title)]
            paths.append((start, tuple(title for _, title in path)))
        border = block.level if block.kind is BlockKind.HEADING else _PARAGRAPH
        if tokens <= limit:
            atoms.append(_Atom(start, end, tokens, _PIECE if glued and border > glued else border))
        elif block.kind is BlockKind.TABLE:
            atoms += _framed_atoms(
                text, start, at + block.head_end, end, limit, border, text[start : at + block.head_end], ""
            )
        elif block.kind is BlockKind.FENCE:
            opening = text[start : at + block.head_end]
            mark = opening.strip()[:3]
            atoms += _framed_atoms(text, start, at + block.head_end, end, limit, border, opening, f"{mark}\n")
        else:
            atoms += _prose_atoms(text, start, end, limit, border)
        glued = border if block.kind is BlockKind.HEADING else 0
    return atoms, paths


def _framed_atoms(
    text: str, start: int, body: int, end: int, limit: int, border: int, prefix: str, suffix: str
) -> list[_Atom]:
    """Lines of a table or a fence, each group with the header repeated before it and the fence closed after it."""
    frame = count_tokens(prefix) + count_tokens(suffix) + 2
    if frame > limit // 2:
        return _prose_atoms(text, start, end, limit, border)
    atoms: list[_Atom] = []
    at = start
    position = body
    room = limit - frame
    while at < end:
        stop = _fill(text, at if at == start else position, end, room, _line_ends)
        first, last = at == start, stop >= end
        head = "" if first else prefix
        tail = "" if last else suffix
        if not last and suffix and text[stop - 1 : stop] != "\n":
            tail = "\n" + suffix
        tokens = count_tokens(head + text[at:stop] + tail)
        atoms.append(_Atom(at, stop, tokens, border if first else 1, head, tail))
        at = position = stop
    return atoms


def _prose_atoms(text: str, start: int, end: int, limit: int, border: int) -> list[_Atom]:
    atoms: list[_Atom] = []
    at = start
    while at < end:
        stop = _fill(text, at, end, limit, sentence_ends)
        atoms.append(_Atom(at, stop, count_tokens(text[at:stop]), border if at == start else 1))
        at = stop
    return atoms


def _line_ends(text: str) -> list[int]:
    ends = [i + 1 for i, c in enumerate(text) if c == "\n"]
    if not ends or ends[-1] != len(text):
        ends.append(len(text))
    return ends


def _fill(text: str, start: int, end: int, limit: int, borders: Callable[[str], list[int]]) -> int:
    """The last border after `start` up to which the text fits; a grapheme border when none does."""
    # A longer fitting text (runs of blanks) is only cut earlier than it might be.
    window = text[start : min(end, start + limit * _LONGEST_TOKEN)]
    fits = fitting(window, limit)
    if start + fits == end:
        return end
    ends = [e for e in borders(window) if e <= fits]
    if ends and ends[-1] > 0:
        return start + ends[-1]
    line = window.rfind("\n", 0, fits) + 1
    space = window.rfind(" ", 0, fits) + 1
    cut = max(line, space if space > fits // 2 else 0) or grapheme_cut(window, fits)
    return start + max(cut, 1)


def _grouped(atoms: list[_Atom], limit: int) -> list[list[_Atom]]:
    """Neighbours packed together, parted at the strongest borders first."""
    if sum(a.tokens for a in atoms) <= limit and not any(a.prefix or a.suffix for a in atoms):
        return [atoms]
    if len(atoms) == 1:
        return [atoms]
    strongest = min(a.border for a in atoms[1:])
    parts: list[list[_Atom]] = [[atoms[0]]]
    for atom in atoms[1:]:
        if atom.border == strongest:
            parts.append([atom])
        else:
            parts[-1].append(atom)
    groups: list[list[_Atom]] = []
    room = 0
    open_group: list[_Atom] | None = None
    for part in parts:
        size = sum(a.tokens for a in part)
        framed = any(a.prefix or a.suffix for a in part)
        if open_group is not None and not framed and size <= room:
            open_group += part
            room -= size
        elif size <= limit and not framed:
            open_group = list(part)
            groups.append(open_group)
            room = limit - size
        else:
            groups += _grouped(part, limit) if len(part) > 1 else [part]
            open_group = None
    return groups


def _checked(text: str, group: list[_Atom], limit: int) -> list[Piece]:
    """One piece of the group; two when joining its atoms made more tokens than their sum allows."""
    first, last = group[0], group[-1]
    piece = Piece(first.start, last.end, 0, first.prefix, last.suffix)
    tokens = first.tokens if len(group) == 1 else count_tokens(piece.content(text))
    if tokens <= limit or len(group) == 1:
        return [replace(piece, tokens=tokens)]
    half = len(group) // 2
    return _checked(text, group[:half], limit) + _checked(text, group[half:], limit)


def covered(spans: list[Span], start: int, end: int) -> range:
    """Indices of the segments that have text in `[start, end)`."""
    first = bisect_right([s.end for s in spans], start)
    last = bisect_left([s.start for s in spans], end)
    return range(first, max(first, last))


def pages_of(segments: tuple[Segment, ...], indices: range) -> tuple[int, ...]:
    """The page numbers of these segments, without repeats."""
    return tuple(dict.fromkeys(page for i in indices if (page := segments[i].page) is not None))
