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
_LITTLE = 300  # tokens that are read at a glance: what is no longer is told whole


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


def target_tokens(whole: int) -> int:
    """Tokens that what is told may have: three tenths of the input's, at least 300 and at most 5,000, never more than there are."""
    return min(whole, OUTPUT_TOKENS, max(_LITTLE, int(_SHARE * whole)))


def cited(text: str, number: int) -> str:
    """Lines with a citation of the nth part at the end of the last one."""
    return f"{text} [{number}]"


class Extractive:
    """Chooses sentences; see `trees.extractive`."""

    name = EXTRACTIVE

    def summarise(self, parts: Sequence[Part], names: Sequence[str]) -> str:
        """One paragraph, or some lines, of each part that says anything."""
        numbers = {part.node_id: (number, part.title) for number, part in enumerate(parts, 1)}
        whole = sum(count_tokens(part.text) for part in parts)
        paragraphs: list[str] = []
        above = ""  # chunks of one source follow each other below its title, said once
        for told in extract(list(parts), target_tokens(whole), names, min(whole, OUTPUT_TOKENS)):
            number, title = numbers[told.node_id]
            paragraphs.append(cited(entitled(title, told.text) if title and title != above else told.text, number))
            above = title
        return "\n\n".join(paragraphs)
