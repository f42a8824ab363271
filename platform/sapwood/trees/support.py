"""Whether a text that a model wrote is borne out by what it was given: its length, its language, its names and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sapwood.text.entities import find_entities
from sapwood.text.fold import fold
from sapwood.text.languages import language_of
from sapwood.text.names_cjk import chinese_names
from sapwood.text.tokens import count_tokens

__all__ = ["CITED", "objections", "unsupported"]

CITED = re.compile(r"\[(\d{1,4})\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CAPITALISED = re.compile(r"(?<![\w'’-])[A-ZÀ-ÖØ-Þ][\w'’-]*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_BREAK = re.compile(r"[.!?:;。！？：；\n\"“”(（*]\s*$")
_NAMES = ("person", "organization", "location", "product", "event", "email", "handle", "url")


def objections(text: str, inputs: Sequence[str], most_tokens: int) -> str:
    """Why a summary of these texts cannot be taken; empty when it can.

    Args:
        text: what the model wrote, with citations `[n]` of the inputs.
        inputs: the texts that it tells of.
        most_tokens: how long it may be.
    """
    said = CITED.sub("", text).strip()
    whole = "\n".join(inputs)
    if not said:
        return "it says nothing"
    numbers = {int(n) for n in CITED.findall(text)}
    if not numbers & set(range(1, len(inputs) + 1)):
        return "it cites nothing of what it was given"
    if (length := count_tokens(said)) > most_tokens:
        return f"it is longer than it may be: {length} tokens instead of {most_tokens}"
    ours, theirs = language_of(whole), language_of(said)
    if ours and theirs and ours != theirs:
        return f"it is written in another language ({theirs}) than what it tells of ({ours})"
    invented = unsupported(said, whole)
    if invented:
        return "it names what it was not given: " + ", ".join(invented[:5])
    return ""


def unsupported(text: str, source: str) -> list[str]:
    """Names and numbers of a text that do not stand in its source, in their order.

    A name is a word with a capital letter inside of a sentence, or what the rules for entities find. Numbers are compared by value, so
    that `05` and `5`, `1,000` and `1000` are the same.
    """
    folded, text = fold(source).replace("_", " "), text.replace("_", " ")  # signs of emphasis, no parts of words
    words = set(_WORD.findall(folded))
    values = {_value(n) for n in _NUMBER.findall(folded)} | {
        _value(part) for n in _NUMBER.findall(folded) for part in re.split(r"[.,]", n)
    }
    found: list[tuple[int, str]] = []
    for match in _NUMBER.finditer(text):
        if _value(match[0]) not in values:
            found.append((match.start(), match[0]))
    for match in _CAPITALISED.finditer(text):
        begins = match.start() == 0 or _BREAK.search(text[: match.start()]) is not None
        if not begins and not _stands_in(fold(match[0]), words, folded):
            found.append((match.start(), match[0]))
    for entity in find_entities(text, (), chinese_names(text)):
        if entity.kind in _NAMES and not all(_stands_in(part, words, folded) for part in fold(entity.surface).split()):
            found.append((entity.start, entity.surface))
    return list(dict.fromkeys(surface for _, surface in sorted(found)))


def _value(number: str) -> str:
    digits = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", number).replace(",", ".")
    return digits.lstrip("0") or "0"


def _stands_in(word: str, words: set[str], text: str) -> bool:
    base = re.sub(r"['’]s?$", "", word).strip("_")
    return word in words or base in words or (base in text if not base.isascii() or not base.isalpha() else False)
