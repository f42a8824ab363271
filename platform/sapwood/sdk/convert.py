"""Files to segments: what a `convert` hook is given and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from sapwood.sdk.sources import Attachment, DateSource, Kind, Person, Segment, _moment, _utc

__all__ = ["ConvertError", "ConvertFile", "ConvertLimits", "Converted", "Member"]


class ConvertError(Exception):
    """A file that should be read cannot be.

    Args:
        code: a short stable word: `encrypted`, `damaged`, `no_text`, `garbled`, `too_large`, `timeout`, `memory`, ….
        message: what is wrong with the file, in one clause, without its path.
        next_step: what the user can do.
        retryable: worth trying again although the file has not changed.
    """

    def __init__(self, code: str, message: str, next_step: str = "", *, retryable: bool = False) -> None:
        self.code = code
        self.message = message
        self.next_step = next_step
        self.retryable = retryable
        super().__init__(code, message, next_step, retryable)

    def __reduce__(self) -> tuple[Any, ...]:  # it crosses a process border
        return _rebuild_error, (self.code, self.message, self.next_step, self.retryable)


def _rebuild_error(code: str, message: str, next_step: str, retryable: bool) -> ConvertError:
    return ConvertError(code, message, next_step, retryable=retryable)


@dataclass(frozen=True, slots=True)
class ConvertLimits:
    """Limits of one conversion.

    Attributes:
        seconds, seconds_per_mb: wall time allowed is their sum over the file's size.
        memory_bytes: address space that the worker may add.
        unpacked_bytes: bytes that an archive or an office file may really inflate to.
        members: files that an archive may hold.
        depth: how deep archives may nest.
        text_bytes: largest plain file (text, Markdown, JSON, HTML) that is read.
    """

    seconds: float = 20.0
    seconds_per_mb: float = 1.0
    memory_bytes: int = 1024 * 1024 * 1024
    unpacked_bytes: int = 200 * 1024 * 1024
    members: int = 20_000
    depth: int = 4
    text_bytes: int = 64 * 1024 * 1024

    def time_for(self, size: int) -> float:
        """Seconds that a file of `size` bytes may take."""
        return self.seconds + self.seconds_per_mb * size / 1_000_000


@dataclass(frozen=True, slots=True)
class ConvertFile:
    """A file to be read.

    Attributes:
        path: where its bytes are; only for opening it.
        name: its name as the user knows it, with extension: decides which converter takes it.
        size: bytes.
        modified: aware, or None.
        workdir: an empty folder for unpacked members, removed by the host afterwards.
        passwords: to try on encrypted files, already resolved from their references.
        limits: what the conversion may use.
        zone: the user's time zone, set by the host: that of times which name none, as exported chats and notes do.
    """

    path: str
    name: str
    size: int
    modified: datetime | None = None
    workdir: str = ""
    passwords: tuple[str, ...] = ()
    limits: ConvertLimits = field(default_factory=ConvertLimits)
    zone: tzinfo = UTC

    @property
    def extension(self) -> str:
        """Lower case, without the dot; empty without one."""
        head, dot, tail = self.name.rpartition(".")
        return tail.lower() if dot and head and "/" not in tail else ""


@dataclass(frozen=True, slots=True)
class Member:
    """A file unpacked out of an archive: `name` inside the archive with `/`, `path` on disk, or why it was not unpacked."""

    name: str
    path: str = ""
    size: int = 0
    modified: datetime | None = None
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Converted:
    """What a file holds.

    Attributes:
        title: from the content or its metadata; empty when there is none (the file name then serves).
        segments: pages, sections, records or messages.
        kind: document, or chat and email for files that hold messages.
        created, modified: aware, as the content says; None when it does not.
        people, tags, attachments: as in `Metadata`.
        media_type: of the file.
        warnings: damaged pages, missing parts.
        truncated: why something was cut.
        members: for archives; `segments` is then empty.
        one_source: the members belong to one source, this file, as the mails of an mbox do.
    """

    title: str = ""
    segments: tuple[Segment, ...] = ()
    kind: Kind = Kind.DOCUMENT
    created: datetime | None = None
    modified: datetime | None = None
    people: tuple[Person, ...] = ()
    tags: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    media_type: str = ""
    warnings: tuple[str, ...] = ()
    truncated: str = ""
    members: tuple[Member, ...] = ()
    one_source: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "created", _utc(self.created, "created"))
        object.__setattr__(self, "modified", _utc(self.modified, "modified"))

    def date(self, fallback: datetime | None) -> tuple[datetime | None, DateSource]:
        """The document's date with its source: what it says of itself (modified, then created), else the file's."""
        said = self.modified or self.created
        if said:
            return said, DateSource.SAID
        return (fallback, DateSource.FILE) if fallback else (None, DateSource.UNKNOWN)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` gives an equal object back."""
        return {
            "title": self.title,
            "segments": [s.to_json() for s in self.segments],
            "kind": self.kind.value,
            "created": self.created and self.created.isoformat(),
            "modified": self.modified and self.modified.isoformat(),
            "people": [p.to_json() for p in self.people],
            "tags": list(self.tags),
            "attachments": [a.to_json() for a in self.attachments],
            "media_type": self.media_type,
            "warnings": list(self.warnings),
            "truncated": self.truncated,
            "one_source": self.one_source,
            "members": [
                [m.name, m.path, m.size, m.modified and m.modified.isoformat(), m.skipped] for m in self.members
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Converted:
        """The inverse of `to_json`."""
        return cls(
            title=data["title"],
            segments=tuple(Segment.from_json(s) for s in data["segments"]),
            kind=Kind(data["kind"]),
            created=_moment(data["created"]),
            modified=_moment(data["modified"]),
            people=tuple(Person.from_json(p) for p in data["people"]),
            tags=tuple(data["tags"]),
            attachments=tuple(Attachment.from_json(a) for a in data["attachments"]),
            media_type=data["media_type"],
            warnings=tuple(data["warnings"]),
            truncated=data["truncated"],
            one_source=data.get("one_source", False),
            members=tuple(Member(m[0], m[1], m[2], _moment(m[3]), m[4]) for m in data["members"]),
        )
