"""A clean item turned into everything that a commit writes, without touching disk or database."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any

from sapwood.clock import from_ms, to_ms
from sapwood.ingest.chunker import chunk, covered, pages_of
from sapwood.ingest.passages import is_dialogue, passage_text, split, text_hash
from sapwood.sdk.sources import CanonicalisedSource, DateSource, Kind, Segment, Span, render, unescape
from sapwood.store.items import ChunkRow, ItemRow
from sapwood.text.dates import date_words
from sapwood.text.fold import index_text
from sapwood.text.tokens import encoder
from sapwood.vault.chunkfile import body_sha256

dump = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
"""JSON as it is stored and hashed: keys sorted, text readable."""


@dataclass(frozen=True, slots=True)
class PreparedPassage:
    """A passage and its three columns of the full-text index."""

    start: int
    end: int
    timestamp_ms: int | None
    author: str
    native_id: str
    source_ref: str
    page: int | None
    fts: tuple[str, str, str]
    text_hash: int


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A chunk with its id and all that its row, its file and its passages need."""

    chunk_id: str
    seq: int
    start: int
    end: int
    prefix: str
    suffix: str
    content: str
    sha256: str
    tokens: int
    headings: tuple[str, ...]
    pages: tuple[int, ...]
    range_ms: tuple[int, int] | None
    source_ref: str


@functools.cache
def warm_up() -> None:
    """Load the table of tokens (about half a second), so that the first item does not wait for it."""
    encoder()


@dataclass(slots=True)
class ItemView:
    """What passages of an item are made from: its segments, their spans, and how it is dated and read."""

    kind: Kind
    title: str
    segments: tuple[Segment, ...]
    spans: list[Span]
    timestamp_ms: int | None
    date_source: DateSource
    dialogue: bool
    zone: tzinfo = UTC
    _dates: dict[int, str] = field(default_factory=dict)
    _titles: dict[tuple[str, ...], str] = field(default_factory=dict)

    def passages(self, row: ChunkRow) -> list[PreparedPassage]:
        """The passages of what a chunk shows. In a version that the user edited, its messages are unknown."""
        content = row.shown
        indices = covered(self.spans, row.start, row.end)
        shift = len(row.prefix) - row.start
        borders = [self.spans[i].start + shift for i in indices] if row.edited is None else []
        found: list[PreparedPassage] = []
        at = 0
        for passage in split(content, borders, self.dialogue, row.headings):
            owner = self._segment_at(borders, indices, passage.start, at)
            at = owner if owner is not None else at
            segment = self.segments[indices[owner]] if owner is not None else None
            said = to_ms(segment.at) if segment and segment.at else None
            moment = said if said is not None else self.timestamp_ms
            body = content[passage.start : passage.end]
            author = segment.author if segment else ""
            hashed = text_hash(passage_text(self.kind, author, body))
            if self.kind is Kind.CHAT and segment and body.startswith("## "):
                # The heading's stamp is one word to the index; author and day are indexed as people write them.
                body = f"{segment.author} {body.partition(chr(10))[2]}"
            found.append(
                PreparedPassage(
                    passage.start, passage.end, moment, author,
                    segment.native_id if segment else "", segment.ref if segment else "", segment.page if segment else None,
                    (self._title_words(passage.headings), index_text(body), self._date_words(said)),
                    hashed,
                )
            )  # fmt: skip
        return found

    @staticmethod
    def _segment_at(borders: list[int], indices: range, position: int, at: int) -> int | None:
        if not borders:
            return 0 if len(indices) == 1 else None
        while at + 1 < len(borders) and borders[at + 1] <= position:
            at += 1
        return at

    def _title_words(self, headings: tuple[str, ...]) -> str:
        if headings not in self._titles:
            self._titles[headings] = index_text(" ".join([self.title, *headings]))
        return self._titles[headings]

    def _date_words(self, said: int | None) -> str:
        """The words of a passage's day: its own, else its item's unless that is only a file's time."""
        moment = said
        if moment is None and self.date_source not in (DateSource.FILE, DateSource.UNKNOWN):
            moment = self.timestamp_ms
        if moment is None:
            return ""
        day = moment // 86_400_000
        if day not in self._dates:
            self._dates[day] = index_text(date_words(from_ms(moment), self.zone))
        return self._dates[day]


@dataclass(slots=True)
class PreparedItem:
    """An item ready to be committed."""

    source: CanonicalisedSource
    text: str
    view: ItemView
    chunks: list[PreparedChunk]
    content_sha256: str
    metadata_sha256: str
    metadata_json: str
    author: str

    @property
    def segment_rows(self) -> list[list[Any]]:
        """The segments without their texts: ids, times, authors, links, pages, headers, spans."""
        return segment_rows(self.view.segments, self.view.spans)


