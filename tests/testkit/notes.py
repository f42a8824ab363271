"""A small service of notes and sound connectors for it, on which the broken ones are built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import Field

from sapwood.sdk import (
    API_VERSION,
    AuthError,
    CanonicalisedSource,
    Capability,
    Checkpoint,
    CheckpointModel,
    CheckReport,
    ConnectorConfig,
    ConnectorSpec,
    DateSource,
    DocumentSection,
    Event,
    Failed,
    ItemError,
    Metadata,
    PullRequest,
    Removed,
    RunContext,
    ScopeComplete,
    SecretReference,
    Seen,
    TransientError,
    canonicalise_document,
)
from sapwood.testkit import Entry, FakeService, Request


class NotesService(FakeService):
    """`/me`, `/notes?since=&cursor=` with what changed, `/ids?cursor=` with what there is, `/notes/NAME`."""

    def __init__(self) -> None:
        super().__init__()
        self.config: dict[str, Any] = {}

    def __enter__(self) -> NotesService:
        super().__enter__()
        self.config = {"url": self.url, "token": f"env:{self.variable}"}
        return self

    def answer(self, request: Request) -> Any:
        if request.path == "/me":
            return {"id": "acc-1", "name": "Ada"}
        if request.path == "/ids":
            found, after = self.page(request, list(self.entries.values()))
            return {"notes": [{"id": e.name, "changed": e.changed.isoformat()} for e in found], "next": after}
        if request.path == "/notes":
            since = request.query.get("since", "")
            everything = sorted([*self.entries.values(), *self.tombstones.values()], key=lambda e: (e.changed, e.name))
            found, after = self.page(request, [e for e in everything if e.changed.isoformat() >= since])
            return {"notes": [_note(entry) for entry in found], "next": after}
        return _note(self.readable(request.path.rpartition("/")[2]))


def _note(entry: Entry) -> dict[str, Any]:
    return {"id": entry.name, "text": entry.text, "created": entry.created.isoformat(), "changed": entry.changed.isoformat(), "deleted": entry.is_deleted}  # fmt: skip


class NotesConfig(ConnectorConfig):
    """Where the notes are."""

    url: str = Field(description="Address of the service.")
    token: SecretReference = Field(description="The token of the account.")


class NotesCheckpoint(CheckpointModel):
    """The moment from which on changes are asked for."""

    since: str = ""


class Base:
    """What both have: requests, and a note as a document."""

    def __init__(self, config: NotesConfig) -> None:
        self.config = config

    def check(self, ctx: RunContext) -> CheckReport:
        return CheckReport(str(self.ask(ctx, "/me")["id"]))

    def ask(self, ctx: RunContext, path: str, **query: str) -> Any:
        return self.read(ctx.http.get(self.config.url + path, params=query, headers=self.headers(ctx)))

    def read(self, reply: httpx.Response) -> Any:
        if reply.status_code == 401:
            raise AuthError(
                "the service refuses the token", hint="Make a new one and put it where the connection looks."
            )
        if reply.status_code != 200:
            raise TransientError(f"the service answers {reply.status_code}")
        try:
            return json.loads(reply.text)
        except ValueError as error:
            raise TransientError("the service answers something that is no JSON") from error

    def headers(self, ctx: RunContext) -> dict[str, str]:
        return {"Authorization": f"Bearer {ctx.secrets.get(self.config.token)}"}

    def pages(self, ctx: RunContext, path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        seen: set[str] = set()
        cursor = ""
        while True:
            found = self.ask(ctx, path, **query, **({"cursor": cursor} if cursor else {}))
            yield found["notes"]
            cursor = found["next"]
            if not cursor:
                return
            if cursor in seen:
                raise TransientError("the service names the same page twice")
            seen.add(cursor)

    def scope(self, ctx: RunContext) -> str:
        return f"notes:{ctx.account}"

    def item_id(self, ctx: RunContext, note: dict[str, Any]) -> str:
        return f"notes:{ctx.account}:{note['id']}"

    def source(self, ctx: RunContext, note: dict[str, Any]) -> CanonicalisedSource:
        made = canonicalise_document(
            item_id=self.item_id(ctx, note), source_id=self.scope(ctx), scope=self.scope(ctx), title=f"Note {note['id']}",
            sections=[DocumentSection("1", self.text(note))],
            metadata=Metadata(timestamp=self.moment(note), date_source=DateSource.SAID, revision=note["changed"]),
        )  # fmt: skip
        assert made is not None
        return made

    def text(self, note: dict[str, Any]) -> str:
        return str(note["text"])

    def moment(self, note: dict[str, Any]) -> datetime:
        return datetime.fromisoformat(note["created"])


class Changes(Base):
    """Asks for what changed since the checkpoint; the service tells what was deleted."""

    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        since = NotesCheckpoint.model_validate(request.checkpoint or {}).since
        for notes in self.pages(ctx, "/notes", since=since):
            for note in notes:
                if ctx.cancelled():
                    return
                yield Removed(self.item_id(ctx, note)) if note["deleted"] else self.source(ctx, note)
            if notes:
                yield Checkpoint({"since": notes[-1]["changed"]})


class Listed(Base):
    """Lists all, reads one by one what is new or changed, and says when the listing was whole."""

    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        scope = self.scope(ctx)
        for notes in self.pages(ctx, "/ids"):
            for note in notes:
                if ctx.cancelled():
                    return
                yield self.one(ctx, note)
        yield ScopeComplete(scope)

    def one(self, ctx: RunContext, note: dict[str, Any]) -> Event:
        item_id = self.item_id(ctx, note)
        known = ctx.known.get(item_id)
        if known and known.revision == note["changed"]:
            return Seen(item_id, self.scope(ctx))
        reply = ctx.http.get(f"{self.config.url}/notes/{note['id']}", headers=self.headers(ctx))
        if reply.status_code == 403:
            error = ItemError("forbidden", f"note {note['id']} may not be read", "Ask its owner to share it.")
            return Failed(item_id, self.scope(ctx), error)
        return self.source(ctx, self.read(reply))


def spec_of(connector: type[Base], **changes: Any) -> ConnectorSpec:
    """A spec whose connector is of this class."""
    listed = issubclass(connector, Listed)
    values: dict[str, Any] = {
        "key": "notes", "title": "Notes", "api": API_VERSION, "config_model": NotesConfig, "checkpoint_model": NotesCheckpoint, "factory": connector,
        "capabilities": frozenset({Capability.ENUMERATE if listed else Capability.NATIVE_DELETES, Capability.INCREMENTAL, Capability.EDITS}),
        "hosts": lambda config: (urlsplit(config.url).hostname or "",),
    }  # fmt: skip
    return ConnectorSpec(**{**values, **changes})
