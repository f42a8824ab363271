"""Whether a text that a model wrote is borne out by what it was given: its length, its language, its names and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sapwood.sdk.dates import ENGLISH_MONTHS
from sapwood.text.entities import find_entities
from sapwood.text.fold import fold
from sapwood.text.languages import language_of
from sapwood.text.names_cjk import chinese_names
from sapwood.text.tokens import count_tokens

__all__ = ["CITED", "objections", "unsupported"]

CITED = re.compile(r"\[(\d{1,4})\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DATED = re.compile(r"(?:\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})|(\d{1,2})月(\d{1,2})日")
# Words of one script; what belongs to a word in Latin letters is split off.
_LATIN = re.compile(r"[^\W\d_\u2e80-\uffff]+")
_BREAK = re.compile(r"(?:^|[.!?:;。！？：；…\n\"“”«»(（*–—-])\s*$")
_NAMES = ("person", "organization", "location", "product", "event", "email", "handle", "url")
# Signs of Chinese that stand for numbers, and words that do.
_COUNTS = re.compile(
    r"[一二三四五六七八九十百千万亿两]{2,}|[一二三四五六七八九十两][百千万亿]|\b(?:dozen|hundred|thousand|million|billion)s?\b",
    re.IGNORECASE,
)
_CAPITAL_NOUNS = ("de",)  # languages in which a capital says nothing about a word
_OPENERS = frozenset(
    """the a an this that these those it they he she we you i there here in on at by for from with to of and but or so then when while after before since
as if because although however also both each all some most many several no not one two three four five six seven eight nine ten first second third
last next finally later today yesterday tomorrow his her their its our my your who what where which how why about during until within under over
between among according instead meanwhile once another other others everyone everybody someone nobody nothing everything only even still just
according additionally furthermore moreover overall therefore thus""".split()  # noqa: SIM905
)


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

    A name is a word with a capital letter, at the beginning of a sentence only when it is not a common opener and stands nowhere in the
    source, or what the rules for entities find. Numbers are compared by value, so that `05` and `5`, `1,000` and `1000` are the same; the parts
    of a date are values, and its month's name is known.
    """
    folded, text = fold(source).replace("_", " "), text.replace("_", " ")  # signs of emphasis, no parts of words
    words = set(_LATIN.findall(folded))
    values = {_value(n) for n in _NUMBER.findall(folded)}
    for match in _DATED.finditer(folded):
        month, day = (part for part in match.groups() if part)
        values |= {_value(month), _value(day), match[0][:4]}
        words |= (
            {ENGLISH_MONTHS[int(month) - 1], ENGLISH_MONTHS[int(month) - 1][:3]} if 1 <= int(month) <= 12 else set()
        )
    found: list[tuple[int, str]] = [
        (m.start(), m[0])
        for m in _NUMBER.finditer(text)
        if _value(m[0]) not in values and not _in_date(m, text, values)
    ]
    found += [(m.start(), m[0]) for m in _COUNTS.finditer(text) if fold(m[0]).rstrip("s") not in folded]
    capitals = language_of(source) not in _CAPITAL_NOUNS
    for match in _LATIN.finditer(text):
        word = match[0]
        if not word[0].isupper() or fold(word) in words:
            continue
        begins = _BREAK.search(text[: match.start()]) is not None
        if (capitals and not begins) or (
            begins and capitals and fold(word) not in _OPENERS and not _is_common(word, words)
        ):
            found.append((match.start(), word))
    for entity in find_entities(text, (), chinese_names(text)):
        known = all(part in words or (not part.isascii() and part in folded) for part in _pieces(fold(entity.surface)))
        if entity.kind in _NAMES and not known and (not entity.surface.isascii() or capitals):
            found.append((entity.start, entity.surface))
    return list(dict.fromkeys(surface for _, surface in sorted(found)))


def _in_date(match: re.Match[str], text: str, values: set[str]) -> bool:
    """True for a number of a written date of which all parts are known."""
    return any(
        date.start() <= match.start() < date.end()
        and all(_value(part) in values for part in re.findall(r"\d+", date[0]))
        for date in _DATED.finditer(text)
    )


def _pieces(surface: str) -> list[str]:
    """The words of a name, those in Latin letters and those in others."""
    return _LATIN.findall(surface) + re.findall(r"[\u2e80-\uffff]+", surface)


def _is_common(word: str, words: set[str]) -> bool:
    """True for the beginning of a sentence that is a form of a word of the source: `Repairs` of `repair`."""
    base = fold(word)
    return any(base[:-cut] in words or base[:-cut] + "e" in words for cut in (1, 2, 3) if len(base) - cut >= 3) or any(
        base + end in words for end in ("s", "d", "ed", "ing")
    )


def _value(number: str) -> str:
    """A number without signs between its thousands, without zeros before it."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", number) and number.count(".") > 1:
        number = number.replace(".", "")
    return number.replace(",", ".").lstrip("0") or "0"
