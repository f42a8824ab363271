"""The fast score of a chunk: the signals that need no extraction, so that the deep score has a start.

Weights and shapes are those of `mem_tree_score`'s specification; words are counted by the index's own terms, so that
Chinese has words too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sapwood.sdk.sources import Kind

_WEIGHTS = {"token_count": 1.0, "unique_words": 1.0, "metadata": 1.5, "source": 1.5, "interaction": 3.0, "entity": 1.0}
_METADATA = {Kind.DOCUMENT: 0.9, Kind.EMAIL: 0.8, Kind.CHAT: 0.5}
_SOURCE = {Kind.DOCUMENT: 0.70, Kind.EMAIL: 0.75, Kind.CHAT: 0.50}
# Each pattern begins with its mark, so that a text without the mark costs one search for a character.
_ENTITIES = (
    re.compile(r"https?://\S+"),
    re.compile(r"@[\w-]+(?:\.[\w-]+)*"),
    re.compile(r"#(?<!\w#)[^\W\d]\w+"),
    re.compile(r"-\d{2}-\d{2}(?!\d)"),
    re.compile(r"年\d{1,2}月"),
)
_SAMPLE = 4000  # characters and
_TERMS = 1500  # words of a chunk that the counting signals look at


@dataclass(frozen=True, slots=True)
class FastScore:
    """The signals, each 0 to 1, and their weighted mean."""

    total: float
    token_count: float
    unique_words: float
    metadata: float
    source: float
    interaction: float
    entity_density: float


def fast_score(kind: Kind, content: str, terms: list[str], tokens: int, tags: tuple[str, ...]) -> FastScore:
    """Score one chunk.

    Args:
        kind: of its item.
        content: the chunk.
        terms: its words as the full-text index has them (Chinese as characters and pairs).
        tokens: its exact count.
        tags: of its item; sent, reply, dm and mention count as interaction.
    """
    sample, terms = content[:_SAMPLE], terms[:_TERMS]
    entities = {found for pattern in _ENTITIES for found in pattern.findall(sample)}
    ratio = len(set(terms)) / len(terms) if terms else 0.0
    signals = {
        "token_count": _length(tokens),
        "unique_words": 0.5 if len(terms) < 5 else min(1.0, max(0.0, (ratio - 0.3) / 0.4)),
        "metadata": _METADATA[kind],
        "source": _SOURCE[kind],
        "interaction": _interaction(tags),
        "entity": min(1.0, len(entities) / max(tokens, 1) / 0.01),
    }
    total = sum(_WEIGHTS[name] * value for name, value in signals.items()) / sum(_WEIGHTS.values())
    return FastScore(
        round(total, 6), signals["token_count"], signals["unique_words"], signals["metadata"], signals["source"],
        signals["interaction"], signals["entity"],
    )  # fmt: skip


def _length(tokens: int) -> float:
    if tokens < 10:
        return 0.0
    if tokens < 30:
        return (tokens - 10) / 20
    if tokens <= 3000:
        return 1.0
    return max(0.5, 1.0 - 0.5 * (tokens - 3000) / 5000)


def _interaction(tags: tuple[str, ...]) -> float:
    gains = {"sent": 0.6, "reply": 0.5, "dm": 0.3, "mention": 0.2}
    found = [gains[tag] for tag in tags if tag in gains]
    return min(1.0, sum(found)) if found else 0.5
