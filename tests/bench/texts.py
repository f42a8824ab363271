"""Made-up texts whose words are spread as in real ones: a few are everywhere, most are rare. Nothing is downloaded."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate

_SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
    "va",
    "we",
    "xi",
    "yo",
    "za",
    "bre",
    "cli",
    "dro",
    "fla",
    "gri",
    "plu",
    "sta",
    "tri",
]
_HAN = [chr(c) for c in range(0x4E00, 0x4E00 + 2400)]


@dataclass(frozen=True)
class Document:
    """A text with a title."""

    title: str
    text: str


class Writer:
    """Writes documents of about `size` characters, one in three of them Chinese; the same seed gives the same texts."""

    def __init__(self, seed: int, size: int = 4000) -> None:
        self._random = random.Random(seed)
        self._size = size
        self._words = [
            "".join(self._random.choice(_SYLLABLES) for _ in range(self._random.randint(1, 4))) for _ in range(20_000)
        ]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))
        self._han_weights = list(accumulate(1 / (rank + 10) for rank in range(len(_HAN))))

    def document(self, number: int) -> Document:
        """The next document."""
        chinese = number % 3 == 2
        parts = [f"# Part {number}\n"]
        size = 0
        while size < (self._size // 3 if chinese else self._size):
            paragraph = self._han() if chinese else self._latin()
            parts.append(paragraph)
            size += len(paragraph)
        return Document(f"Document {number}", "\n\n".join(parts))

    def _latin(self) -> str:
        sentences = []
        for _ in range(self._random.randint(2, 5)):
            words = self._random.choices(self._words, cum_weights=self._weights, k=self._random.randint(6, 18))
            sentences.append(" ".join(words).capitalize() + ".")
        return " ".join(sentences)

    def _han(self) -> str:
        sentences = []
        for _ in range(self._random.randint(2, 5)):
            sentences.append(
                "".join(self._random.choices(_HAN, cum_weights=self._han_weights, k=self._random.randint(8, 26))) + "。"
            )
        return "".join(sentences)
