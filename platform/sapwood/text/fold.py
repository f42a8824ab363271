"""Folding for search: two spellings that a reader takes for the same word get the same form.

NFKC (full and half width, ligatures, Kangxi radicals), lower case, Traditional to Simplified. Folding is by
character, never by phrase: a phrase table would fold a word one way in a text and another way in a query.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata

from sapwood.text.normalise import RADICALS

# Han with extensions and compatibility forms, kana, hangul, bopomofo: written without spaces, or (hangul) with
# endings that a word index misses.
CJK_CLASS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
CJK = re.compile(f"[{CJK_CLASS}]")
_RUN = re.compile(f"[{CJK_CLASS}]+")


@functools.cache
def _simplified() -> dict[int, str]:
    import opencc

    characters = [chr(c) for block in ((0x3400, 0xA000), (0xF900, 0xFB00), (0x20000, 0x2A6E0)) for c in range(*block)]
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {ord(a): b for a, b in zip(characters, converted, strict=True) if a != b}


def fold(text: str) -> str:
    """The search form of a text. Idempotent; length and offsets may change."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text.translate(RADICALS)).casefold()
    if CJK.search(text):
        text = text.translate(_simplified())
    return text


def _spread(match: re.Match[str]) -> str:
    run = match.group()
    if len(run) == 1:
        return f" {run} "
    pairs = [f"{a} {a}{b}" for a, b in itertools.pairwise(run)]
    return f" {' '.join(pairs)} {run[-1]} "


def index_text(text: str) -> str:
    """What the full-text index is given: folded, each CJK run as characters and overlapping pairs in one stream.

    `悬空引` becomes `悬 悬空 空 空引 引`, so that words of one and two characters are found, and a longer word is a
    phrase of neighbouring terms (`phrase_terms`).
    """
    folded = fold(text)
    return folded if folded.isascii() else _RUN.sub(_spread, folded)


def phrase_terms(run: str) -> list[str]:
    """The neighbouring terms that stand for a folded CJK run in the stream of `index_text`."""
    if len(run) == 1:
        return [run]
    terms = [run[:2]]
    for a, b in itertools.pairwise(run[1:]):
        terms += [a, a + b]
    return terms
