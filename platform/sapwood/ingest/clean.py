"""The first two steps of the hot path: normalise and redact everything of an item that will be stored.

Bodies, titles, names and tags get every rule; links and ids only those that keep them working.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sapwood.sdk.sources import CanonicalisedSource, Container, DateSource, Person, Segment
from sapwood.text.normalise import normalise, one_line, repair_glyphs
from sapwood.text.redact import Redaction

_FIRST_YEAR, _LAST_YEAR = 1000, 9000
_GLYPH_TEXT = frozenset({"application/pdf"})


def clean(source: CanonicalisedSource, redaction: Redaction, owner: str = "") -> CanonicalisedSource:
    """The item as it may be stored; hits are counted in `redaction`. `owner` is for items that name none."""
    glyphs = source.metadata.media_type in _GLYPH_TEXT

    def body(text: str) -> str:
        text = normalise(text)
        return redaction.text(repair_glyphs(text) if glyphs else text)

    def line(text: str) -> str:
        return redaction.text(one_line(text)) if text else ""

    def name(text: str) -> str:
        return line(text).replace("[[", "[").replace("]]", "]")  # it stands on many pages, where it may be no link

    def link(text: str) -> str:
        return redaction.reference(one_line(text)) if text else ""

    def segment(part: Segment) -> Segment:
        return Segment(
            redaction.identifier(one_line(part.native_id)),
            body(part.text),
            _calendar(part.at),
            name(part.author),
            link(part.ref),
            part.page,
            tuple((header, line(value)) for header, value in part.headers),
        )

    def person(part: Person) -> Person | None:
        fields = redaction.identifier(one_line(part.id)), name(part.name), line(part.address)
        return Person(*fields, part.role) if any(fields) else None

    data = source.metadata
    odd = [
        m
        for m in (data.timestamp, *(data.time_range or ()), *(part.at for part in source.segments))
        if m is not None and _calendar(m) is None
    ]
    if odd:  # nobody wrote then, and local times of it may lie beyond the calendar
        told = f"dates of the year {odd[0].year} were left out"
        moment = _calendar(data.timestamp)
        data = replace(
            data, timestamp=moment, time_range=(moment, moment) if moment else None, date_source=data.date_source if moment else DateSource.UNKNOWN,
            warnings=(*data.warnings, told),
        )  # fmt: skip
    metadata = replace(
        data,
        owner=line(data.owner) if data.owner else owner,
        source_ref=link(data.source_ref),
        tags=tuple(dict.fromkeys(filter(None, map(line, data.tags)))),
        people=tuple(filter(None, map(person, data.people))),
        container=tuple(Container(redaction.identifier(one_line(c.id)), line(c.name)) for c in data.container),
        thread_id=redaction.identifier(one_line(data.thread_id)) if data.thread_id else "",
        attachments=tuple(
            replace(a, id=redaction.identifier(one_line(a.id)), name=line(a.name), reason=line(a.reason))
            for a in data.attachments
        ),
        truncated=line(data.truncated),
        removed_segments=tuple(redaction.identifier(one_line(i)) for i in data.removed_segments),
        warnings=tuple(map(line, data.warnings)),
        fingerprint=replace(data.fingerprint, locator=redaction.identifier(data.fingerprint.locator))
        if data.fingerprint
        else None,
    )
    return CanonicalisedSource(
        redaction.identifier(source.item_id),
        redaction.identifier(source.source_id),
        redaction.identifier(source.scope),
        source.kind,
        line(source.title) or "Untitled",
        tuple(segment(part) for part in source.segments),
        metadata,
    )


def _calendar(moment: datetime | None) -> datetime | None:
    """A moment of a year in which something may have been written; None for others."""
    return moment if moment is not None and _FIRST_YEAR <= moment.year <= _LAST_YEAR else None
