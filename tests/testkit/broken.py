"""Connectors that are broken, each in one way, and the check that is named for it."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
from pydantic import BaseModel, Field
from tests.testkit.notes import Base, Changes, Listed, NotesCheckpoint, NotesConfig, spec_of

from sapwood.sdk import (
    Capability,
    Checkpoint,
    CheckReport,
    ConnectorConfig,
    Event,
    PullRequest,
    Removed,
    RunContext,
    ScopeComplete,
    TransientError,
)

BROKEN: dict[str, str] = {}
"""Name of a connector → the one check that fails."""


def _broken(check: str, **changes: Any) -> Callable[[type[Base]], type[Base]]:
    """A connector that this check must find, and no other; `spec_<its name>` gives its spec."""

    def note(connector: type[Base]) -> type[Base]:
        BROKEN[connector.__name__] = check
        globals()[f"spec_{connector.__name__}"] = lambda: spec_of(connector, **changes)
        return connector

    return note


@_broken("read.keeps_to_the_contract")
class NaiveTimes(Changes):
    def moment(self, note: dict[str, Any]) -> datetime:
        return super().moment(note).replace(tzinfo=None)


@_broken("read.keeps_to_the_contract")
class YieldsDicts(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        for event in super().pull(ctx, request):
            yield {"event": "source", "of": event}  # type: ignore[misc]


@_broken("read.ends")
class LoopsForEver(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        while True:
            yield from super().pull(ctx, request)


@_broken("read.gives_each_item_an_id_of_its_own")
class OneIdForAll(Changes):
    def item_id(self, ctx: RunContext, note: dict[str, Any]) -> str:
        return f"notes:{ctx.account}:note"


@_broken("read.gives_the_same_ids_to_another_host", capabilities=frozenset())
class NewIdsEachTime(Base):
    """Its ids last as long as its process, so that every host gets others."""

    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        names = ctx.kv.get("ids") or {}
        for notes in self.pages(ctx, "/ids"):
            for note in notes:
                if ctx.cancelled():
                    return
                names.setdefault(note["id"], uuid.uuid4().hex)
                known = ctx.known.get(f"notes:{ctx.account}:{names[note['id']]}")
                if known is None or known.revision != note["changed"]:
                    whole = self.ask(ctx, f"/notes/{note['id']}")
                    yield self.source(ctx, {**whole, "id": names[note["id"]]})
        ctx.kv.set("ids", names)


@_broken("deletes.take_nothing_else")
class IdsByPlace(Listed):
    """The place in the list is the id, and moves when something before it goes."""

    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        self.place = 0
        yield from super().pull(ctx, request)

    def item_id(self, ctx: RunContext, note: dict[str, Any]) -> str:
        return f"notes:{ctx.account}:{note['place']}"

    def one(self, ctx: RunContext, note: dict[str, Any]) -> Event:
        self.place += 1
        return super().one(ctx, {**note, "place": self.place})

    def source(self, ctx: RunContext, note: dict[str, Any]) -> Any:
        return super().source(ctx, {**note, "place": self.place})


@_broken("paging.brings_every_page")
class FirstPageOnly(Changes):
    def pages(self, ctx: RunContext, path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        found = self.ask(ctx, path, **query)
        if found["notes"] or not found["next"]:
            yield found["notes"]
            return
        yield from super().pages(ctx, path, **query)


@_broken("paging.goes_on_after_an_empty_page")
class EndsAtAnEmptyPage(Changes):
    def pages(self, ctx: RunContext, path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        for notes in super().pages(ctx, path, **query):
            if not notes:
                return
            yield notes


@_broken("paging.ends_when_a_page_comes_again")
class FollowsEveryCursor(Changes):
    def pages(self, ctx: RunContext, path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        cursor = ""
        while True:
            found = self.ask(ctx, path, **query, **({"cursor": cursor} if cursor else {}))
            yield found["notes"]
            cursor = found["next"]
            if not cursor:
                return


@_broken("incremental.brings_nothing_without_changes")
class TellsWhenItRead(Changes):
    def text(self, note: dict[str, Any]) -> str:
        return f"{note['text']}\n\nRead {datetime.now(UTC).isoformat()}"


@_broken("incremental.brings_what_came_in_the_same_moment")
class AsksAfterTheLastMoment(Changes):
    def pages(self, ctx: RunContext, path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        since = query.get("since", "")
        for notes in super().pages(ctx, path, **query):
            yield [note for note in notes if note["changed"] > since]


@_broken("incremental.brings_an_edit_under_the_same_id")
class IdWithRevision(Listed):
    def item_id(self, ctx: RunContext, note: dict[str, Any]) -> str:
        return f"{super().item_id(ctx, note)}@{note['changed']}"


@_broken("deletes.are_taken_over")
class ForgetsDeletes(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        return (event for event in super().pull(ctx, request) if not isinstance(event, Removed))


@_broken("deletes.are_not_made_up_when_the_service_fails")
class SwallowsListErrors(Listed):
    """A listing that breaks off counts as whole."""

    def pages(self, ctx: RunContext, path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        came = False
        try:
            for notes in super().pages(ctx, path, **query):
                yield notes
                came = True
        except TransientError:
            if not came:
                raise


@_broken("resume.ends_alike_after_a_kill_at_any_event")
class CheckpointFirst(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        events = list(super().pull(ctx, request))
        yield from (event for event in events if isinstance(event, Checkpoint))
        for event in events:
            if ctx.cancelled():
                # what was asked for before comes again
                yield Checkpoint(dict(request.checkpoint or {}))
                return
            if not isinstance(event, Checkpoint):
                yield event


@_broken("limits.stops_when_asked_and_goes_on_later")
class NeverStops(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        since = NotesCheckpoint.model_validate(request.checkpoint or {}).since
        for notes in self.pages(ctx, "/notes", since=since):
            for note in notes:
                yield Removed(self.item_id(ctx, note)) if note["deleted"] else self.source(ctx, note)
            if notes:
                yield Checkpoint({"since": notes[-1]["changed"]})


@_broken("limits.loses_nothing_when_stopped")
class CompletesThoughStopped(Listed):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        yield from super().pull(ctx, request)
        if ctx.cancelled():
            yield ScopeComplete(self.scope(ctx))


class _Growing(NotesCheckpoint):
    known: tuple[str, ...] = ()


@_broken("checkpoint.stays_small", checkpoint_model=_Growing)
class RemembersAll(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        held = dict(request.checkpoint or {})
        known = list(held.pop("known", ()))
        for event in super().pull(ctx, PullRequest(checkpoint=held)):
            if isinstance(event, Checkpoint):
                yield Checkpoint({**event.state, "known": known})
            else:
                known.append(str(getattr(event, "item_id", "")))
                yield event


@_broken("checkpoint.comes_back_from_json")
class CheckpointOfAnotherShape(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        held = {"since": (request.checkpoint or {}).get("from", "")}
        for event in super().pull(ctx, PullRequest(checkpoint=held)):
            yield Checkpoint({"from": event.state["since"]}) if isinstance(event, Checkpoint) else event


@_broken("limits.memory_stays_flat")
class ReadsAllBeforeItYields(Listed):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        for event in list(super().pull(ctx, request)):
            if ctx.cancelled():
                return
            yield event


class _Second(NotesCheckpoint):
    schema_version: int = 2


@_broken("checkpoint.loads_what_older_versions_wrote", checkpoint_model=_Second)
class ForgetsOldCheckpoints(Changes):
    pass


@_broken("limits.reads_no_text_twice")
class ReadsAllAgain(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        return super().pull(ctx, PullRequest())


@_broken("faults.a_refused_credential_is_an_auth_error")
class AuthIsTransient(Changes):
    def read(self, reply: httpx.Response) -> Any:
        if reply.status_code == 401:
            raise TransientError("the service does not answer")
        return super().read(reply)


def _own_client(self: Base, ctx: RunContext, path: str, query: dict[str, str]) -> httpx.Response:
    ctx.budget.spend()
    with httpx.Client() as client:
        return client.get(self.config.url + path, params=query, headers=self.headers(ctx))


@_broken("faults.a_limit_is_told_with_its_time")
class LimitIsTransient(Changes):
    def ask(self, ctx: RunContext, path: str, **query: str) -> Any:
        try:
            return self.read(_own_client(self, ctx, path, query))
        except httpx.TransportError as error:
            raise TransientError("the service cuts the line") from error


@_broken("faults.a_service_that_is_down_is_transient")
class CrashesOnNoJson(Changes):
    def read(self, reply: httpx.Response) -> Any:
        return reply.json() if reply.status_code == 200 else super().read(reply)


@_broken("faults.one_bad_item_holds_up_no_other")
class OneBadItemEndsAll(Listed):
    def read(self, reply: httpx.Response) -> Any:
        if reply.status_code == 403:
            raise TransientError("the service answers 403")
        return super().read(reply)

    def one(self, ctx: RunContext, note: dict[str, Any]) -> Event:
        known = ctx.known.get(self.item_id(ctx, note))
        if known and known.revision == note["changed"]:
            return super().one(ctx, note)
        return self.source(ctx, self.ask(ctx, f"/notes/{note['id']}"))


@_broken("secrets.turn_up_nowhere")
class TellsItsToken(Changes):
    def ask(self, ctx: RunContext, path: str, **query: str) -> Any:
        ctx.log.debug("asking %s with %s", path, self.headers(ctx))
        return super().ask(ctx, path, **query)


@_broken("check.names_the_account")
class AnotherAccountEachTime(Changes):
    def check(self, ctx: RunContext) -> CheckReport:
        return CheckReport(uuid.uuid4().hex)


@_broken("honesty.names_scopes_if_it_enumerates", capabilities=frozenset({Capability.NATIVE_DELETES}))
class EnumeratesUndeclared(Changes):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        yield from super().pull(ctx, request)
        if request.checkpoint is None and not list(ctx.known.all()):
            yield ScopeComplete("notes:of-nothing")


@_broken("honesty.has_the_methods_that_it_declares", capabilities=frozenset({Capability.NATIVE_DELETES, Capability.RETRY_ITEMS}))  # fmt: skip
class PromisesToRetry(Changes):
    pass


class _PlainToken(ConnectorConfig):
    url: str = Field(description="Address of the service.")
    token: str = Field(description="The token of the account.")


@_broken("spec.keeps_secrets_as_references", config_model=_PlainToken)
class PlainToken(Changes):
    pass


class _Loose(BaseModel):
    url: str = Field(description="Address of the service.")
    token: str = Field(description="Reference of the token.", json_schema_extra={"format": "secret-reference"})


@_broken("spec.refuses_unknown_fields", config_model=_Loose)
class TakesAnyField(Changes):
    pass


class _Bare(NotesConfig):
    depth: int = 3


@_broken("spec.describes_its_fields", config_model=_Bare)
class BareField(Changes):
    pass


@_broken("environment.ids_do_not_depend_on_the_users_zone")
class IdsByLocalDay(Listed):
    def item_id(self, ctx: RunContext, note: dict[str, Any]) -> str:
        born = datetime(2026, 5, 4, 9, 0, tzinfo=UTC).astimezone(ctx.zone)
        return f"{super().item_id(ctx, note)}:{born:%H}"


@_broken("environment.times_do_not_depend_on_the_machines_zone")
class LosesTheZone(Changes):
    def moment(self, note: dict[str, Any]) -> datetime:
        return super().moment(note).replace(tzinfo=None).astimezone()


@_broken("environment.talks_only_to_the_hosts_that_it_declares")
class AsksAnotherHost(Changes):
    def check(self, ctx: RunContext) -> CheckReport:
        if "sapwood.testkit.alone" in " ".join(sys.orig_argv):
            with httpx.Client() as client:
                client.get("http://statistics.example.invalid/")
        return super().check(ctx)


@_broken("environment.reads_under_another_locale")
class WritesInTheLocale(Changes):
    """Keeps a text in a file whose encoding is that of the machine."""

    def text(self, note: dict[str, Any]) -> str:
        place = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"note-{uuid.uuid4().hex}")
        with open(place, "w", errors="replace") as file:
            file.write(super().text(note))
        with open(place, errors="replace") as file:
            held = file.read()
        os.unlink(place)
        return held
