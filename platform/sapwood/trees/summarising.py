"""What makes a summary out of its children: one protocol, whatever is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sapwood.text.tokens import count_tokens
from sapwood.trees.extractive import extract
from sapwood.trees.sentences import Part, entitled

__all__ = ["EXTRACTIVE", "Extractive", "Summariser", "cited", "target_tokens"]

EXTRACTIVE = "extractive"
OUTPUT_TOKENS = 5_000
_SHARE = 0.3  # of the input's tokens
_CITATION = 5  # tokens
_VERBATIM = 60  # tokens: less says nothing


class Summariser(Protocol):
    """Tells what its parts say."""

    @property
    def name(self) -> str:
        """What a summary records as its maker."""

    def summarise(self, parts: Sequence[Part], names: Sequence[str]) -> str:
        """Markdown in which `[n]` at the end of a line cites the nth part; empty when the parts say nothing.

        Raises:
            ModelError: a model that is asked cannot answer.
        """


def target_tokens(parts: Sequence[Part]) -> int:
    """Tokens that a summary of these parts may have: three tenths of theirs, at most 5,000."""
    whole = sum(count_tokens(part.text) + count_tokens(part.title) for part in parts)
    return min(whole, OUTPUT_TOKENS, max(_VERBATIM, int(_SHARE * whole)))


def cited(text: str, number: int) -> str:
    """Lines with a citation of the nth part at the end of the last one."""
    return f"{text} [{number}]"


class Extractive:
    """Chooses sentences; see `trees.extractive`."""

    name = EXTRACTIVE

    def summarise(self, parts: Sequence[Part], names: Sequence[str]) -> str:
        """One paragraph, or some lines, of each part that says anything."""
        numbers = {part.node_id: (number, part.title) for number, part in enumerate(parts, 1)}
        frame = sum(_CITATION + (count_tokens(part.title) + 3 if part.title else 0) for part in parts)
        paragraphs: list[str] = []
        most = min(OUTPUT_TOKENS, sum(count_tokens(part.text) for part in parts)) - frame
        for told in extract(list(parts), max(min(target_tokens(parts) - frame, most), 0), names, max(most, 0)):
            number, title = numbers[told.node_id]
            paragraphs.append(cited(entitled(title, told.text) if title else told.text, number))
        return "\n\n".join(paragraphs)
