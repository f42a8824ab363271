"""What is to be forgotten, and in which items it stands."""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sapwood.clock import from_ms
from sapwood.errors import ConfigurationError, NotFoundError
from sapwood.ingest.forgotten import Cut, normal, scopes_of, units, without
from sapwood.ingest.prepare import segments_from_rows
from sapwood.recall.trees import fetch_nodes
from sapwood.sdk.sources import CanonicalisedSource, DateSource, Fingerprint, Kind, Metadata, Segment, unescape
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.forgetting import ForgettingStore
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ChunkRow, ItemRow, ItemStore
from sapwood.store.trees import TreeRow, TreeStore

__all__ = ["Affected", "Choice", "affected_items", "choose", "source_of"]

_SHORTEST = 2
_WORD = set(string.ascii_letters + string.digits)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to go: texts wherever they stand, or whole items, and for a source its scopes.

    `texts` are normal forms; with `as_words` one of Latin letters counts only where it stands by itself, as a name does.
    `entity_ids` are ids of somebody or something of whom nothing is to be known.
    """

    texts: tuple[str, ...] = ()
    as_words: bool = False
    item_ids: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    entity_ids: tuple[str, ...] = ()

    def holds(self, text: str) -> bool:
        """True when one of the texts stands in this one, with or without the signs that Markdown puts before others."""
        if not self.texts or not text:
            return False
        return self._stands_in(normal(text)) or ("\\" in text and self._stands_in(normal(text.replace("\\", ""))))

    def _stands_in(self, text: str) -> bool:
        return any(self._found(wanted, text) for wanted in self.texts)

    def _found(self, wanted: str, text: str) -> bool:
        at = text.find(wanted)
        while at >= 0:
            before, after = text[at - 1 : at], text[at + len(wanted) : at + len(wanted) + 1]
            if not self.as_words or not (
                (wanted[0] in _WORD and before in _WORD) or (wanted[-1] in _WORD and after in _WORD)
            ):
                return True
            at = text.find(wanted, at + 1)
        return False


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
        if len(wanted) < _SHORTEST:
            raise ConfigurationError("--match", f"{match!r} is too short", "Give at least two letters.")
        return Choice(texts=(wanted,))
    assert target is not None
    item_ids = _items(database, target)
    if item_ids:
        return Choice(item_ids=tuple(item_ids))
    trees = _exactly(TreeStore(database).named(target), target)
    entity_ids = IdentityStore(database).resolve(target)
    if len(trees) + bool(entity_ids) > 1:
        meant = [f"the source {tree.scope}" for tree in trees] + ([f"the name {target}"] if entity_ids else [])
        raise ConfigurationError(target, f"means several things: {', '.join(meant)}", "Give the source's whole id, or the name's id as `sapwood entities` shows it.")  # fmt: skip
    if trees:
        return Choice(scopes=(trees[0].scope,))
    if entity_ids:
        group = IdentityStore(database).group(entity_ids)
        written = [*EntityStore(database).surfaces(group), *(entity_id.partition(":")[2] for entity_id in group)]
        texts = tuple(dict.fromkeys(text for text in map(normal, written) if len(text) >= _SHORTEST))
        return Choice(texts=texts, as_words=True, entity_ids=tuple(group))
    raise NotFoundError(target, "no item, source, person or thing is called so", "Take the item_id of a search hit, or forget a text with --match.")  # fmt: skip


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
    items, store = ItemStore(database), ForgettingStore(database)
    numbers = store.items_of(list(choice.item_ids)) if choice.item_ids else store.item_numbers()
    for item_no in numbers:
        item = items.by_number(item_no)
        if item is None:
            continue
        chunks = items.chunks(item_no)
        source = source_of(item, chunks)
        found = _look_at(choice, item, chunks, source)
        if found is not None:
            yield found


def _look_at(choice: Choice, item: ItemRow, chunks: list[ChunkRow], source: CanonicalisedSource) -> Affected | None:
    if choice.item_ids:
        return Affected(item, chunks, Cut(None), True, "it is the one")
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
        c.chunk_id: _edit_without(choice, c.edited) for c in chunks if c.edited is not None and choice.holds(c.edited)
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
    """True for a message that somebody wrote, got, or that lies at a place with such a name."""
    return any(
        choice.holds(text)
        for text in (segment.author, segment.ref, segment.native_id, *(value for _, value in segment.headers))
    )


def _edit_without(choice: Choice, edited: str) -> str:
    return "".join(edited[start:end] for start, end in units(edited) if not choice.holds(edited[start:end]))


def source_of(item: ItemRow, chunks: list[ChunkRow]) -> CanonicalisedSource:
    """An item as it came in, out of its rows: the original texts, without what the user made of them."""
    text = "".join(c.original[len(c.prefix) : len(c.original) - len(c.suffix) or None] for c in chunks)
    kind = Kind(item.kind)
    segments = tuple(replace(s, text=unescape(kind, s.text)) for s in segments_from_rows(item.segments, text)[0])
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
    return CanonicalisedSource(item.item_id, item.source_id, item.scope, kind, item.title, segments, metadata)
