"""The fast score of a chunk: the signals that need no extraction, so that the deep score has a start.

Weights and shapes are those of `mem_tree_score`'s specification; words are counted by the index's own terms, so that
Chinese has words too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sapwood.sdk.sources import Kind

# What the fast and the deep score have in common.
WEIGHTS = {
    "token_count": 1.0, "unique_words": 1.0, "metadata_weight": 1.5, "source_weight": 1.5, "interaction_weight": 3.0, "entity_density": 1.0,
}  # fmt: skip
METADATA = {Kind.DOCUMENT: 0.9, Kind.EMAIL: 0.8, Kind.CHAT: 0.5}
SOURCE = {Kind.DOCUMENT: 0.70, Kind.EMAIL: 0.75, Kind.CHAT: 0.50}
INTERACTION = {"sent": 0.6, "reply": 0.5, "dm": 0.3, "mention": 0.2}
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
    signals = {
        "token_count": length_signal(tokens),
        "unique_words": variety_signal(terms),
        "metadata_weight": METADATA[kind],
        "source_weight": SOURCE[kind],
        "interaction_weight": _interaction(tags),
        "entity_density": density_signal(len(entities), tokens),
    }
    return FastScore(
        weighted_mean(signals), signals["token_count"], signals["unique_words"], signals["metadata_weight"],
        signals["source_weight"], signals["interaction_weight"], signals["entity_density"],
    )  # fmt: skip


def weighted_mean(signals: dict[str, float]) -> float:
    """The total of all signals, rounded to six places."""
    return round(sum(WEIGHTS[name] * value for name, value in signals.items()) / sum(WEIGHTS.values()), 6)


def variety_signal(terms: Sequence[str]) -> float:
    """The share of different words: nothing at 0.3, all from 0.7 on; one half where there are too few to tell."""
    if len(terms) < 5:
        return 0.5
    return min(1.0, max(0.0, (len(set(terms)) / len(terms) - 0.3) / 0.4))


def density_signal(entities: int, tokens: int) -> float:
    """Different entities by tokens; one in a hundred is full."""
    return min(1.0, entities / max(tokens, 1) / 0.01)


def length_signal(tokens: int) -> float:
    """Nothing below 10 tokens, all from 30 to 3,000, falling to one half above."""
    if tokens < 10:
        return 0.0
    if tokens < 30:
        return (tokens - 10) / 20
    if tokens <= 3000:
        return 1.0
    return max(0.5, 1.0 - 0.5 * (tokens - 3000) / 5000)


def _interaction(tags: tuple[str, ...]) -> float:
    found = [INTERACTION[tag] for tag in tags if tag in INTERACTION]
    return min(1.0, sum(found)) if found else 0.5
