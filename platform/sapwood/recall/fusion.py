"""How the legs of a search and what is known of a passage come together in one score.

Everything is in units of BM25, so that the parts of a score add up and can be shown. `full` is what a passage would score
that holds every word of the query once: the sum of the words' weights.

Full text leads. A passage is lifted by its vector only as far as it is nearer in meaning than the best hits of the full
text are, by a margin: where the words lead to passages that also mean what the query means, nothing changes; where they
lead astray, as in a question in another language, the vectors come to the front. The margin is the wider, the more of the
query's words one passage holds already: words that stand together are seldom there by chance. Adding the cosine everywhere,
by rank or by score, ranked below full text alone on dated chats (`tests/bench`, LoCoMo).
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ENTITY_SHARE", "RECENCY_SHARE", "lifts", "recency"]

_BEST = 20  # hits of the full text whose meaning is looked at
_MARGIN = 0.1
_HELD_MARGIN = 0.2  # more, where one passage holds every word of the query
_FLOOR = 0.2  # unrelated texts have cosines of up to about this; without any word in common a hit needs more
_WEIGHT = 40.0
RECENCY_SHARE = 0.02
ENTITY_SHARE = 0.05
_HALF_LIFE_MS = 30 * 86_400_000.0


def lifts(
    ranked_by_text: Iterable[int], cosines: dict[int, float], full: float, held: float, strength: float
) -> dict[int, float]:
    """What the vectors add to the scores of passages, 0 for most.

    Args:
        ranked_by_text: passages as the full text ranks them, best first.
        cosines: of the passages nearest to the query, and of those that the full text found.
        full: the score of a passage with every word of the query.
        held: the best score of a passage for its own words.
        strength: of the model, 0 to 1, as measured.
    """
    if not strength:
        return {}
    best = [cosines.get(pid, 0.0) for pid, _ in zip(ranked_by_text, range(_BEST), strict=False)]
    margin = _MARGIN + (_HELD_MARGIN * min(held / full, 1.0) if full else 0.0)
    level = max(max(best, default=0.0) + margin, _FLOOR)
    weight = _WEIGHT * strength * (full or 1.0)
    return {pid: weight * (cosine - level) for pid, cosine in cosines.items() if cosine > level}


def recency(age_ms: float) -> float:
    """1 for now and the future, one half after thirty days, and so on."""
    return float(2.0 ** (-max(age_ms, 0.0) / _HALF_LIFE_MS))
