"""Helpers that build a `CanonicalisedSource` from what a vendor gives. They return None for an empty batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from sapwood.sdk.sources import CanonicalisedSource, DateSource, Kind, Metadata, Person, Segment

__all__ = [
    "DocumentSection",
    "MailMessage",
    "Message",
    "canonicalise_chat",
    "canonicalise_document",
    "canonicalise_email",
    "mail_segments",
]


@dataclass(frozen=True, slots=True)
class Message:
    """A chat message: vendor's id, aware time, author, text, permalink, author's id."""

    id: str
    at: datetime
    author: str
    text: str
    ref: str = ""
    author_id: str = ""


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A mail: Message-ID or digest, aware time or None, addresses, subject, cleaned body as Markdown."""

    id: str
    at: datetime | None
    sender: str
    to: tuple[str, ...]
    subject: str
    text: str
    cc: tuple[str, ...] = ()
    ref: str = ""


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A page or section of a document: id unique in it, Markdown, page number from 1."""

    id: str
    text: str
    page: int | None = None
    ref: str = ""


def canonicalise_chat(
    *,
    item_id: str,
    source_id: str,
    scope: str,
    title: str,
    messages: Iterable[Message],
    metadata: Metadata | None = None,
) -> CanonicalisedSource | None:
    """A batch of messages, sorted by time (stable); blank ones are left out."""
    kept = sorted((m for m in messages if m.text.strip()), key=lambda m: m.at)
    if not kept:
        return None
    segments = tuple(Segment(m.id, m.text, m.at, m.author, m.ref.strip()) for m in kept)
    people = {m.author_id or m.author: Person(id=m.author_id, name=m.author) for m in kept if m.author_id or m.author}
    return _dated(
        item_id, source_id, scope, Kind.CHAT, title, segments, metadata, tuple(people.values()), DateSource.SAID
    )


def canonicalise_email(
    *,
    item_id: str,
    source_id: str,
    scope: str,
    title: str,
    messages: Iterable[MailMessage],
    metadata: Metadata | None = None,
) -> CanonicalisedSource | None:
    """The mails of a thread, sorted by time; those without a time stay where they stood."""
    kept = list(messages)
    if not kept:
        return None
    if all(m.at for m in kept):
        kept.sort(key=lambda m: m.at.timestamp() if m.at else 0.0)
    segments, people = mail_segments(kept)
    return _dated(item_id, source_id, scope, Kind.EMAIL, title, segments, metadata, people, DateSource.HEADER)


def mail_segments(mails: Iterable[MailMessage]) -> tuple[tuple[Segment, ...], tuple[Person, ...]]:
    """A segment a mail with its headers, and everybody who sent or got one, with roles."""
    segments = []
    people: dict[tuple[str, str], Person] = {}
    for mail in mails:
        headers = [("To", ", ".join(mail.to))] if mail.to else []
        headers += [("Cc", ", ".join(mail.cc))] if mail.cc else []
        headers.append(("Subject", mail.subject))
        segments.append(Segment(mail.id, mail.text, mail.at, mail.sender, mail.ref.strip(), headers=tuple(headers)))
        for role, addresses in (("sender", (mail.sender,)), ("recipient", mail.to), ("cc", mail.cc)):
            for address in filter(None, addresses):
                people.setdefault((role, address), mailbox(address, role))
    return tuple(segments), tuple(people.values())


def canonicalise_document(
    *,
    item_id: str,
    source_id: str,
    scope: str,
    title: str,
    sections: Iterable[DocumentSection],
    metadata: Metadata | None = None,
) -> CanonicalisedSource | None:
    """A document; None when title and text are both blank."""
    kept = [s for s in sections if s.text.strip()]
    if not kept and not title.strip():
        return None
    segments = tuple(Segment(s.id, s.text, ref=s.ref, page=s.page) for s in kept)
    return CanonicalisedSource(item_id, source_id, scope, Kind.DOCUMENT, title, segments, metadata or Metadata())


def mailbox(text: str, role: str = "") -> Person:
    """The person of `Name <address>` or of an address alone; one that no parser can read is a name as it stands."""
    from email.utils import parseaddr

    try:
        name, address = parseaddr(text)
    except (RecursionError, ValueError, IndexError):  # such as brackets in brackets in brackets
        return Person(name=text[:200], role=role)
    return Person(name=name or ("" if address else text), address=address.lower(), role=role)


def _dated(
    item_id: str,
    source_id: str,
    scope: str,
    kind: Kind,
    title: str,
    segments: tuple[Segment, ...],
    metadata: Metadata | None,
    people: tuple[Person, ...],
    date_source: DateSource,
) -> CanonicalisedSource:
    base = metadata or Metadata()
    moments = [s.at for s in segments if s.at]
    changes: dict[str, object] = {"people": base.people or people}
    if moments and base.timestamp is None:
        changes |= {"timestamp": moments[0], "time_range": (min(moments), max(moments)), "date_source": date_source}
    if not base.source_ref:
        changes["source_ref"] = next((s.ref for s in segments if s.ref), "")
    filled = replace(base, **changes)  # type: ignore[arg-type]
    return CanonicalisedSource(item_id, source_id, scope, kind, title, segments, filled)
