"""Lines of a printed page back into paragraphs."""

from __future__ import annotations

import re
from collections import Counter

_CJK = (
    "\u2e80-\u2fdf\u3000-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U000323af"
)
_WIDE = re.compile(f"[{_CJK}]")
_CJK_GAP = re.compile(f"(?<=[{_CJK}])[ \u00a0]+(?=[{_CJK}])")
_LIST = re.compile(r"^\s*(?:[-•●▪◦·*–—■□◆]|\(?\d{1,3}[.)、]|[a-zA-Z][.)]|[一二三四五六七八九十]+、)\s*\S")
_END = re.compile(r"[.!?:。！？：；;…”\"』」)）]$")
_DIGITS = re.compile(r"\d+|\b[ivxlc]{1,6}\b", re.IGNORECASE)


def without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """The pages without the lines that stand at the top or bottom of most of them, page numbers counted as equal.

    At least four pages, and the line on 60 % of them, in the first or last two lines.
    """
    trimmed = [_trim(page) for page in pages]
    if sum(1 for page in trimmed if page) < 4:
        return trimmed
    filled = [page for page in trimmed if page]
    for edge in (slice(None, 2), slice(-2, None)):
        seen = Counter(shape for page in filled for shape in {_shape(line) for line in page[edge]})
        running = {shape for shape, count in seen.items() if shape and count >= 0.6 * len(filled)}
        for page in filled:
            page[edge] = [line for line in page[edge] if _shape(line) not in running]
    return trimmed


def _trim(page: list[str]) -> list[str]:
    lines = [line.rstrip() for line in page]
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _shape(line: str) -> str:
    return _DIGITS.sub("#", " ".join(line.split()).lower())


def join_lines(lines: list[str], headings: list[tuple[int, str]]) -> str:
    """A page's lines as paragraphs, with the bookmarks that point to it as headings.

    A line goes on in the next one when it is about as long as the page's long lines and the next one is no list item;
    a hyphen between a letter and a lower-case letter is taken out.
    """
    lines = [_CJK_GAP.sub("", line) for line in lines]
    widths = sorted(_width(line) for line in lines if line.strip())
    full = 0.8 * widths[int(len(widths) * 0.9)] if widths else 0.0
    open_titles = list(headings)
    out: list[str] = []
    paragraph = ""
    last = ""

    def close() -> None:
        nonlocal paragraph
        if paragraph:
            out.append(paragraph)
        paragraph = ""

    for line in lines:
        text = line.strip()
        if not text:
            close()
            last = ""
            continue
        level = _bookmark(text, open_titles)
        if level:
            close()
            out.append(f"\n{'#' * level} {text}\n")
            last = ""
            continue
        goes_on = (
            paragraph
            and last
            and _width(last) >= full
            and full >= 30
            and not _LIST.match(text)
            and not (_END.search(last) and _width(last) < 0.95 * full / 0.8)
        )
        if goes_on:
            paragraph = _joined(paragraph, text)
        elif paragraph and last:
            paragraph += "\n" + text
        else:
            paragraph = text
        last = line
    close()
    head = [f"{'#' * level} {title}\n" for level, title in open_titles]
    return "\n".join([*head, "\n\n".join(out)]).strip("\n")


def _bookmark(text: str, titles: list[tuple[int, str]]) -> int:
    """The level of the bookmark that this line is; that one is then used up."""
    plain = " ".join(text.split()).casefold()
    for at, (level, title) in enumerate(titles):
        if plain == title.casefold():
            titles.pop(at)
            return level
    return 0


def _joined(before: str, after: str) -> str:
    if before.endswith("-") and len(before) > 2 and before[-2].isalpha() and after[:1].islower():
        return before[:-1] + after
    wide = _WIDE.match(after) and _WIDE.match(before[-1])
    return before + ("" if wide else " ") + after


def _width(line: str) -> float:
    """Columns: a CJK character takes two."""
    return len(line) if line.isascii() else len(line) + len(_WIDE.findall(line))
