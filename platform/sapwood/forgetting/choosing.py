"""What is to be forgotten, and in which items it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sapwood.clock import from_ms
from sapwood.errors import ConfigurationError, NotFoundError
from sapwood.ingest.cutting import Cut, normal, scopes_of, units, without
from sapwood.ingest.prepare import stored_segments
from sapwood.recall.trees import fetch_nodes
from sapwood.sdk.sources import CanonicalisedSource, DateSource, Fingerprint, Kind, Metadata, Segment
from sapwood.store.connections import ConnectionStore, Issue
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.trees import TreeRow, TreeStore
from sapwood.store.vaultfiles import VaultFiles
from sapwood.text.entities import occurrences
from sapwood.text.fold import CJK

__all__ = ["Affected", "Choice", "Traces", "affected_items", "choose", "failed_of", "source_of", "without_units"]

_SHORTEST = 2
_CLUE = 24  # letters of a paragraph by which it is known again


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to go: texts wherever they stand, names where they stand by themselves, or whole items, and for a source its scopes.

    `texts` are normal forms, compared without regard to capitals and writing. `names` are as they are written, and count only so, or in
    capitals. `entity_ids` are ids of somebody or something of whom nothing is to be known.
    """

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    item_ids: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    entity_ids: tuple[str, ...] = ()

    def holds(self, text: str) -> bool:
        """True when one of the texts, or one of the names by itself, stands in this one."""
        if not text:
            return False
        if self.texts:
            folded = normal(text)
            if any(wanted in folded for wanted in self.texts):
                return True
        if self.names:
            written = normal(text, as_written=True)
            return any(_by_itself(form, written) for name in self.names for form in {name, name.upper()})
        return False

    def to_json(self) -> dict[str, list[str]]:
        """The fields that are set, as lists."""
        return {name: list(value) for name in self.__slots__ if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Choice:
        """The inverse of `to_json`."""
        return cls(**{name: tuple(map(str, data.get(name, ()))) for name in cls.__slots__})


def _by_itself(name: str, text: str) -> bool:
    """True where a name is not the inside of a longer word; Chinese has no such borders."""
    ends = ((text[at - 1 : at], text[at + len(name) : at + len(name) + 1]) for at in occurrences(name, text))
    return any(not (_joins(name[0], before) or _joins(name[-1], after)) for before, after in ends)


def _joins(edge: str, beside: str) -> bool:
    return beside.isalnum() and edge.isalnum() and not CJK.match(edge) and not CJK.match(beside)


@dataclass(slots=True)
class Affected:
    """An item of which something goes. `whole` says that all of it does, `why`; `shown` are the first texts that go."""

    item: ItemRow
    chunks: list[ChunkRow]
    cut: Cut
    whole: bool
    why: str = ""
    shown: list[str] = field(default_factory=list)
    edits: dict[str, str] = field(default_factory=dict)


def choose(database: Database, target: str | None, match: str | None) -> Choice:
    """What a person means by an item's, source's or entity's name, or by a text.

    Raises:
        ConfigurationError: the text is too short, or a name means several things.
        NotFoundError: there is nothing of that name.
    """
    if match is not None:
        wanted = normal(match)
        if len(wanted) < _SHORTEST and not (wanted and ord(wanted[0]) > 0x1F000):
            raise ConfigurationError("--match", f"{match!r} is too short", "Give at least two letters.")
        return Choice(texts=(wanted,))
    assert target is not None
    if not target.strip():
        raise ConfigurationError("TARGET", "is empty", "Name an item, a source, a person or thing.")
    item_ids = _items(database, target)
    if item_ids:
        return Choice(item_ids=tuple(item_ids))
    scopes = _scopes(database, target)
    entity_ids = IdentityStore(database).resolve(target)
    if len(scopes) + bool(entity_ids) > 1:
        meant = [f"the source {scope}" for scope in scopes] + ([f"the name {target}"] if entity_ids else [])
        raise ConfigurationError(target, f"means several things: {', '.join(meant)}", "Give the source's whole id, or the name's id as `sapwood entities` shows it.")  # fmt: skip
    if scopes:
        return Choice(scopes=(scopes[0],))
    if entity_ids:
        return _somebody(database, entity_ids)
    near = ", ".join(tree.title for tree in TreeStore(database).named(target)[:3])
    step = (
        f"Perhaps you mean the source {near}."
        if near
        else "Take the item_id of a search hit, or forget a text with --match."
    )
    raise NotFoundError(target, "no item, source, person or thing is called so", step)


def _somebody(database: Database, entity_ids: list[str]) -> Choice:
    """Addresses and handles are known wherever they stand, names as they are written."""
    group = IdentityStore(database).group(entity_ids)
    texts, names = [], []
    for kind, surface in EntityStore(database).spellings(group):
        if "@" in surface or kind in ("email", "handle", "url"):
            texts.append(normal(surface))
        else:
            names.append(normal(surface, as_written=True))
    return Choice(
        texts=tuple(dict.fromkeys(t for t in texts if len(t) >= _SHORTEST)), names=tuple(dict.fromkeys(n for n in names if len(n) >= _SHORTEST)),
        entity_ids=tuple(group),
    )  # fmt: skip


def _scopes(database: Database, target: str) -> list[str]:
    """Sources that are called so, and connections: all that comes through one."""
    exact = [tree.scope for tree in _exactly(TreeStore(database).named(target), target)]
    connections = [
        f"{connector}:{account}:/"
        for _, connector, account, name in ConnectionStore(database).all()
        if target in (name, account, f"{connector}:{account}:/") or name.rpartition("-")[0] == target
    ]
    return list(dict.fromkeys([*exact, *connections]))


def _items(database: Database, target: str) -> list[str]:
    found = ItemStore(database).find(target)
    if found is not None:
        return [found.item_id]
    hits = fetch_nodes(database, [target])
    if any(hit.node_kind == "summary" for hit in hits):
        raise ConfigurationError(
            target,
            "is a summary, and tells what other texts say",
            f"Forget those: `sapwood drill {target}` lists them.",
        )
    return list(dict.fromkeys(hit.item_id for hit in hits))


def _exactly(trees: list[TreeRow], name: str) -> list[TreeRow]:
    """Sources that are called so, not those whose name only holds this."""
    wanted = name.strip().rstrip("/").lower()
    return [
        tree
        for tree in trees
        if tree.scope == name or wanted in (tree.title.lower(), tree.scope.lower().rstrip("/")) or tree.scope.lower().rstrip("/").endswith((f"/{wanted}", f":{wanted}"))
    ]  # fmt: skip


def affected_items(database: Database, choice: Choice) -> Iterator[Affected]:
    """Every item of which something goes, one by one; all texts of all items are read for it."""
    items = ItemStore(database)
    if choice.item_ids:
        chosen = map(items.find, sorted(choice.item_ids))
    else:
        chosen = map(items.by_number, VaultFiles(database).all_numbers())
    for item in filter(None, chosen):
        chunks = items.chunks(item.item_no)
        source = source_of(item, chunks)
        found = _look_at(choice, item, chunks, source)
        if found is not None:
            yield found


def _look_at(choice: Choice, item: ItemRow, chunks: list[ChunkRow], source: CanonicalisedSource) -> Affected | None:
    if choice.item_ids:
        return Affected(item, chunks, Cut(None), True, "it is the one") if item.item_id in choice.item_ids else None
    if choice.scopes:
        return (
            Affected(item, chunks, Cut(None), True, "it is of that source")
            if set(choice.scopes) & set(scopes_of(source))
            else None
        )
    data = source.metadata
    names = (source.title, source.item_id, source.source_id, source.scope, item.locator, data.thread_id, data.source_ref, *(part for c in data.container for part in (c.id, c.name)))  # fmt: skip
    if any(choice.holds(name) for name in names):
        return Affected(item, chunks, Cut(None), True, "its title or place holds it", [item.title])
    cut = without(source, segment=lambda s: _is_about(choice, s), unit=choice.holds, name=choice.holds)
    edits = {
        c.chunk_id: without_units(choice, c.edited) for c in chunks if c.edited is not None and choice.holds(c.edited)
    }
    if cut.is_whole and not edits:
        return None
    shown = [
        *(s.text for s in cut.segments),
        *cut.units,
        *cut.names,
        *(c.edited or "" for c in chunks if c.chunk_id in edits),
    ]
    return Affected(
        item, chunks, cut, cut.source is None, "nothing else is left of it" if cut.source is None else "", shown, edits
    )


def _is_about(choice: Choice, segment: Segment) -> bool:
    """True for a message that somebody wrote, or that lies at a place with such a name."""
    return any(choice.holds(text) for text in (segment.author, segment.ref, segment.native_id))


def without_units(choice: Choice, text: str) -> str:
    """A text without the paragraphs, entries and lines that hold what is to go."""
    return "".join(piece for piece in units(text) if not choice.holds(piece))


@dataclass(frozen=True, slots=True)
class Traces:
    """By what something that goes is known again wherever it was left: the choice, ids and places of items that go as a whole and of files
    that could not be read (`places`), and normal forms of those items' paragraphs (`clues`)."""

    choice: Choice
    places: frozenset[str]
    clues: tuple[str, ...]

    @classmethod
    def of(cls, choice: Choice, affected: Iterable[Affected], failed: Iterable[Issue]) -> Traces:
        """Of all that goes."""
        whole = [one for one in affected if one.whole]
        named = [(one.item.item_id, one.item.locator) for one in whole] + [(i.item_id, i.locator) for i in failed]
        return cls(choice, frozenset(text for pair in named for text in pair if text), _clues_to(whole))

    def hold(self, text: str) -> bool:
        """True for a text that holds some of it, or that is an id, a place or a source of it."""
        if self.choice.holds(text) or text in self.places or text in self.choice.scopes:
            return True
        folded = normal(text) if self.clues else ""
        return any(clue in folded for clue in self.clues)


def failed_of(database: Database, choice: Choice) -> list[Issue]:
    """Items that could not be read, and whose name alone is to go."""
    return [
        issue
        for issue in ConnectionStore(database).issues(limit=-1)
        if any(choice.holds(text) for text in (issue.item_id, issue.locator, issue.message))
        or _lies_in(issue, choice.scopes)
    ]


def _lies_in(issue: Issue, scopes: Iterable[str]) -> bool:
    """True for a file that could not be read and lies in one of these folders."""
    owner = ":".join(issue.item_id.split(":", 2)[:2])
    return any(
        scope == f"{owner}:/" or (scope.endswith("/") and f"{owner}:{issue.locator}".startswith(scope))
        for scope in scopes
    )


def _clues_to(whole: Iterable[Affected]) -> tuple[str, ...]:
    texts = (text for one in whole for chunk in one.chunks for text in (chunk.original, chunk.edited or ""))
    return tuple(dict.fromkeys(clue for text in texts for piece in units(text) if len(clue := normal(piece)) >= _CLUE))


def source_of(item: ItemRow, chunks: list[ChunkRow]) -> CanonicalisedSource:
    """An item as it came in, out of its rows: the original texts, without what the user made of them."""
    said = from_ms(item.timestamp_ms) if item.timestamp_ms is not None else None
    mark = Fingerprint(item.locator, item.size, item.mtime_ns, item.digest) if item.locator else None
    metadata = replace(
        Metadata.from_json(item.metadata),
        timestamp=said,
        date_source=DateSource(item.date_source),
        revision=item.revision,
        final=item.final,
        fingerprint=mark,
    )
    return CanonicalisedSource(
        item.item_id, item.source_id, item.scope, Kind(item.kind), item.title, stored_segments(item, chunks), metadata
    )
