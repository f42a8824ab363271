"""What people change in the files of summaries: taken in, shown, and kept when the summary is made anew.

A correction is kept by what a paragraph tells of, its citations: the user's paragraph stands in the place of any later one that tells of
the same, one that they removed stays away, and what they added without a citation stays at the end.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace

from sapwood.clock import now_ms
from sapwood.ingest.followup import resealing
from sapwood.store.database import Database
from sapwood.store.jobs import JobStore
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.text.fold import index_text
from sapwood.text.redact import Redaction
from sapwood.text.tokens import count_tokens
from sapwood.trees.files import file_of, says, write_file
from sapwood.vault import summaryfile
from sapwood.vault.chunkfile import body_sha256
from sapwood.workspace import Workspace

__all__ = ["Corrections", "corrected", "take_in", "take_in_one"]

_AT_END = re.compile(r"(?:[ \t]*\[\d{1,4}\])+[ \t]*\Z")
_NUMBER = re.compile(r"\[(\d{1,4})\]")
Key = tuple[str, ...]


@dataclass(slots=True)
class Corrections:
    """`changed`: the user's paragraph for each set of children that one told of, None where they removed it. `added`: their own."""

    changed: dict[Key, str | None] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> Corrections:
        """The inverse of `to_text`; empty for none."""
        if not text:
            return cls()
        data = json.loads(text)
        return cls({tuple(ids): said for ids, said in data["changed"]}, list(data["added"]))

    def to_text(self) -> str:
        """As it is stored; empty when nothing was corrected."""
        if not (self.changed or self.added):
            return ""
        return json.dumps(
            {"changed": [[list(ids), said] for ids, said in self.changed.items()], "added": self.added},
            ensure_ascii=False,
        )

    def without(self, holds: Callable[[str], bool], gone: Container[str] = ()) -> Corrections:
        """Those that hold none of what is to be forgotten, and are about none of these children."""
        changed = {
            ids: said
            for ids, said in self.changed.items()
            if not any(child in gone for child in ids) and (said is None or not holds(said))
        }
        return Corrections(changed, [said for said in self.added if not holds(said)])

    def applied_to(self, body: str, child_ids: Sequence[str]) -> str:
        """A text with the corrections in it; children are cited by their place in `child_ids`."""
        told = _paragraphs(body, child_ids)
        kept = [(ids, self.changed.get(ids, said) if ids else said) for ids, said in told]
        known = {ids for ids, _ in told}
        kept += [
            (ids, said)
            for ids, said in self.changed.items()
            if ids not in known and said and set(ids) <= set(child_ids)
        ]
        texts = [_cited(said, ids, child_ids) for ids, said in kept if said]
        return "\n\n".join([*texts, *self.added])


def corrected(row: SummaryRow, held: SummaryRow | None) -> SummaryRow:
    """A summary that is made anew, with what the user corrected in the one before."""
    if held is None or not held.corrections:
        return row
    body = Corrections.of(held.corrections).applied_to(row.body, row.child_ids)
    return replace(row, body=body, tokens=count_tokens(body), sha256=body_sha256(body), corrections=held.corrections)


def take_in(workspace: Workspace, database: Database, *, personal: bool = False) -> list[str]:
    """Look at the files of all summaries, and take in what people changed in them; the paths of those.

    Costs one stat a file, and a read of each that was written since the last look.
    """
    store = SummaryStore(database)
    found: list[str] = []
    seen: list[tuple[int, int, str]] = []
    for summary_id, path, size, mtime_ns in store.files():
        try:
            stat = os.stat(workspace.vault / path)
        except OSError:
            continue  # `doctor` names it
        if (stat.st_size, stat.st_mtime_ns) == (size, mtime_ns):
            continue
        summary = store.get(summary_id)
        if summary is not None and take_in_one(workspace, database, summary, personal=personal):
            found.append(path)
        else:
            seen.append((stat.st_size, stat.st_mtime_ns, summary_id))
    if seen:
        with database.transaction():
            store.set_files(seen)
    return found


def take_in_one(workspace: Workspace, database: Database, summary: SummaryRow, *, personal: bool = False) -> bool:
    """Take in what people changed in a summary's file; False when that is nothing, or the file cannot be used."""
    try:
        data = (workspace.vault / summary.path).read_bytes()
    except OSError:
        return False
    note = summaryfile.read(data)
    if note.damaged or note.fields.get("id") != summary.summary_id or says(data, summary) or not note.is_edited:
        return False
    edited = Redaction(personal).text(note.body)
    corrections = _merged(Corrections.of(summary.corrections), summary, edited)
    body = corrections.applied_to(edited, summary.child_ids)
    with database.transaction():
        store = SummaryStore(database)
        held = store.get(summary.summary_id)
        if held is None or held.sha256 != summary.sha256:
            return False  # it has just been made anew; the next look finds what is left
        fts = (index_text(summary.title), index_text(body))
        store.retell(
            summary.summary_id, body, count_tokens(body), body_sha256(body), summary.entities, summary.summariser, fts
        )
        store.set_corrections(summary.summary_id, corrections.to_text())
        store.mark_stale(summary.summary_id)
        if store.any_stale():
            JobStore(database).enqueue([resealing()], now_ms())
        told = store.get(summary.summary_id)
        assert told is not None
        write_file(workspace, told.path, file_of(database, told), replace(told, sha256=body_sha256(note.body)))
    return True


def _merged(before: Corrections, summary: SummaryRow, edited: str) -> Corrections:
    """What was corrected before, and what differs now from what the summary says."""
    old = dict(_paragraphs(summary.body, summary.child_ids))
    new = _paragraphs(edited, summary.child_ids)
    texts = dict(new)
    changed = dict(before.changed)
    for ids in old:
        if ids and ids not in texts:
            changed[ids] = None
    for ids, said in new:
        if ids and old.get(ids) != said:
            changed[ids] = said
    return Corrections(changed, [said for ids, said in new if not ids])


def _paragraphs(body: str, child_ids: Sequence[str]) -> list[tuple[Key, str]]:
    """`(children that it tells of, text without citations)` of each paragraph."""
    found: list[tuple[Key, str]] = []
    for paragraph in re.split(r"\n\s*\n", body.strip()):
        end = _AT_END.search(paragraph)
        numbers = [int(n) for n in _NUMBER.findall(end[0])] if end else []
        ids = tuple(child_ids[n - 1] for n in numbers if 1 <= n <= len(child_ids))
        said = paragraph[: end.start()] if end and ids else paragraph
        if said.strip():
            found.append((ids, said.strip()))
    return found


def _cited(said: str, ids: Key, child_ids: Sequence[str]) -> str:
    places = {child: number for number, child in enumerate(child_ids, 1)}
    return " ".join([said, *(f"[{places[i]}]" for i in ids if i in places)])
