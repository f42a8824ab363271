"""Asking a workspace."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.errors import NotFoundError, SapwoodError
from sapwood.memory.base import OpenWorkspace

if TYPE_CHECKING:
    from sapwood.recall.hits import QueryResponse, RetrievalHit
    from sapwood.recall.recap import Recap
    from sapwood.recall.topics import EntityMatch
    from sapwood.recall.vector_leg import VectorLeg

__all__ = ["Finding"]

log = logging.getLogger(__name__)


class Finding(OpenWorkspace):
    """The part of `Memory` that answers."""

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        unit: str = "chunk",
        source_id: str | None = None,
        kind: str | None = None,
        author: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        include_dropped: bool = False,
    ) -> QueryResponse:
        """Hits for a query, best first; see `recall.search.search`. A search in everything tells beside them as `told` what a person
        corrected in summaries.
        """
        from sapwood.recall.search import search
        from sapwood.recall.trees import corrected_summaries
        from sapwood.store.search import SearchStore

        found = search(
            SearchStore(self.database),
            query,
            vectors=self._vector_leg(),
            limit=limit,
            unit=unit,
            source_id=source_id,
            kind=kind,
            author=author,
            since=since,
            until=until,
            include_dropped=include_dropped,
        )
        if source_id or kind or author:
            return found
        return replace(found, told=corrected_summaries(self.database, query, (since, until)))

    def _vector_leg(self) -> VectorLeg:
        if self._leg is None:
            from sapwood.recall.vector_leg import VectorLeg
            from sapwood.store.vectors import VectorStore

            vectors = VectorStore(self.database, self.workspace.embeddings)
            self._leg = VectorLeg(self.settings, self.workspace.memory_tree, vectors)
        return self._leg

    def query_source(
        self,
        source: str | None = None,
        query: str = "",
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 10,
    ) -> QueryResponse:
        """What a source tells: its summaries and what is not summarised yet; see `recall.trees.query_source`. With a query, what it says
        about that; see `recall.trees.search_source`.

        Args:
            source: its id, its title, or the end of its id, such as a folder's or file's name; None for all sources.
            query: words, or nothing.
            since, until: only what lies in this window.
            limit: how many hits.

        Raises:
            NotFoundError: no source is called so.
        """
        from sapwood.recall.trees import query_source, search_source
        from sapwood.store.trees import TreeStore

        store = TreeStore(self.database)
        trees = store.named(source) if source else store.trees("source")
        if source and not trees:
            raise NotFoundError(source, "no source is called so", "`sapwood source` without a name lists them.")
        if query.strip():
            return search_source(
                self.database, trees, query, since=since, until=until, limit=limit, vectors=self._vector_leg()
            )
        return query_source(self.database, trees, since=since, until=until, limit=limit)

    def sources(self) -> list[dict[str, Any]]:
        """Every source tree but those of single documents: title, scope, how high it is, how many nodes stand at its top, and when it last grew."""
        from sapwood.store.trees import TreeStore

        return TreeStore(self.database).overview()

    def query_global(self, first: date, last: date | None = None) -> Recap:
        """What happened on a day, or from one to another; see `recall.recap.recap`."""
        from sapwood.recall.recap import recap

        return recap(self.database, first, last or first, self.zone)

    def query_hours(self, start: datetime, end: datetime) -> Recap:
        """What happened in a part of a day; see `recall.recap.recap_part`. Both moments are aware."""
        from sapwood.recall.recap import recap_part

        return recap_part(self.database, start, end, self.zone)

    def query_topic(
        self,
        name: str,
        query: str = "",
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 10,
    ) -> QueryResponse:
        """What is known of a person or a thing, the newest first; see `recall.topics.query_topic`. With a query, what is said about that
        where they are named; see `recall.topics.search_topic`. Of a name that no entity has, the texts that hold it; see
        `recall.topics.query_words`.

        Raises:
            NotFoundError: nobody and nothing is called so, and no text holds the name.
        """
        from sapwood.recall.topics import query_topic, query_words, search_topic

        if query.strip():
            found = search_topic(
                self.database, name, query, since=since, until=until, limit=limit, vectors=self._vector_leg()
            )
        else:
            found = query_topic(self.database, name, since=since, until=until, limit=limit)
        if not found.total and not self._is_known(name):
            if not query.strip():
                found = query_words(self.database, name, since=since, until=until, limit=limit)
                if found.hits:
                    return found
            near = ", ".join(match.surface for match in self.search_entities(name, limit=3))
            step = f"Perhaps you mean: {near}." if near else "`sapwood entities TEXT` looks for names that hold a text."
            raise NotFoundError(name, "nobody and nothing is called so", step)
        self._note_question(name)
        return found

    def _note_question(self, name: str) -> None:
        """What is asked for becomes hot. An answer never waits or fails for that."""
        from sapwood.pipeline.topics import asked_for

        try:
            with self.database.transaction():
                asked_for(self.database, name)
        except SapwoodError as error:
            log.debug("the question was not counted: %s", error)

    def _is_known(self, name: str) -> bool:
        from sapwood.store.identities import IdentityStore

        return bool(IdentityStore(self.database).resolve(name))

    def search_entities(self, query: str, *, kinds: list[str] | None = None, limit: int = 5) -> list[EntityMatch]:
        """People and things whose name holds a text; see `recall.topics.search_entities`."""
        from sapwood.recall.topics import search_entities

        return search_entities(self.database, query, kinds=kinds, limit=limit)

    def first_day(self) -> date | None:
        """The first day of which something is known."""
        from sapwood.store.days import DayStore

        day = DayStore(self.database).first()
        return date.fromisoformat(day) if day else None

    def drill_down(self, node_id: str, *, depth: int = 1, limit: int = 0, query: str = "") -> QueryResponse:
        """What a summary tells of; see `recall.trees.drill_down`."""
        from sapwood.recall.trees import drill_down

        return drill_down(self.database, node_id, depth=depth, limit=limit, query=query)

    def sync_status_list(self) -> list[dict[str, Any]]:
        """How far each connection is; see `recall.sync_status.sync_status`."""
        from sapwood.recall.sync_status import sync_status

        return [row.to_json() for row in sync_status(self.workspace, self.database, self.settings)]

    def fetch(self, node_ids: Iterable[str]) -> list[RetrievalHit]:
        """Summaries and chunks by id, items by item id; unknown ids are left out."""
        from sapwood.recall.trees import fetch_nodes

        return fetch_nodes(self.database, node_ids)

    def locate(self, node_id: str, *, original: bool = False) -> Path:
        """The vault file of a chunk or item, or with `original` the file that it came from.

        Raises:
            NotFoundError: nothing has this id, or the original is not on this machine.
        """
        hits = self.fetch([node_id])
        if not hits:
            raise NotFoundError(node_id, "nothing has this id", "Take the node_id or item_id of a search hit.")
        if not original:
            return self.workspace.root / hits[0].path
        from sapwood.sync.connections import load_connections

        connector, account = ([*hits[0].item_id.split(":", 2), "", ""])[:2]
        for connection in load_connections(self.workspace, connector):
            if connection.account == account and "root" in connection.config:
                place = hits[0].source_ref.partition("#page=")[0].partition("!/")[0]
                return Path(connection.config["root"]) / place
        raise NotFoundError(
            node_id,
            "its original is not a file of this machine",
            f"Its reference is {hits[0].source_ref or 'unknown'}.",
        )

    def explain(self, chunk_id: str) -> dict[str, Any]:
        """The deep score of a chunk, signal by signal; see `pipeline.extract.explain`.

        Raises:
            NotFoundError: nothing has this id.
        """
        from sapwood.pipeline.extract import explain

        hits = self.fetch([chunk_id])
        found = explain(self.database, hits[0].node_id) if hits else None
        if found is None:
            raise NotFoundError(chunk_id, "no chunk has this id", "Take the node_id of a search hit.")
        return found
