"""What a file becomes: its converted text with title, dates and place as a source of the host."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from sapwood.sdk import (
    CanonicalisedSource,
    Container,
    Converted,
    DateSource,
    Fingerprint,
    Metadata,
    Segment,
    date_in_name,
)


def file_time(mtime_ns: int) -> datetime | None:
    """The moment of nanoseconds since 1970; None outside of the calendar."""
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def as_source(
    item_id: str, source_id: str, path: str, mark: Fingerprint, found: Converted, scope: str, zone: tzinfo
) -> CanonicalisedSource | None:
    """The source of a file at `path` below the root; None when it holds no text.

    Its date is what its content says, else that of its messages, else the day in its name (midnight in `zone`), else the
    file's own time.
    """
    segments = tuple(s for s in found.segments if s.text.strip())
    if not segments:
        return None
    name = path.rpartition("/")[2].rpartition("!")[2]
    stem = name.rpartition(".")[0] or name
    moment, source = found.date(file_time(mark.mtime_ns))
    times = _range(segments)
    if source is not DateSource.SAID:  # what its messages or its name say is worth more than the file's time
        if times:
            moment = times[1 if found.kind == "document" else 0]
            source = DateSource.HEADER if found.kind == "email" else DateSource.SAID
        elif named := date_in_name(stem, zone):
            moment, source = named, DateSource.SAID
    folders = path.replace("!/", "/").split("/")[:-1]
    metadata = Metadata(
        timestamp=moment,
        time_range=times if moment is None or found.kind != "document" else None,
        date_source=source,
        source_ref=path,
        tags=found.tags,
        people=found.people,
        container=tuple(Container("/".join(folders[: i + 1]), folder) for i, folder in enumerate(folders)),
        revision=f"{mark.digest}:{hashlib.sha256(path.encode()).hexdigest()[:8]}",
        attachments=found.attachments,
        truncated=found.truncated,
        fingerprint=mark,
        media_type=found.media_type,
        warnings=found.warnings,
    )
    paged = tuple(replace(s, ref=f"{path}#page={s.page}") if s.page and not s.ref else s for s in segments)
    return CanonicalisedSource(
        item_id, source_id, scope, found.kind, " ".join(found.title.split()) or stem, paged, metadata
    )


def _range(segments: tuple[Segment, ...]) -> tuple[datetime, datetime] | None:
    moments = [s.at for s in segments if s.at]
    return (min(moments), max(moments)) if moments else None
