"""The folder connector with one thing spoiled in each, and the check that must find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import sapwood_folder.connector as folder
from sapwood.sdk import CanonicalisedSource, Event, ListError, PullRequest, RunContext, ScopeComplete
from sapwood.sdk.connector import ConnectorSpec
from sapwood.testkit.alone import find_spec

MUTANTS: dict[str, str] = {}


def _mutant(check: str) -> Callable[[type[folder.FolderConnector]], type[folder.FolderConnector]]:
    def note(connector: type[folder.FolderConnector]) -> type[folder.FolderConnector]:
        def spec() -> ConnectorSpec:
            return replace(find_spec("folder", ""), factory=connector)

        MUTANTS[connector.__name__] = check
        globals()[f"spec_{connector.__name__}"] = spec
        return connector

    return note


class _Folder(folder.FolderConnector):
    def each(self, ctx: RunContext, event: Event) -> Event | None:
        """What becomes of an event."""
        return event

    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        for event in super().pull(ctx, request):
            if (made := self.each(ctx, event)) is not None:
                yield made


@_mutant("read.brings_every_item")
class DropsTheLastFile(_Folder):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        events = list(super().pull(ctx, request))
        last = next((e for e in reversed(events) if isinstance(e, CanonicalisedSource)), None)
        return (event for event in events if event is not last)


@_mutant("deletes.are_not_made_up_when_the_service_fails")
class SwallowsTheListingError(_Folder):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        try:
            yield from super().pull(ctx, request)
        except ListError as error:
            yield ScopeComplete(error.scope)


@_mutant("read.gives_each_item_an_id_of_its_own")
class ReusesAnId(_Folder):
    def each(self, ctx: RunContext, event: Event) -> Event | None:
        return replace(event, item_id=f"folder:{ctx.account}:file") if isinstance(event, CanonicalisedSource) else event


def _with_time(source: CanonicalisedSource, change: Callable[[datetime], datetime]) -> CanonicalisedSource:
    moment = source.metadata.timestamp
    return replace(source, metadata=replace(source.metadata, timestamp=change(moment), time_range=None)) if moment else source  # fmt: skip


@_mutant("environment.times_do_not_depend_on_the_machines_zone")
class LosesTheTimeZone(_Folder):
    def each(self, ctx: RunContext, event: Event) -> Event | None:
        if isinstance(event, CanonicalisedSource):
            return _with_time(event, lambda moment: moment.replace(tzinfo=None).astimezone())
        return event


@_mutant("read.keeps_to_the_contract")
class GivesNaiveTimes(_Folder):
    def each(self, ctx: RunContext, event: Event) -> Event | None:
        return (
            _with_time(event, lambda moment: moment.replace(tzinfo=None))
            if isinstance(event, CanonicalisedSource)
            else event
        )


@_mutant("deletes.are_taken_over")
class NeverCompletes(_Folder):
    def each(self, ctx: RunContext, event: Event) -> Event | None:
        return None if isinstance(event, ScopeComplete) else event


@_mutant("limits.loses_nothing_when_stopped")
class CompletesThoughStopped(_Folder):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        for event in super().pull(ctx, request):
            if ctx.cancelled():
                break
            yield event
        yield ScopeComplete(f"folder:{ctx.account}")


@_mutant("incremental.brings_an_edit_under_the_same_id")
class IdsByContent(_Folder):
    def each(self, ctx: RunContext, event: Event) -> Event | None:
        if isinstance(event, CanonicalisedSource):
            mark = event.metadata.fingerprint
            return replace(event, item_id=f"folder:{ctx.account}:{mark.digest if mark else event.title}")
        return event


class _Blind:
    """A context that knows nothing of what is stored."""

    def __init__(self, ctx: RunContext) -> None:
        self._ctx = ctx
        self.known = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def all(self) -> list[Any]:
        return []

    def get(self, item_id: str) -> None:
        return None


@_mutant("limits.reads_no_text_twice")
class ReadsAllAgain(_Folder):
    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        return super().pull(_Blind(ctx), request)  # type: ignore[arg-type]
