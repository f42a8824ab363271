"""The little of Markdown that ingest must know: front matter, headings, fences, tables, paragraphs.

A line scanner, not a parser: it must give exact offsets, never fail, and cost little per line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$")
_TABLE_RULE = re.compile(
    r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$|^ {0,3}\|[ \t]*:?-+:?[ \t]*\|[ \t]*$"
)
_PARAGRAPHS = re.compile(r"(?:[^\S\n]*\S[^\n]*(?:\n|\Z))+")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


class BlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    FENCE = "fence"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Markdown: `text[start:end]`, blank lines after it included, so that blocks joined give the text.

    `level` and `title` are set for headings; `head_end` is the offset after a table's header rows or a fence's
    opening line, equal to `start` for all else.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""
    head_end: int = 0


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    size = len(text)
    while start < size:
        stop = text.find("\n", start)
        end = size if stop < 0 else stop + 1
        yield start, end, text[start : end - 1 if stop >= 0 else end]
        start = end


def blocks(text: str) -> list[Block]:
    """The blocks of a text in order; their slices joined are the text."""
    if "```" in text or "~~~" in text:  # a fence may hold blank lines, so only a line scan sees its end
        return _scan(text, 0)
    starts = [match.start() for match in _PARAGRAPHS.finditer(text)]
    found: list[Block] = []
    # Blank lines at the very start belong to the first block, those after a block to that block.
    for start, end in itertools.pairwise([0, *starts[1:], len(text)] if starts else []):
        part = text[start:end]
        if "#" in part or "|" in part:
            found += _scan(part, start)
        else:
            kind = BlockKind.LIST if _LIST_ITEM.match(part.lstrip("\n")) else BlockKind.PARAGRAPH
            found.append(Block(kind, start, end, head_end=start))
    if not found and text:
        found.append(Block(BlockKind.PARAGRAPH, 0, len(text)))
    return found


def _scan(text: str, shift: int) -> list[Block]:
    """The blocks of a text line by line, their offsets shifted."""
    found: list[Block] = []
    lines = list(_lines(text))
    at = 0
    pending_start = 0
    while at < len(lines):
        if not lines[at][2].strip():
            at += 1
            continue
        block, at = _one_block(lines, at)
        while at < len(lines) and not lines[at][2].strip():
            at += 1
        end = lines[at][0] if at < len(lines) else len(text)
        head_end = block.head_end or pending_start
        found.append(Block(block.kind, pending_start + shift, end + shift, block.level, block.title, head_end + shift))
        pending_start = end
    return found


def _one_block(lines: list[tuple[int, int, str]], at: int) -> tuple[Block, int]:
    start, end, line = lines[at]
    if fence := _FENCE.match(line):
        mark = fence.group(1)
        stop = at + 1
        while stop < len(lines):
            inner = lines[stop][2].strip()
            stop += 1
            if inner.startswith(mark) and not inner.strip(mark[0]):
                break
        return Block(BlockKind.FENCE, start, lines[stop - 1][1], head_end=end), stop
    if heading := _HEADING.match(line):
        return Block(BlockKind.HEADING, start, end, len(heading.group(1)), (heading.group(2) or "").strip()), at + 1
    if "|" in line and at + 1 < len(lines) and _TABLE_RULE.match(lines[at + 1][2]):
        stop = at + 2
        while stop < len(lines) and "|" in lines[stop][2]:
            stop += 1
        return Block(BlockKind.TABLE, start, lines[stop - 1][1], head_end=lines[at + 1][1]), stop
    kind = BlockKind.LIST if _LIST_ITEM.match(line) else BlockKind.PARAGRAPH
    stop = at + 1
    while stop < len(lines):
        text = lines[stop][2]
        if not text.strip() or _FENCE.match(text) or _HEADING.match(text):
            break
        stop += 1
    return Block(kind, start, lines[stop - 1][1]), stop


def split_front_matter(text: str) -> tuple[str | None, str]:
    """The YAML between a first line `---` and the next line `---` or `...`, and the rest; None without one."""
    if not text.startswith("---"):
        return None, text
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        return None, text
    for start, end, line in _lines(rest):
        if line.rstrip() in ("---", "..."):
            return rest[:start], rest[end:]
        if end > 262_144:  # a front matter of over 256 KiB is a document that begins with a rule
            break
    return None, text
