"""A person's words into full-text expressions. Every sign is literal: no query can be a syntax error."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from sapwood.text.fold import CJK_CLASS, fold, phrase_terms

# Function words say nothing about a passage; a query of nothing else keeps them.
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "she",
        "should",
        "so",
        "some",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "about",
        "after",
        "before",
        "during",
    ]
)
_TOKEN = re.compile(rf"[{CJK_CLASS}]+|(?:(?![{CJK_CLASS}])[^\W_])+(?:['’.\-_:/@+](?:(?![{CJK_CLASS}])[^\W_])+)*")
_CJK_RUN = re.compile(rf"^[{CJK_CLASS}]")
_PART = re.compile(r"[^\W_]+")
# Words that ask, and stand in the question only. Both scripts meet here, since the query is folded before.
_CJK_ASKING = re.compile(
    "什么时候|什么|哪[个些里年一种位]?|多少|如何|怎么样?|怎样|为何|为什么|几个|何[时人地处]|谁|请问|是否"
)
_LONGEST, _MOST_TERMS = 10_000, 256
_SHORT_RUN = 4  # a CJK run of up to so many characters is taken for a word


@dataclass(frozen=True, slots=True)
class Query:
    """`terms` are FTS5 phrases; a passage matches when it holds any of them, ranked by how many and how rare."""

    terms: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The terms joined by OR."""
        return " OR ".join(self.terms)

    @property
    def whole(self) -> str:
        """The terms joined by AND."""
        return " AND ".join(self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)


def parse(text: str) -> Query:
    """The query's terms, folded as the index is.

    A Latin word is a term; a word with inner marks (`POL-358`, `don't`, `20.04`) is a phrase, and when it holds no digit
    its parts are terms too. A CJK run of up to four characters is a word, found as a phrase and by its pairs; a longer
    one is a sentence, found by its characters and pairs
    without the words that ask (什么时候, 多少, 谁). Of a text that somebody pastes in, the first 10,000 characters and 256
    terms count.
    """
    words: list[str] = []
    for match in _TOKEN.finditer(fold(text[:_LONGEST])):
        token = match.group()
        if _CJK_RUN.match(token):
            words += _cjk_terms(token)
            continue
        parts = _PART.findall(token)
        words.append(" ".join(parts))
        if len(parts) > 1 and "'" not in token and "’" not in token and not any(c.isdigit() for c in token):
            words += parts
    kept = [word for word in words if word not in _STOP] or words
    return Query(tuple(f'"{word}"' for word in dict.fromkeys(kept))[:_MOST_TERMS])


def parse_name(text: str) -> Query:
    """A name as it stands: each run of words, and each of CJK signs, as one phrase."""
    phrases: list[str] = []
    words: list[str] = []
    for match in _TOKEN.finditer(fold(text[:_LONGEST])):
        if not _CJK_RUN.match(match.group()):
            words += _PART.findall(match.group())
            continue
        phrases += [" ".join(words), " ".join(phrase_terms(match.group()))]
        words = []
    return Query(tuple(f'"{phrase}"' for phrase in [*phrases, " ".join(words)] if phrase)[:_MOST_TERMS])


def _cjk_terms(run: str) -> list[str]:
    if len(run) <= 2:
        return [run]
    if len(run) <= _SHORT_RUN:
        return [" ".join(phrase_terms(run)), *_pairs(run)]
    parts = [part for part in _CJK_ASKING.split(run) if part] or [run]
    return [term for part in parts for term in (*part, *_pairs(part))]


def _pairs(run: str) -> list[str]:
    return [a + b for a, b in itertools.pairwise(run)]


_NAME_KINDS = ("person", "organization", "location", "product", "misc", "handle", "email", "hashtag")
_LONGEST_NAME, _LONGEST_CJK_NAME = 4, 6  # words, signs
_MAX_WORDS = 40


def named_in(text: str) -> list[str]:
    """Ids that entities have which a query may name: runs of up to four words, and of two to six CJK signs."""
    lowered = text.lower()
    words = re.findall(rf"(?:(?![{CJK_CLASS}])[\w.@'’&+-])+", lowered)[:_MAX_WORDS]
    words = [word.strip(".'’-&") for word in words]
    names = {
        " ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + _LONGEST_NAME, len(words)) + 1)
    }
    for run in re.findall(rf"[{CJK_CLASS}]+", lowered[:200]):
        names |= {run[i:j] for i in range(len(run)) for j in range(i + 2, min(i + _LONGEST_CJK_NAME, len(run)) + 1)}
    names = {name.lstrip("@#") for name in names if len(name) > 1 and name not in _STOP}
    return [f"{kind}:{name}" for name in sorted(names) for kind in _NAME_KINDS]
