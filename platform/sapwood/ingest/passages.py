"""A chunk's content into passages, the unit of search: one message, or a few paragraphs, at most about 256 tokens.

A passage crosses no heading and no message. Where a document is a talk in writing (most lines begin with one of a few
names and a colon), each line is a message.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass

from sapwood.sdk.sources import Kind
from sapwood.text.borders import sentence_ends
from sapwood.text.markdown import BlockKind, blocks

PASSAGE_TOKENS = 256
_SAMPLE = 20_000  # characters that tell a talk in writing from prose
_SPEAKER = re.compile(
    r"(?:[-*>]\s+)?(?:\[[^\]\n]{1,40}\]\s*|\(?\d{1,2}:\d{2}(?::\d{2})?\)?\s*)?[*_]{0,2}([^\W\d_][\w .'’·\-]{0,39}?)[*_]{0,2}\s?[:：][*_]{0,2}\s?\S"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """`content[start:end]` of a chunk; `headings` joined is context for the index."""

    start: int
    end: int
    headings: tuple[str, ...] = ()


def passage_text(kind: Kind, author: str, body: str) -> str:
    """What a passage says, for its vector: a message without its heading's stamp, but with who said it."""
    if kind is Kind.CHAT and author and body.startswith("## "):
        return f"{author}: {body.partition(chr(10))[2].strip()}"
    return body.strip()


def text_hash(text: str) -> int:
    """64 bits of BLAKE2b, signed: texts with the same number are taken for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def estimate_tokens(text: str) -> int:
    """A cheap count: 4.2 characters a token for Latin, 0.8 tokens a character for what UTF-8 writes with three bytes."""
    if text.isascii():
        return int(len(text) / 4.2) + 1
    wide = (len(text.encode("utf-8", "replace")) - len(text)) / 2
    return int((len(text) - wide) / 4.2 + wide * 0.8) + 1


def is_dialogue(text: str) -> bool:
    """True when at least four lines, and three in five, open with a speaker, and the speakers recur."""
    if text.count(":", 0, _SAMPLE) + text.count("：", 0, _SAMPLE) < 4:
        return False
    lines = [line for line in text[:_SAMPLE].split("\n") if line.strip() and not line.startswith("#")]
    names = [m.group(1).lower() for line in lines if (m := _SPEAKER.match(line))]
    return len(names) >= 4 and len(names) >= 0.6 * len(lines) and len(set(names)) <= max(2, len(names) // 3)


def split(content: str, borders: list[int], dialogue: bool, headings: tuple[str, ...] = ()) -> list[Passage]:
    """The passages of a chunk, in order, blank ones left out.

    Args:
        content: the chunk as it is shown.
        borders: offsets in `content` where a message, page or record begins.
        dialogue: see `is_dialogue`.
        headings: the path that is open where the chunk begins.
    """
    edges = sorted({0, *(b for b in borders if 0 < b < len(content)), len(content)})
    found: list[Passage] = []
    path: list[tuple[int, str]] = list(enumerate(headings, 1))
    for start, end in itertools.pairwise(edges):
        found += _split_segment(content, start, end, dialogue, path)
    return found


def _split_segment(content: str, start: int, end: int, dialogue: bool, path: list[tuple[int, str]]) -> list[Passage]:
    found: list[Passage] = []
    at = start  # where the open passage begins
    size = 0
    fresh = False  # only a heading so far

    def close(stop: int) -> None:
        nonlocal at, size, fresh
        if content[at:stop].strip():
            found.append(Passage(at, stop, tuple(title for _, title in path)))
        at, size, fresh = stop, 0, False

    for block in blocks(content[start:end]):
        first, last = start + block.start, start + block.end
        if block.kind is BlockKind.HEADING:
            if not fresh:
                close(first)
            path[:] = [entry for entry in path if entry[0] < block.level] + [(block.level, block.title)]
            fresh = True
            size += estimate_tokens(content[first:last])
            continue
        if dialogue and block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST):
            for line_start in _speaker_lines(content, first, last):
                if line_start > first or not fresh:
                    close(line_start)
                fresh = False
        tokens = estimate_tokens(content[at if dialogue else first : last])
        if size and not fresh and not dialogue and size + tokens > PASSAGE_TOKENS:
            close(first)
        if tokens > PASSAGE_TOKENS:
            for stop in _sentence_groups(content, at, last):
                close(stop)
        else:
            size += tokens
            fresh = False
    close(end)
    return found


def _speaker_lines(content: str, start: int, end: int) -> list[int]:
    starts = []
    at = start
    while 0 <= at < end:
        stop = content.find("\n", at, end)
        if _SPEAKER.match(content, at, stop if stop >= 0 else end):
            starts.append(at)
        at = stop + 1 if stop >= 0 else -1
    return starts


def _sentence_groups(content: str, start: int, end: int) -> list[int]:
    """Ends of groups of sentences of about 256 tokens each; a sentence that is longer is cut."""
    text = content[start:end]
    stops: list[int] = []
    group = 0  # where the open group begins
    for at, stop in zip([0, *(ends := sentence_ends(text))], ends, strict=False):
        if at > group and estimate_tokens(text[group:stop]) > PASSAGE_TOKENS:
            stops.append(at)
            group = at
        while estimate_tokens(text[group:stop]) > PASSAGE_TOKENS:
            cut = group + max(1, int((stop - group) * PASSAGE_TOKENS / estimate_tokens(text[group:stop])))
            space = text.rfind(" ", group + (cut - group) // 2, cut)
            cut = space + 1 if space > 0 else cut
            stops.append(cut)
            group = cut
    stops.append(len(text))
    return [start + s for s in dict.fromkeys(stops)]
