"""A summary as a Markdown file, and back. Its citations are links to what it tells of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sapwood.clock import from_ms, iso_z
from sapwood.vault import frontmatter
from sapwood.vault.chunkfile import body_sha256, entity_tags

__all__ = ["ReadSummary", "SummaryNote", "compose", "read"]

SCHEMA = 1
# One or several at the end of a line.
_CITED = re.compile(r"\[(\d{1,4})\](?=(?:[ \t]*\[\d{1,4}\])*[ \t]*$)", re.MULTILINE)
_LINKED = re.compile(r"\[\[[^\[\]|\n]+\|(\d{1,4})\]\](?=(?:[ \t]*\[\[[^\[\]|\n]+\|\d{1,4}\]\])*[ \t]*$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SummaryNote:
    """What a summary's file says. `links` are the names of its children's files, in order; `parent` is that of its parent's, or empty."""

    summary_id: str
    tree_id: str
    tree_kind: str
    scope: str
    tree_title: str
    level: int
    title: str
    child_ids: tuple[str, ...]
    links: tuple[str, ...]
    parent: str
    range_ms: tuple[int, int] | None
    score: float
    sealed_at_ms: int
    summariser: str
    entities: tuple[tuple[str, str], ...]
    entity_ids: tuple[str, ...]
    topics: tuple[str, ...]
    body: str
    corrections: str = ""


def compose(note: SummaryNote) -> str:
    """The file's text."""
    fields: dict[str, Any] = {
        "id": note.summary_id, "kind": "summary", "title": note.title, "tree_kind": note.tree_kind, "tree_id": note.tree_id, "tree_scope": note.scope, "tree_title": note.tree_title,
        "level": note.level, "children": [f"[[{link}]]" for link in note.links], "child_ids": list(note.child_ids), "child_count": len(note.child_ids),
    }  # fmt: skip
    if note.parent:
        fields["parent"] = f"[[{note.parent}]]"
    if note.range_ms:
        fields["time_range_start"], fields["time_range_end"] = (iso_z(from_ms(ms)) for ms in note.range_ms)
        fields["time_range_ms"] = list(note.range_ms)
    fields |= {
        "score": note.score, "sealed_at": iso_z(from_ms(note.sealed_at_ms)), "sealed_at_ms": note.sealed_at_ms, "summariser": note.summariser,
        "aliases": [f"L{note.level} · {note.title} · {len(note.child_ids)}"],
        "entity_ids": list(note.entity_ids), "topics": list(note.topics),
        "tags": ["summary", *entity_tags(note.entities), *note.topics],
        "sha256": body_sha256(note.body), "schema": SCHEMA,
    }  # fmt: skip
    if note.corrections:
        fields |= {"edited": True, "corrections": note.corrections}
    links = dict(enumerate(note.links, 1))
    body = _CITED.sub(lambda m: f"[[{links[int(m[1])]}|{m[1]}]]" if int(m[1]) in links else m[0], note.body)
    return f"{frontmatter.compose(fields)}# {note.title}\n\n{body.rstrip()}\n"


@dataclass(frozen=True, slots=True)
class ReadSummary:
    """A summary's file as it lies there now; `damaged` says why it cannot be used, empty when it can."""

    fields: Mapping[str, Any]
    body: str
    damaged: str = ""

    @property
    def is_edited(self) -> bool:
        """True when the text is not the one that was written."""
        return body_sha256(self.body) != self.fields.get("sha256")


def read(data: bytes) -> ReadSummary:
    """Parse a summary's file. Never raises: what cannot be read is damaged."""
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return ReadSummary({}, "", "is not UTF-8")
    fields, body = frontmatter.parse(text)
    if fields is None or fields.get("kind") != "summary":
        return ReadSummary({}, "", "has no readable front matter" if text.strip() else "is empty")
    body = re.sub(r"\A\s*# [^\n]*\n+", "", body)
    return ReadSummary(fields, _LINKED.sub(r"[\1]", body).rstrip())
