"""What people change in the files of summaries: taken in, shown, and kept when the summary is made anew.

A correction is kept by what a paragraph tells of, its citations: the user's paragraph stands in the place of any later one that tells of
the same, one that they removed stays away, and what they added without a citation stays at the end.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace

from sapwood.store.database import Database
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.text.redact import Redaction
from sapwood.text.tokens import count_tokens
from sapwood.trees.files import put_other_words, says
from sapwood.vault import summaryfile
from sapwood.vault.chunkfile import body_sha256
from sapwood.workspace import Workspace

__all__ = ["Corrections", "corrected", "pinned", "take_in", "take_in_one", "with_waiting"]

_AT_END = re.compile(r"(?:[ \t]*\[\d{1,4}\])+[ \t]*\Z")
_NUMBER = re.compile(r"\[(\d{1,4})\]")
Key = tuple[tuple[str, ...], int]
"""The children that a paragraph tells of, sorted, and the how manieth such paragraph it is."""


@dataclass(slots=True)
class Corrections:
    """`changed`: the user's text for a paragraph, None where they removed it. `added`: paragraphs of their own."""

    changed: dict[Key, str | None] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> Corrections:
        """The inverse of `to_text`; empty for none."""
        if not text:
            return cls()
        data = json.loads(text)
        return cls({(tuple(sorted(ids)), number): said for ids, number, said in data["changed"]}, list(data["added"]))

    def to_text(self) -> str:
        """As it is stored; empty when nothing was corrected."""
        if not (self.changed or self.added):
            return ""
        changed = [[list(ids), number, said] for (ids, number), said in self.changed.items()]
        return json.dumps({"changed": changed, "added": self.added}, ensure_ascii=False)

    def without(self, holds: Callable[[str], bool], gone: Container[str] = ()) -> Corrections:
        """Those that hold none of what is to be forgotten, and are about none of these children."""
        changed = {
            (ids, number): said
            for (ids, number), said in self.changed.items()
            if not any(child in gone for child in ids) and (said is None or not holds(said))
        }
        return Corrections(changed, [said for said in self.added if not holds(said)])

    def settled(self, child_ids: Sequence[str]) -> Corrections:
        """What was said of a child that is no more stands among what the user added: it may still be true."""
        there = set(child_ids)
        changed = {key: said for key, said in self.changed.items() if there.issuperset(key[0])}
        lone = [said for key, said in self.changed.items() if said and not there.issuperset(key[0])]
        return Corrections(changed, list(dict.fromkeys([*self.added, *lone])))

    def applied_to(self, body: str, child_ids: Sequence[str]) -> str:
        """A text with the corrections in it; children are cited by their place in `child_ids`."""
        told = _paragraphs(body, child_ids)
        kept = [(key, self.changed.get(key, said) if key[0] else said) for key, said in told]
        known = {key for key, _ in told}
        kept += [(key, said) for key, said in self.changed.items() if key not in known and said]
        texts = [_cited(said, key[0], child_ids) for key, said in kept if said]
        return "\n\n".join([*texts, *(said for said in self.added if said not in texts)])


def corrected(row: SummaryRow, before: str) -> SummaryRow:
    """A summary that is made anew, with what the user corrected in the one before."""
    if not before:
        return row
    corrections = Corrections.of(before).settled(row.child_ids)
    body = corrections.applied_to(row.body, row.child_ids)
    return replace(
        row, body=body, tokens=count_tokens(body), sha256=body_sha256(body), corrections=corrections.to_text()
    )


def with_waiting(row: SummaryRow, waiting: str, leaves: Sequence[str]) -> tuple[SummaryRow, str]:
    """A new summary with what was corrected in those that stood in its tree before, and what goes on waiting for others.

    Args:
        row: the summary.
        waiting: corrections of the tree.
        leaves: all chunks of the tree; what was said of others is said of none any more.
    """
    pending = Corrections.of(waiting).settled([*leaves, *row.child_ids])
    own = set(row.child_ids)
    mine = Corrections({key: said for key, said in pending.changed.items() if own.issuperset(key[0])}, pending.added)
    left = Corrections({key: said for key, said in pending.changed.items() if not own.issuperset(key[0])})
    return corrected(row, mine.to_text()), left.to_text()


def pinned(body: str, child_ids: Sequence[str], before: str) -> str:
    """Corrections by which a text stays as it is, where nobody knows any more what it was before."""
    kept = Corrections.of(before)
    told = _paragraphs(body, child_ids)
    kept.changed |= {key: said for key, said in told if key[0]}
    kept.added = [said for key, said in told if not key[0]]
    return kept.to_text()


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
    body = Redaction(personal).text(note.body).strip()
    # Its numbers are those of the children that it was written with; the row may have others by now.
    children = tuple(map(str, note.fields.get("child_ids") or ()))
    corrections = _merged(Corrections.of(summary.corrections), summary.body, body, children)
    with database.transaction():
        store = SummaryStore(database)
        held = store.get(summary.summary_id)
        if held is None or held.sha256 != summary.sha256:
            return False  # it has just been made anew; the next look finds what is left
        store.set_corrections(summary.summary_id, corrections.to_text())
        lies_there = replace(summary, sha256=body_sha256(note.body))
        put_other_words(workspace, database, summary, body, summary.entities, summary.summariser, lies_there)
    return True


def _merged(before: Corrections, told: str, edited: str, child_ids: Sequence[str]) -> Corrections:
    """What was corrected before, and what differs now from what was told."""
    before = before.settled(child_ids)
    old, new = _paragraphs(told, child_ids), _paragraphs(edited, child_ids)
    was, there = dict(old), {key for key, _ in new}
    changed = dict(before.changed)
    changed |= {key: None for key, _ in old if key[0] and key not in there}
    changed |= {key: said for key, said in new if key[0] and was.get(key) != said}
    not_theirs = {said for key, said in old if not key[0]} - set(before.added)
    return Corrections(changed, [said for key, said in new if not key[0] and said not in not_theirs])


def _paragraphs(body: str, child_ids: Sequence[str]) -> list[tuple[Key, str]]:
    """Each paragraph without its citations, by what it tells of."""
    found: list[tuple[Key, str]] = []
    counts: Counter[tuple[str, ...]] = Counter()
    for paragraph in re.split(r"\n\s*\n", body.strip()):
        end = _AT_END.search(paragraph)
        numbers = [int(n) for n in _NUMBER.findall(end[0])] if end else []
        ids = tuple(sorted({child_ids[n - 1] for n in numbers if 1 <= n <= len(child_ids)}))
        said = paragraph[: end.start()] if end and ids else paragraph
        if said.strip():
            found.append(((ids, counts[ids]), said.strip()))
            counts[ids] += 1
    return found


def _cited(said: str, ids: Sequence[str], child_ids: Sequence[str]) -> str:
    places = {child: number for number, child in enumerate(child_ids, 1)}
    return " ".join([said, *(f"[{number}]" for number in sorted(places[i] for i in ids if i in places))])
