"""What was forgotten does not come back: keyed hashes in the vault, looked at whenever an item comes in.

A mark is a hash of an item's id, of a source's, of a message, of a paragraph, or of a name; with the key that lies beside them nobody can
read out of them what was forgotten, but can see whether something is it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sapwood.clock import iso_z, now, to_ms
from sapwood.errors import DamagedStoreError
from sapwood.ingest.cutting import normal, scopes_of, without
from sapwood.sdk.sources import CanonicalisedSource, Segment
from sapwood.vault.files import append_line
from sapwood.vault.paths import FORGOTTEN, FORGOTTEN_KEY
from sapwood.workspace import Workspace, write_atomically

__all__ = ["Forgotten", "Receipt"]

_HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was forgotten at once: its number, when, its marks, how much it was.

    `state` is `begun` (not finished), `kept` (can be brought back) or `purged`; `choice` is what a begun one is about, and how it is to end.
    """

    number: str
    at: str
    marks: tuple[str, ...]
    state: str
    counts: dict[str, int]
    choice: dict[str, Any] | None = None


class Forgotten:
    """The marks of a workspace, or of one receipt. Empty and free of cost where nothing was ever forgotten."""

    def __init__(self, workspace: Workspace, only: str | None = None) -> None:
        """Read them.

        Raises:
            DamagedStoreError: there are marks, and the key is gone: what was forgotten would come back.
        """
        self._workspace = workspace
        self._key = self._read_key()
        self._marks = {mark for receipt in self.receipts() if only in (None, receipt.number) for mark in receipt.marks}
        if self._marks and not self._key:
            raise DamagedStoreError(
                str(workspace.vault / FORGOTTEN_KEY), "is gone or damaged: nothing can tell any more what was forgotten, and it would come back",
                f"Put it back from a backup, or remove {FORGOTTEN} beside it to let everything come in again.",
            )  # fmt: skip

    def __bool__(self) -> bool:
        return bool(self._marks)

    # -- asking -------------------------------------------------------------------------------------------------------

    def has_item(self, item_id: str) -> bool:
        """True for an item that was forgotten as a whole."""
        return bool(self._marks) and self.item(item_id) in self._marks

    def kept_of(self, source: CanonicalisedSource) -> CanonicalisedSource | None:
        """What may be stored of a clean item: all of it, less than that, or with None nothing."""
        whole = (self.item(source.item_id), self.content(source), *map(self.source, scopes_of(source)))
        if not self._marks.isdisjoint(whole):
            return None
        return without(
            source,
            segment=lambda s: self.segment(source, s) in self._marks,
            unit=lambda text: self.unit(text) in self._marks,
            name=lambda text: self.name(text) in self._marks,
            blockwise=True,
        ).source

    # -- marks --------------------------------------------------------------------------------------------------------

    def item(self, item_id: str) -> str:
        """The mark of a whole item."""
        return self._hash("item", item_id)

    def source(self, scope: str) -> str:
        """The mark of all that comes from a source or a folder."""
        return self._hash("source", scope)

    def content(self, source: CanonicalisedSource) -> str:
        """The mark of all that an item says, wherever it lies and whatever it is called."""
        return self._hash("content", *(normal(part.text) for part in source.segments))

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
                    data.get("choice"),
                )
            except (ValueError, KeyError, TypeError):
                continue

    def add(self, number: str, marks: Iterable[str], choice: dict[str, Any]) -> None:
        """Put a receipt down before anything is removed. Until it is settled it names what it is about, so that it can be finished."""
        chosen = sorted(set(marks))
        self._marks.update(chosen)
        line = _line(Receipt(number, iso_z(now()), tuple(chosen), "begun", {}, choice))
        append_line(self._workspace.vault / FORGOTTEN, line)

    def settle(self, number: str, state: str, counts: dict[str, int] | None = None, *, finished: bool = True) -> None:
        """What a receipt says has been done: `kept` or `purged`, or with `undone` it is let go of. One that is not `finished` goes on naming
        what it is about."""
        kept = [
            replace(
                r, state=state, counts=counts if counts is not None else r.counts, choice=None if finished else r.choice
            )
            if r.number == number
            else r
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
        "receipt": receipt.number, "at": receipt.at, "state": receipt.state, "counts": receipt.counts, "marks": receipt.marks,
    }  # fmt: skip
    if receipt.choice is not None:
        data["choice"] = receipt.choice
    return json.dumps(data, ensure_ascii=False)
