"""The beginning of a note that says nothing by itself: headings, and lines such as `Date: 2023-05-12` or `日期：…`."""

from __future__ import annotations

import re
from datetime import UTC

from sapwood.sdk.dates import parse_date

__all__ = ["opening_end"]

_BLANK = re.compile(r"[ \t]*(?:\n|\Z)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)")
_PROPERTY = re.compile(
    r"[ \t*_]*(?P<label>[^\W\d_][\w -]{0,30}?)[ \t*_]*(?::[*_]*[ \t]+|：[*_]*[ \t]*)(?P<value>\S[^\n]{0,79})(?:\n|\Z)"
)
_SENTENCE = re.compile(r"[.!?](?=\s|\Z)|[。！？]")
_MOMENT = frozenset(
    "date datum fecha created updated modified published time 日期 时间 時間 创建时间 更新时间".split()  # noqa: SIM905
)
_ABOUT = frozenset(
    "title author authors by tag tags keywords aliases category categories lang language 标题 作者 标签 关键词 分类".split()  # noqa: SIM905
)


def opening_end(text: str) -> int:
    """Where what a note says begins; 0 where nothing else stands in it.

    Left out are headings, lines that name its date, author, title or tags, and a paragraph of two or more lines that all have a label.
    """
    at = 0
    while at < len(text):
        line = _BLANK.match(text, at) or _HEADING.match(text, at)
        end = line.end() if line else _properties_end(text, at)
        if end == at:
            return at
        at = end
    return 0


def _properties_end(text: str, start: int) -> int:
    labelled: list[re.Match[str]] = []
    at = start
    while at < len(text) and (line := _PROPERTY.match(text, at)):
        labelled.append(line)
        at = line.end()
    labels = [line["label"] for line in labelled]
    if (
        len(labels) == len(set(labels)) > 1  # in a talk somebody speaks again
        and _BLANK.match(text, at)
        and not any(_SENTENCE.search(line["value"]) for line in labelled)
    ):
        return at
    end = start
    for line in labelled:
        if not _is_about_the_note(line["label"].lower(), line["value"]):
            break
        end = line.end()
    return end


def _is_about_the_note(label: str, value: str) -> bool:
    if label in _MOMENT:
        return parse_date(value.strip(), UTC) is not None
    return label in _ABOUT and not _SENTENCE.search(value)
