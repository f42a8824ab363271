"""A chunk as a Markdown file, and back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sapwood.clock import from_ms, iso_z
from sapwood.text.opening import opening_end
from sapwood.vault import frontmatter
from sapwood.vault.paths import source_slug

SCHEMA = 1
_OURS = frozenset(
    [
        "chunk_id",
        "title",
        "source_kind",
        "source_id",
        "item_id",
        "owner",
        "author",
        "timestamp_ms",
        "date",
        "date_source",
        "time_range_start",
        "time_range_end",
        "seq_in_source",
        "token_count",
        "source_ref",
        "headings",
        "pages",
        "tags",
        "entities",
        "sha256",
        "edited",
        "schema",
    ]
)


@dataclass(frozen=True, slots=True)
class ChunkNote:
    """What a chunk's file says.

    `sha256` is the hash of the original, redacted content; `body` is what is shown, edited or not.
    """

    chunk_id: str
    title: str
    kind: str
    source_id: str
    item_id: str
    owner: str
    author: str
    timestamp_ms: int | None
    date_source: str
    range_ms: tuple[int, int] | None
    seq: int
    token_count: int
    source_ref: str
    headings: tuple[str, ...]
    pages: tuple[int, ...]
    tags: tuple[str, ...]
    sha256: str
    body: str
    edited: bool = False
    entities: tuple[tuple[str, str], ...] = ()


_TAGGED = ("person", "organization", "location", "product", "event", "hashtag")
_MOST_TAGS = 20


def entity_tags(entities: Iterable[tuple[str, str]]) -> list[str]:
    """`kind/Value-With-Capitals` for people, places and things, at most twenty; letters of all scripts are kept."""
    tags: list[str] = []
    for kind, surface in entities:
        words = re.findall(r"[\w]+", surface)
        if kind in _TAGGED and words:
            tags.append(f"{kind}/" + "-".join(word[0].upper() + word[1:] for word in words))
    return list(dict.fromkeys(tags))[:_MOST_TAGS]


def body_sha256(body: str) -> str:
    """The hash of a body without its last line breaks, which editors add and remove."""
    return hashlib.sha256(body.rstrip("\n").encode()).hexdigest()


def compose(note: ChunkNote, user_fields: dict[str, Any] | None = None, user_tags: tuple[str, ...] = ()) -> str:
    """The file's text. The user's own properties come after ours, their tags after ours."""
    fields: dict[str, Any] = {
        "chunk_id": note.chunk_id,
        "title": note.title,
        "source_kind": note.kind,
        "source_id": note.source_id,
        "item_id": note.item_id,
        "owner": note.owner,
    }
    if note.author:
        fields["author"] = note.author
    if note.timestamp_ms is not None:
        fields["timestamp_ms"] = note.timestamp_ms
        fields["date"] = iso_z(from_ms(note.timestamp_ms))
    fields["date_source"] = note.date_source
    if note.range_ms:
        fields["time_range_start"], fields["time_range_end"] = (iso_z(from_ms(ms)) for ms in note.range_ms)
    fields["seq_in_source"] = note.seq
    fields["token_count"] = note.token_count
    if note.source_ref:
        fields["source_ref"] = note.source_ref
    if note.headings:
        fields["headings"] = list(note.headings)
    if note.pages:
        fields["pages"] = list(note.pages)
    ours = [f"source/{source_slug(note.source_id)}", *note.tags]
    named = [tag for tag in entity_tags(note.entities) if tag not in ours]
    ours += named
    fields["tags"] = [*ours, *(tag for tag in user_tags if tag not in ours)]
    if named:
        fields["entities"] = named  # says which of the tags are not the user's
    fields["sha256"] = note.sha256
    fields["edited"] = note.edited
    fields["schema"] = SCHEMA
    for key, value in (user_fields or {}).items():
        if key not in _OURS:
            fields[key] = value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)
    body = note.body if note.body.endswith("\n") else note.body + "\n"
    return frontmatter.compose(fields) + body


@dataclass(frozen=True, slots=True)
class ReadNote:
    """A chunk's file as it lies there now; `damaged` says why it cannot be used, empty when it can."""

    body: str = ""
    user_fields: dict[str, Any] | None = None
    tags: tuple[str, ...] = ()
    damaged: str = ""
    entities: tuple[str, ...] = ()

    def user_tags(self, ours: tuple[str, ...]) -> tuple[str, ...]:
        """The tags that are not ours."""
        return tuple(
            tag for tag in self.tags if tag not in ours and tag not in self.entities and not tag.startswith("source/")
        )


def read(data: bytes) -> ReadNote:
    """Parse a chunk's file. Never raises: what cannot be read is damaged."""
    if not data.strip(b"\x00 \n\r\t"):
        return ReadNote(damaged="is empty")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ReadNote(damaged="is not UTF-8")
    fields, body = frontmatter.parse(text.replace("\r\n", "\n"))
    if fields is None:
        return ReadNote(damaged="has no readable front matter")
    tags = fields.get("tags")
    if isinstance(tags, str):
        tags = [part.strip() for part in tags.split(",")]
    kept = (
        tuple(str(tag).lstrip("#") for tag in tags or () if str(tag).strip()) if isinstance(tags, list | None) else ()
    )
    named = fields.get("entities")
    entities = tuple(str(tag) for tag in named) if isinstance(named, list) else ()
    return ReadNote(
        body,
        {key: value for key, value in fields.items() if isinstance(key, str) and key not in _OURS},
        kept,
        entities=entities,
    )


def without_heading(text: str) -> str:
    """A message without the lines that say when, by whom and to whom, a note without those that tell its title and date; all of it when
    it is nothing else.
    """
    if text.startswith("---\nFrom: "):
        said = text.partition("\n\n")[2]
        return said if said.strip() else text
    return text[opening_end(text) :]
