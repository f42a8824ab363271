"""The canonical form of everything that a connector emits.

A `CanonicalisedSource` is Markdown plus metadata, made of segments (messages, pages, sections). All objects are
frozen, check themselves on construction, and round-trip through JSON. Times are aware and kept in UTC: a naive time
is refused, because nobody can tell later which zone it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

__all__ = [
    "Acl",
    "Attachment",
    "CanonicalisedSource",
    "Container",
    "DateSource",
    "Fingerprint",
    "Kind",
    "Metadata",
    "Person",
    "Segment",
    "Span",
    "render",
]

MAX_ID = 4096  # characters of an id; a path of a deep folder fits


class Kind(StrEnum):
    """The three shapes of content; they decide how it is rendered and chunked."""

    CHAT = "chat"
    EMAIL = "email"
    DOCUMENT = "document"


class DateSource(StrEnum):
    """Where a date comes from, from strong to none."""

    SAID = "said"  # the content or its own metadata says so
    HEADER = "header"  # the envelope says so: a mail header, an API field
    FILE = "file"  # only the file's modification time
    UNKNOWN = "unknown"


def _utc(moment: datetime | None, what: str) -> datetime | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise TypeError(f"{what} must be a datetime, not {type(moment).__name__}")
    if moment.tzinfo is None:
        raise ValueError(f"{what} = {moment.isoformat()} has no time zone; attach one, for example tzinfo=UTC")
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def _identifier(value: str, what: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} must be a text that is not blank")
    if len(value) > MAX_ID or "\x00" in value or "\n" in value:
        raise ValueError(f"{what} must have at most {MAX_ID} characters, no NUL and no line break")


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a part in an item. `role`: author, sender, recipient, cc, participant, mentioned, editor."""

    id: str = ""
    name: str = ""
    address: str = ""
    role: str = "author"

    def __post_init__(self) -> None:
        if not (self.id or self.name or self.address):
            raise ValueError("a Person needs an id, a name or an address")

    def to_json(self) -> dict[str, Any]:
        """The fields that are set."""
        return {
            k: v for k, v in (("id", self.id), ("name", self.name), ("address", self.address), ("role", self.role)) if v
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Person:
        """The inverse of `to_json`."""
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Container:
    """A place that holds items: workspace, channel, drive, folder."""

    id: str
    name: str

    def to_json(self) -> list[str]:
        """`[id, name]`."""
        return [self.id, self.name]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that belongs to an item. `size` in bytes; `status`: named, stored, skipped, failed; `item_id` when it is
    an item of its own."""

    id: str
    name: str
    media_type: str = ""
    size: int | None = None
    status: str = "named"
    item_id: str | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The fields that are set."""
        fields = ("id", "name", "media_type", "size", "status", "item_id", "reason")
        return {name: value for name in fields if (value := getattr(self, name)) not in (None, "")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attachment:
        """The inverse of `to_json`."""
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How a connector recognises an unchanged original without reading it.

    `locator` is where it lies now (a path below the root, a URL), `size` in bytes, `mtime_ns` in nanoseconds since the
    epoch, `digest` of the content where it was read.
    """

    locator: str
    size: int = 0
    mtime_ns: int = 0
    digest: str = ""

    def to_json(self) -> list[Any]:
        """`[locator, size, mtime_ns, digest]`."""
        return [self.locator, self.size, self.mtime_ns, self.digest]

    @classmethod
    def from_json(cls, data: list[Any]) -> Fingerprint:
        """The inverse of `to_json`."""
        return cls(*data)


@dataclass(frozen=True, slots=True)
class Acl:
    """Who may see an item at its vendor: `visibility` private, container, team or public, and principals' ids."""

    visibility: str
    principals: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.visibility not in ("private", "container", "team", "public"):
            raise ValueError(f"visibility {self.visibility!r} is not private, container, team or public")


@dataclass(frozen=True, slots=True)
class Segment:
    """One message, page or section of an item.

    Attributes:
        native_id: the vendor's id, unique in the item; stable, so that a later revision can replace this segment.
        text: Markdown, as the author wrote it; borders of the brief's shapes are escaped when it is rendered.
        at: when it was said, aware.
        author: display name of who said it.
        ref: deep link to it.
        page: page number from 1, for paged documents.
        headers: for mail, `(name, value)` pairs besides From and Date: To, Cc, Subject.
    """

    native_id: str
    text: str
    at: datetime | None = None
    author: str = ""
    ref: str = ""
    page: int | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _identifier(self.native_id, "native_id")
        if not isinstance(self.text, str):
            raise TypeError(f"segment {self.native_id}: text must be a string")
        object.__setattr__(self, "at", _utc(self.at, f"segment {self.native_id}: at"))

    def to_json(self) -> dict[str, Any]:
        """The fields that are set."""
        data: dict[str, Any] = {"id": self.native_id, "text": self.text}
        if self.at:
            data["at"] = _iso(self.at)
        for name in ("author", "ref", "page"):
            if value := getattr(self, name):
                data[name] = value
        if self.headers:
            data["headers"] = [list(pair) for pair in self.headers]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Segment:
        """The inverse of `to_json`."""
        return cls(
            data["id"],
            data["text"],
            _moment(data.get("at")),
            data.get("author", ""),
            data.get("ref", ""),
            data.get("page"),
            tuple((name, value) for name, value in data.get("headers", ())),
        )


@dataclass(frozen=True, slots=True)
class Metadata:
    """Provenance of an item.

    Attributes:
        owner: whose memory this is: an account name or address.
        timestamp: when it happened: first message, or a document's date; None when unknown.
        time_range: first and last moment; both equal `timestamp` for a document.
        date_source: where `timestamp` comes from.
        source_ref: deep link to the original.
        tags: labels of the vendor; the host adds its own.
        people: with roles.
        container: root to parent.
        thread_id: the vendor's thread.
        revision: changes when the item changes; equal revisions write nothing.
        acl: None means unknown, never public.
        attachments: files of the item, read or not.
        truncated: why something was cut, empty when nothing was.
        final: no more will come; False for a bucket that is still open.
        merge: `segments` are added or replace those with the same native_id, instead of replacing the item;
            `removed_segments` are taken out.
        fingerprint: what `known` gives back on the next run.
        media_type: of the original; `application/pdf` text gets its glyphs repaired.
        warnings: what a person should know about the reading: damaged pages, missing pictures.
    """

    owner: str = ""
    timestamp: datetime | None = None
    time_range: tuple[datetime, datetime] | None = None
    date_source: DateSource = DateSource.UNKNOWN
    source_ref: str = ""
    tags: tuple[str, ...] = ()
    people: tuple[Person, ...] = ()
    container: tuple[Container, ...] = ()
    thread_id: str = ""
    revision: str = ""
    acl: Acl | None = None
    attachments: tuple[Attachment, ...] = ()
    truncated: str = ""
    final: bool = True
    merge: bool = False
    removed_segments: tuple[str, ...] = ()
    fingerprint: Fingerprint | None = None
    media_type: str = ""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "timestamp", _utc(self.timestamp, "timestamp"))
        set_field(self, "date_source", DateSource(self.date_source))
        if self.time_range is None and self.timestamp is not None:
            set_field(self, "time_range", (self.timestamp, self.timestamp))
        elif self.time_range is not None:
            start, end = (_utc(moment, "time_range") for moment in self.time_range)
            if start is None or end is None or start > end:
                raise ValueError("time_range must be (start, end) with start not after end")
            set_field(self, "time_range", (start, end))
        if self.timestamp is None and self.date_source is not DateSource.UNKNOWN:
            raise ValueError(f"date_source is {self.date_source.value} but there is no timestamp")
        set_field(self, "source_ref", self.source_ref.strip())
        if self.removed_segments and not self.merge:
            raise ValueError("removed_segments needs merge=True")

    def to_json(self) -> dict[str, Any]:
        """The fields that are not at their default."""
        data: dict[str, Any] = {"date_source": self.date_source.value}
        for name in ("owner", "source_ref", "thread_id", "revision", "truncated", "media_type"):
            if value := getattr(self, name):
                data[name] = value
        if self.timestamp:
            data["timestamp"] = _iso(self.timestamp)
        if self.time_range and self.time_range != (self.timestamp, self.timestamp):
            data["time_range"] = [_iso(moment) for moment in self.time_range]
        for name in ("tags", "removed_segments", "warnings"):
            if value := getattr(self, name):
                data[name] = list(value)
        for name in ("people", "container", "attachments"):
            if value := getattr(self, name):
                data[name] = [part.to_json() for part in value]
        if self.acl:
            data["acl"] = [self.acl.visibility, *self.acl.principals]
        if not self.final:
            data["final"] = False
        if self.merge:
            data["merge"] = True
        if self.fingerprint:
            data["fingerprint"] = self.fingerprint.to_json()
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Metadata:
        """The inverse of `to_json`."""
        span = data.get("time_range")
        acl = data.get("acl")
        return cls(
            owner=data.get("owner", ""),
            timestamp=_moment(data.get("timestamp")),
            time_range=(datetime.fromisoformat(span[0]), datetime.fromisoformat(span[1])) if span else None,
            date_source=DateSource(data.get("date_source", "unknown")),
            source_ref=data.get("source_ref", ""),
            tags=tuple(data.get("tags", ())),
            people=tuple(Person.from_json(p) for p in data.get("people", ())),
            container=tuple(Container(*c) for c in data.get("container", ())),
            thread_id=data.get("thread_id", ""),
            revision=data.get("revision", ""),
            acl=Acl(acl[0], tuple(acl[1:])) if acl else None,
            attachments=tuple(Attachment.from_json(a) for a in data.get("attachments", ())),
            truncated=data.get("truncated", ""),
            final=data.get("final", True),
            merge=data.get("merge", False),
            removed_segments=tuple(data.get("removed_segments", ())),
            fingerprint=Fingerprint.from_json(data["fingerprint"]) if "fingerprint" in data else None,
            media_type=data.get("media_type", ""),
            warnings=tuple(data.get("warnings", ())),
        )


@dataclass(frozen=True, slots=True)
class Span:
    """Where a segment stands in the rendered item: `[start, end)` with its frame, `[text_start, text_end)` without."""

    start: int
    text_start: int
    text_end: int
    end: int


@dataclass(frozen=True, slots=True)
class CanonicalisedSource:
    """This item is now so. Idempotent on `item_id` and `metadata.revision`.

    Attributes:
        item_id: `<connector>:<account>:<native id>`, the same for ever; never a list position.
        source_id: what owns the source tree: a channel, a label, a document.
        scope: which listing covers the item; the host sweeps by scope.
        kind, title, segments, metadata: the content.
    """

    item_id: str
    source_id: str
    scope: str
    kind: Kind
    title: str
    segments: tuple[Segment, ...]
    metadata: Metadata = field(default_factory=Metadata)

    def __post_init__(self) -> None:
        _identifier(self.item_id, "item_id")
        _identifier(self.source_id, "source_id")
        _identifier(self.scope, "scope")
        object.__setattr__(self, "kind", Kind(self.kind))
        object.__setattr__(self, "segments", tuple(self.segments))
        ids = [segment.native_id for segment in self.segments]
        if len(set(ids)) != len(ids):
            double = next(i for i in ids if ids.count(i) > 1)
            raise ValueError(f"{self.item_id}: two segments have the native_id {double!r}")
        if not self.segments and not self.metadata.merge and not self.title.strip():
            raise ValueError(f"{self.item_id}: an item without title and segments says nothing; yield Skipped instead")

    @property
    def markdown(self) -> str:
        """The segments in the brief's shapes."""
        return render(self.kind, self.segments)[0]

    def with_metadata(self, **changes: Any) -> CanonicalisedSource:
        """A copy with some metadata fields changed."""
        return replace(self, metadata=replace(self.metadata, **changes))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` gives an equal object back."""
        return {
            "item_id": self.item_id,
            "source_id": self.source_id,
            "scope": self.scope,
            "kind": self.kind.value,
            "title": self.title,
            "segments": [segment.to_json() for segment in self.segments],
            "metadata": self.metadata.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CanonicalisedSource:
        """The inverse of `to_json`.

        Raises:
            ValueError, TypeError, KeyError: the data break the contract.
        """
        return cls(
            item_id=data["item_id"],
            source_id=data["source_id"],
            scope=data["scope"],
            kind=Kind(data["kind"]),
            title=data["title"],
            segments=tuple(Segment.from_json(s) for s in data["segments"]),
            metadata=Metadata.from_json(data.get("metadata", {})),
        )


def render(kind: Kind, segments: tuple[Segment, ...]) -> tuple[str, list[Span]]:
    """The Markdown of an item and the span of each segment in it.

    Chat: `## <time> — <author>`, the text, a blank line. Mail: `---`, headers, a blank line, the body, a blank line.
    Document: the texts parted by blank lines. Lines of a body that look like such a border get a backslash.
    """
    frame = {Kind.CHAT: _chat_frame, Kind.EMAIL: _mail_frame, Kind.DOCUMENT: _document_frame}[kind]
    parts: list[str] = []
    spans: list[Span] = []
    at = 0
    for segment in segments:
        head, body = frame(segment)
        if not (head or body):
            spans.append(Span(at, at, at, at))
            continue
        tail = "\n\n" if body or kind is not Kind.DOCUMENT else ""
        spans.append(Span(at, at + len(head), at + len(head) + len(body), at + len(head) + len(body) + len(tail)))
        parts += [head, body, tail]
        at = spans[-1].end
    text = "".join(parts)
    if text.endswith("\n\n"):  # the last segment needs no blank line after it
        text = text[:-1]
        last = next(i for i in range(len(spans) - 1, -1, -1) if spans[i].end == at and spans[i].start < at)
        spans[last] = replace(spans[last], end=at - 1)
        spans[last + 1 :] = [Span(at - 1, at - 1, at - 1, at - 1) for _ in spans[last + 1 :]]
    return text, spans


def _chat_frame(segment: Segment) -> tuple[str, str]:
    when = segment.at.strftime("%Y-%m-%dT%H:%M:%SZ") if segment.at else "time unknown"
    author = " ".join(segment.author.split()) or "unknown"
    body = "\n".join(
        "\\" + line if line.startswith(("## ", "\\## ")) else line for line in segment.text.strip().split("\n")
    )
    return f"## {when} — {author}\n", body


def _mail_frame(segment: Segment) -> tuple[str, str]:
    headers = [("From", segment.author or "unknown"), *segment.headers]
    if segment.at:
        headers.append(("Date", segment.at.strftime("%Y-%m-%dT%H:%M:%SZ")))
    lines = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in headers)
    body = "\n".join(
        "\\" + line if line.rstrip() in ("---", "\\---") else line for line in segment.text.strip().split("\n")
    )
    return f"---\n{lines}\n", body


def _document_frame(segment: Segment) -> tuple[str, str]:
    return "", segment.text.strip("\n").rstrip()


def unescape(kind: Kind, body: str) -> str:
    """The text as its author wrote it: the inverse of the escaping that `render` does."""
    mark = {Kind.CHAT: "\\## ", Kind.EMAIL: "\\---"}.get(kind)
    if mark is None or "\\" not in body:
        return body
    return "\n".join(line[1:] if line.startswith((mark, "\\" + mark)) else line for line in body.split("\n"))
