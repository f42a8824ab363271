"""An mbox: many mails in one file, taken apart into threads.

A mail begins at a `From ` line that follows a blank line, reads as a separator, and stands before a header; sentences that
begin with "From" do not. `>From ` loses one `>`.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from email.policy import compat32

from sapwood.sdk import Converted, ConvertError, ConvertFile, Member
from sapwood_documents.mail_headers import date, message_ids, value

__all__ = ["convert", "looks_like_mbox", "messages_in"]

_CLOCK = re.compile(rb"\d:\d\d")
_LONGEST_SEPARATOR = 1000
_HEADER = re.compile(rb"^(?:[A-Za-z][A-Za-z0-9-]*:|>From )")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_HEAD_BYTES = 256 * 1024
_BOM = b"\xef\xbb\xbf"


def looks_like_mbox(start: bytes) -> bool:
    """True when a file that begins so is an mbox."""
    lines = start.removeprefix(_BOM).split(b"\n", 2)
    return len(lines) > 1 and _separates(lines[0].rstrip(b"\r")) and bool(_HEADER.match(lines[1]))


def _separates(line: bytes) -> bool:
    """`From -`, `From somebody@somewhere`, or `From ` with a time of day: a line of an mbox, not the beginning of a sentence."""
    if not line.startswith(b"From ") or len(line) > _LONGEST_SEPARATOR:
        return False
    sender, _, rest = line[5:].strip().partition(b" ")
    if _CLOCK.search(rest):
        return True
    return not rest.strip() and (sender in (b"-", b"MAILER-DAEMON") or b"@" in sender)


@dataclass(slots=True)
class _Mail:
    """A mail of the file: where it stands, and what threads it. `order` is its place."""

    start: int
    end: int
    order: int
    native_id: str
    subject: str
    sent: float | None
    parents: tuple[str, ...] = ()
    thread: list[_Mail] = field(default_factory=list)


def convert(file: ConvertFile) -> Converted:
    """The threads as members, each a file of its mails in order of time.

    A member is named by the mail of it that stands first in the file: an mbox grows at its end, so that the name stays.
    """
    os.makedirs(file.workdir, mode=0o700, exist_ok=True)
    mails = list(_scan(file))
    if not mails:
        raise ConvertError("empty", "holds no mails", "Nothing needs to be done.")
    members: list[Member] = []
    with open(file.path, "rb") as source:
        for number, thread in enumerate(_threads(mails)):
            target = os.path.join(file.workdir, str(number))
            with open(target, "wb") as out:
                for mail in thread:
                    source.seek(mail.start)
                    out.write(source.read(mail.end - mail.start).rstrip(b"\r\n") + b"\n\n")
            members.append(
                Member(_name(min(thread, key=lambda mail: mail.order)), target, os.path.getsize(target), file.modified)
            )
    return Converted(members=tuple(members), media_type="application/mbox", one_source=True)


def messages_in(data: bytes) -> Iterator[bytes]:
    """The mails of a file: one, or several with separators between them."""
    if not looks_like_mbox(data[:4096]):
        yield data.removeprefix(_BOM)
        return
    starts = [at for at, _ in _separators(io.BytesIO(data))]
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        yield _ESCAPED.sub(rb"\1", data[start:end].split(b"\n", 1)[-1])


def _separators(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Offsets of separators, with the line that follows each."""
    at = 0
    blank = True
    candidate: int | None = None
    for line in lines:
        text = line.rstrip(b"\r\n")
        if candidate is not None and _HEADER.match(text):
            yield candidate, text
        candidate = at if blank and _separates(text.removeprefix(_BOM) if at == 0 else text) else None
        blank = not text
        at += len(line)


def _scan(file: ConvertFile) -> Iterator[_Mail]:
    with open(file.path, "rb") as source:
        starts = [at for at, _ in _separators(source)]
    if not starts:
        return
    with open(file.path, "rb") as source:
        for order, (start, end) in enumerate(zip(starts, [*starts[1:], file.size], strict=True)):
            source.seek(start)
            head = source.read(min(end - start, _HEAD_BYTES)).split(b"\n", 1)[-1].rstrip(b"\r\n")
            own = head.split(b"\n\n", 1)[0].split(b"\r\n\r\n", 1)[0]
            headers = BytesHeaderParser(policy=compat32).parsebytes(own + b"\n\n")
            ids = message_ids(headers, "Message-ID")
            native = ids[0] if ids else f"sha256:{hashlib.sha256(head).hexdigest()[:32]}"
            moment, _ = date(headers)
            parents = (*message_ids(headers, "References"), *message_ids(headers, "In-Reply-To"))
            yield _Mail(
                start, end, order, native, value(headers, "Subject"), moment.timestamp() if moment else None, parents
            )


def _threads(mails: list[_Mail]) -> list[list[_Mail]]:
    """Mails that refer to each other, by way of mails that are not here too; each thread in the order of time."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        root = name
        while leader.setdefault(root, root) != root:
            root = leader[root]
        while leader[name] != root:
            leader[name], name = root, leader[name]
        return root

    keys = [f"{mail.native_id}\0{mail.order}" for mail in mails]  # an id may be used twice
    for mail, key in zip(mails, keys, strict=True):
        for other in (mail.native_id, *mail.parents):
            leader[find(key)] = find(other)
    threads: dict[str, list[_Mail]] = {}
    for mail, key in zip(mails, keys, strict=True):
        threads.setdefault(find(key), []).append(mail)
    for thread in threads.values():
        thread.sort(key=lambda mail: (mail.sent is None, mail.sent or 0.0, mail.order))
    return list(threads.values())


def _name(first: _Mail) -> str:
    subject = re.sub(r"[\\/:*?\"<>|\x00-\x1f]+", " ", first.subject)
    words = " ".join(subject.split())[:60].strip(" .") or "mail"
    return f"{words} {hashlib.sha256(first.native_id.encode('utf-8', 'replace')).hexdigest()[:8]}.eml"
