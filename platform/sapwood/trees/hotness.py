"""How hot a person or a thing is: whether a topic tree is worth while.

hotness = ln(mentions + 1) + 0.5 × sources + recency + centrality + 2 × queries, all of the last thirty days. Recency is 1 for what was
named within a day, falls to 0.5 at seven days and to 0 at thirty; a time to come counts as now. Centrality is n / (n + 10) for n others
that are named in the same chunks. Twenty mentions in three sources, the last of them today, make 3.0 + 1.5 + 1.0 + up to 1.
"""

from __future__ import annotations

import math

from sapwood.store.hotness import Named

__all__ = ["ARCHIVED_BELOW", "CREATED_FROM", "WINDOW_MS", "hotness"]

CREATED_FROM = 5.0
ARCHIVED_BELOW = 2.0
_DAY_MS = 86_400_000
WINDOW_MS = 30 * _DAY_MS
_HALF_CENTRAL = 10


def hotness(named: Named, now_ms: int) -> float:
    """The sum of all parts; 0 for what nobody named or asked for."""
    centrality = named.neighbours / (named.neighbours + _HALF_CENTRAL)
    return (
        math.log(named.mentions + 1)
        + 0.5 * named.sources
        + _recency(named.last_ms, now_ms)
        + centrality
        + 2 * named.queries
    )


def _recency(last_ms: int | None, now_ms: int) -> float:
    if last_ms is None:
        return 0.0
    days = max(0, now_ms - last_ms) / _DAY_MS
    if days <= 1:
        return 1.0
    if days <= 7:
        return 1.0 - 0.5 * (days - 1) / 6
    return max(0.0, 0.5 * (30 - days) / 23)
