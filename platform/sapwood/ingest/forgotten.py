"""What was forgotten does not come back: keyed hashes in the vault, looked at whenever an item comes in.

A mark is a hash of an item's id, of a source's, of a message, of a paragraph, or of a name; with the key that lies beside them nobody can
read out of them what was forgotten, but can see whether something is it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sapwood.clock import iso_z, now, to_ms
from sapwood.ingest.passages import is_dialogue
from sapwood.sdk.sources import CanonicalisedSource, Kind, Segment
from sapwood.text.fold import fold
from sapwood.text.markdown import BlockKind, blocks
from sapwood.vault.files import append_line, write_atomically
from sapwood.vault.paths import FORGOTTEN, FORGOTTEN_KEY
from sapwood.workspace import Workspace

__all__ = ["Cut", "Forgotten", "Receipt", "normal", "scopes_of", "units", "without"]

_HASH_BYTES = 16


def normal(text: str) -> str:
    """A text as it is compared: folded, with single spaces."""
    return " ".join(fold(text).split())


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was forgotten at once: its number, when, its marks, and whether it can still be undone."""

    number: str
    at: str
    marks: tuple[str, ...]
    state: str  # begun, kept (can be undone), purged
    counts: dict[str, int]


class Forgotten:
    """The marks of a workspace, or of one receipt. Empty and free of cost where nothing was ever forgotten."""

    def __init__(self, workspace: Workspace, only: str | None = None) -> None:
        self._workspace = workspace
        self._key = self._read_key()
        self._marks = {mark for receipt in self.receipts() if only in (None, receipt.number) for mark in receipt.marks}

    def __bool__(self) -> bool:
        return bool(self._marks)

    # -- asking -------------------------------------------------------------------------------------------------------

    def has_item(self, item_id: str) -> bool:
        """True for an item that was forgotten as a whole."""
        return bool(self._marks) and self.item(item_id) in self._marks

    def kept_of(self, source: CanonicalisedSource) -> CanonicalisedSource | None:
        """What may be stored of a clean item: all of it, less than that, or with None nothing."""
        if self.item(source.item_id) in self._marks or any(self.source(s) in self._marks for s in scopes_of(source)):
            return None
        return without(
            source,
            segment=lambda s: self.segment(source, s) in self._marks,
            unit=lambda text: self.unit(text) in self._marks,
            name=lambda text: self.name(text) in self._marks,
        ).source

    # -- marks --------------------------------------------------------------------------------------------------------

    def item(self, item_id: str) -> str:
        """The mark of a whole item."""
        return self._hash("item", item_id)

    def source(self, scope: str) -> str:
        """The mark of all that comes from a source or a folder."""
        return self._hash("source", scope)

    def segment(self, source: CanonicalisedSource, segment: Segment) -> str:
        """The mark of one message of one source: who said what when."""
        moment = str(to_ms(segment.at)) if segment.at else ""
        return self._hash("segment", source.source_id, segment.author, moment, normal(segment.text))

    def unit(self, text: str) -> str:
        """The mark of a paragraph or message, wherever it stands."""
        return self._hash("unit", normal(text))

    def name(self, text: str) -> str:
        """The mark of a person, tag or attachment that an item names."""
        return self._hash("name", normal(text))

    def _hash(self, *parts: str) -> str:
        data = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_HASH_BYTES, key=self._key).hexdigest()

    # -- keeping --------------------------------------------------------------------------------------------------------

    def receipts(self) -> Iterator[Receipt]:
        """Every receipt, in order; a damaged line is passed over."""
        try:
            text = (self._workspace.vault / FORGOTTEN).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        for line in text.splitlines():
            try:
                data = json.loads(line)
                yield Receipt(
                    str(data["receipt"]),
                    str(data["at"]),
                    tuple(map(str, data["marks"])),
                    str(data["state"]),
                    dict(data.get("counts", {})),
                )
            except (ValueError, KeyError, TypeError):
                continue

    def add(self, number: str, marks: Iterable[str], state: str = "begun") -> None:
        """Put a receipt down before anything is removed."""
        chosen = sorted(set(marks))
        self._marks.update(chosen)
        line = _line(Receipt(number, iso_z(now()), tuple(chosen), state, {}))
        append_line(self._workspace.vault / FORGOTTEN, line)

    def settle(self, number: str, state: str, counts: dict[str, int] | None = None) -> None:
        """What a receipt says has been done: `kept` or `purged`, or with `undone` it is let go of."""
        kept = [
            replace(r, state=state, counts=counts if counts is not None else r.counts) if r.number == number else r
            for r in self.receipts()
            if r.number != number or state != "undone"
        ]
        write_atomically(self._workspace.vault / FORGOTTEN, "".join(_line(receipt) + "\n" for receipt in kept))
        self._marks = {mark for receipt in kept for mark in receipt.marks}

    def _read_key(self) -> bytes:
        file = self._workspace.vault / FORGOTTEN_KEY
        try:
            return bytes.fromhex(file.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            return b""

    def ensure_key(self) -> None:
        """Make the key when there is none yet."""
        if not self._key:
            self._key = os.urandom(32)
            write_atomically(self._workspace.vault / FORGOTTEN_KEY, self._key.hex() + "\n")


def _line(receipt: Receipt) -> str:
    data: dict[str, Any] = {
        "receipt": receipt.number,
        "at": receipt.at,
        "state": receipt.state,
        "counts": receipt.counts,
        "marks": receipt.marks,
    }
    return json.dumps(data)


def scopes_of(source: CanonicalisedSource) -> list[str]:
    """The scopes of all trees of sources that an item belongs to: its own source, and the folders around a document."""
    scopes = [source.source_id]
    if source.item_id == source.source_id:
        owner = ":".join(source.source_id.split(":", 2)[:2])
        scopes += [f"{owner}:{c.id}/" for c in source.metadata.container] + [f"{owner}:/"]
    return scopes


@dataclass(frozen=True, slots=True)
class Cut:
    """An item without what is to be forgotten (None when nothing is left), and the texts that were taken out."""

    source: CanonicalisedSource | None
    segments: tuple[Segment, ...] = ()
    units: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True when nothing was taken out."""
        return self.source is not None and not (self.segments or self.units or self.names)


def without(
    source: CanonicalisedSource,
    *,
    segment: Callable[[Segment], bool],
    unit: Callable[[str], bool],
    name: Callable[[str], bool],
) -> Cut:
    """Take out of an item the messages, paragraphs and names for which these are true.

    A message of a chat goes as a whole; of a mail or document, the paragraph, the entry of a list or the row of a table.
    """
    gone: list[Segment] = []
    cut: list[str] = []
    kept: list[Segment] = []
    for part in source.segments:
        if segment(part) or (source.kind is Kind.CHAT and unit(part.text)):
            gone.append(part)
            continue
        text = part.text if source.kind is Kind.CHAT else _without_units(part.text, unit, cut)
        if text.strip() or not part.text.strip():
            kept.append(part if text == part.text else replace(part, text=text))
    data = source.metadata
    names: list[str] = []

    def stays(*texts: str) -> bool:
        found = [text for text in texts if text and name(text)]
        names.extend(found)
        return not found

    metadata = replace(
        data,
        people=tuple(p for p in data.people if stays(p.name, p.address, p.id)),
        tags=tuple(t for t in data.tags if stays(t)),
        attachments=tuple(a for a in data.attachments if stays(a.name, a.id)),
        warnings=tuple(w for w in data.warnings if stays(w)),
    )
    if not kept and source.segments:
        return Cut(None, tuple(gone), tuple(cut), tuple(names))
    if not (gone or cut or names):
        return Cut(source)
    return Cut(replace(source, segments=tuple(kept), metadata=metadata), tuple(gone), tuple(cut), tuple(names))


def _without_units(text: str, unit: Callable[[str], bool], cut: list[str]) -> str:
    left: list[str] = []
    for start, end in units(text):
        piece = text[start:end]
        if piece.strip() and unit(piece):
            cut.append(piece.strip())
        else:
            left.append(piece)
    return "".join(left)


def units(text: str) -> list[tuple[int, int]]:
    """Where the paragraphs of a text are, the lines of lists and tables, and of talks in writing; joined they are the text."""
    lines_apart = is_dialogue(text)
    found: list[tuple[int, int]] = []
    for block in blocks(text):
        if block.kind in (BlockKind.LIST, BlockKind.TABLE) or (lines_apart and block.kind is BlockKind.PARAGRAPH):
            at = block.start
            for line in text[block.start : block.end].splitlines(keepends=True):
                found.append((at, at + len(line)))
                at += len(line)
        else:
            found.append((block.start, block.end))
    return found
