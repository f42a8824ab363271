"""The one shape of every answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A passage that matched. `date` is RFC 3339 or None; `start` and `end` are offsets in the chunk."""

    text: str
    start: int
    end: int
    date: str | None
    author: str
    page: int | None
    source_ref: str
    native_id: str
    score: float


@dataclass(frozen=True, slots=True)
class RetrievalHit:
    """A leaf or a summary with all that is needed to trust it: date, author, title, origin, file, scores.

    `path` is the vault file relative to the workspace; `breakdown` adds up to `score`: `text`, `neighbours` and `item` are full text's share, `vector`
    that of the vectors; `cosine` says how near in meaning the best passage is, None where that is not known.
    A summary's `content` cites its nth child as `[n]`; `stale` says that something that it tells of has changed since.
    """

    node_id: str
    node_kind: str
    title: str
    author: str
    date: str | None
    date_source: str
    item_id: str
    source_id: str
    source_kind: str
    path: str
    content: str
    score: float
    breakdown: dict[str, float]
    passages: tuple[PassageHit, ...]
    time_range_start: str | None
    time_range_end: str | None
    source_ref: str
    child_ids: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    edited: bool = False
    cosine: float | None = None
    tree_id: str | None = None
    tree_kind: str | None = None
    tree_scope: str | None = None
    level: int = 0
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    summariser: str = ""
    stale: bool = False

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class QueryResponse:
    """Hits, best first. `total` counts before the limit; `legs` says which ways of searching were live; `told` are summaries of all
    that was asked for, where there are any."""

    hits: tuple[RetrievalHit, ...]
    total: int
    truncated: bool
    legs: dict[str, str] = field(default_factory=lambda: {"text": "live"})
    told: tuple[RetrievalHit, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "hits": [hit.to_json() for hit in self.hits],
            "total": self.total,
            "truncated": self.truncated,
            "legs": self.legs,
            "told": [hit.to_json() for hit in self.told],
        }