def chunk_id(kind: str, source_id: str, seq: int, content: str) -> str:
    """SHA-256 over kind, source id, seq as four bytes big-endian and content, joined by zero bytes; 32 hex digits."""
    digest = hashlib.sha256(kind.encode() + b"\0" + source_id.encode("utf-8", "surrogatepass") + b"\0")
    digest.update(seq.to_bytes(4, "big") + b"\0")
    digest.update(content.encode())
    return digest.hexdigest()[:32]


def prepare(source: CanonicalisedSource, zone: tzinfo = UTC) -> PreparedItem:
    """Render, chunk and score a clean item."""
    text, spans = render(source.kind, source.segments)
    if not text.strip():  # a title alone is content too: every item has a chunk
        source = replace(source, segments=(Segment("title", source.title),))
        text, spans = render(source.kind, source.segments)
    data = source.metadata
    whole_range = (to_ms(data.time_range[0]), to_ms(data.time_range[1])) if data.time_range else None
    chunks: list[PreparedChunk] = []
    for seq, piece in enumerate(chunk(source.kind, text, spans)):
        content = piece.content(text)
        indices = covered(spans, piece.start, piece.end)
        own = [source.segments[i] for i in indices]
        moments = [to_ms(s.at) for s in own if s.at]
        chunks.append(
            PreparedChunk(
                chunk_id(source.kind.value, source.source_id, seq, content),
                seq, piece.start, piece.end, piece.prefix, piece.suffix, content, body_sha256(content), piece.tokens,
                piece.headings,
                pages_of(source.segments, indices),
                (min(moments), max(moments)) if moments else whole_range,
                next((s.ref for s in own if s.ref), data.source_ref),
            )
        )  # fmt: skip
    metadata = data.to_json()
    for volatile in ("fingerprint", "revision", "merge", "removed_segments", "timestamp", "date_source", "final"):
        metadata.pop(volatile, None)
    metadata_json = dump(metadata)
    timestamp_ms = to_ms(data.timestamp) if data.timestamp else None
    rows = segment_rows(source.segments, spans)
    author = _author(source)
    described = dump(
        [
            source.title,
            source.source_id,
            source.scope,
            source.kind.value,
            timestamp_ms,
            data.date_source.value,
            data.final,
            metadata,
            rows,
        ]
    )
    view = ItemView(
        source.kind,
        source.title,
        source.segments,
        spans,
        timestamp_ms,
        data.date_source,
        source.kind is Kind.DOCUMENT and is_dialogue(text),
        zone,
    )
    return PreparedItem(
        source, text, view, chunks,
        hashlib.sha256(text.encode()).hexdigest(),
        hashlib.sha256(described.encode("utf-8", "surrogatepass")).hexdigest(),
        metadata_json, author,
    )  # fmt: skip


def segment_rows(segments: tuple[Segment, ...], spans: list[Span]) -> list[list[Any]]:
    """See `PreparedItem.segment_rows`; `segments_from_rows` is the inverse."""
    return [
        [
            s.native_id,
            to_ms(s.at) if s.at else None,
            s.author,
            s.ref,
            s.page,
            [list(h) for h in s.headers],
            p.start,
            p.text_start,
            p.text_end,
            p.end,
        ]
        for s, p in zip(segments, spans, strict=True)
    ]


def segments_from_rows(rows: list[list[Any]], text: str | None) -> tuple[tuple[Segment, ...], list[Span]]:
    """Segments and spans; the segments' texts are empty when the item's text is not given."""
    segments = tuple(
        Segment(
            r[0],
            text[r[7] : r[8]] if text is not None else "",
            from_ms(r[1]) if r[1] is not None else None,
            r[2],
            r[3],
            r[4],
            tuple((n, v) for n, v in r[5]),
        )
        for r in rows
    )
    return segments, [Span(*r[6:10]) for r in rows]


def original_text(chunks: Iterable[ChunkRow]) -> str:
    """An item's text as it came in, out of its chunks: without what the user made of them."""
    return "".join(c.original[len(c.prefix) : len(c.original) - len(c.suffix) or None] for c in chunks)


def stored_segments(item: ItemRow, chunks: Iterable[ChunkRow]) -> tuple[Segment, ...]:
    """The segments of a stored item with their texts, as their authors wrote them."""
    kind = Kind(item.kind)
    segments, _ = segments_from_rows(item.segments, original_text(chunks))
    return tuple(replace(s, text=unescape(kind, s.text)) for s in segments)


def _author(source: CanonicalisedSource) -> str:
    people = source.metadata.people
    chosen = [p for p in people if p.role == "author"] or [p for p in people if p.role == "sender"]
    names = [p.name or p.address or p.id for p in chosen] or [s.author for s in source.segments if s.author]
    return ", ".join(list(dict.fromkeys(names))[:3])
