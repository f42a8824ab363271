"""A host in memory that keeps to the commit rule: what came since the last checkpoint is lost when a run is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from sapwood.plugins.pulling import pulled, received
from sapwood.sdk import (
    CanonicalisedSource,
    Checkpoint,
    ConnectorSpec,
    Event,
    Failed,
    KnownItem,
    ListError,
    PullMode,
    PullRequest,
    Removed,
    RemovedScope,
    ScopeComplete,
    Seen,
    SeenMany,
    Skipped,
)
from sapwood.testkit.context import Endless, TestContext

__all__ = ["Endless", "Killed", "MemoryHost", "Run"]


_MOST_EVENTS, _SECONDS = 20_000, 60.0


class Killed(Exception):
    """The run was killed, as a test wished."""


@dataclass(slots=True)
class Run:
    """What one run yielded: all its events, and what of them was committed."""

    events: list[Event] = field(default_factory=list)
    upserted: list[CanonicalisedSource] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    spent: int = 0


@dataclass(slots=True)
class MemoryHost:
    """Holds the items of one connection between runs.

    Args:
        spec: of the connector.
        config: values of its configuration.
        tmp: a folder for temporary files.
        zone: of the user.
    """

    spec: ConnectorSpec
    config: Mapping[str, Any]
    tmp: Path
    zone: tzinfo = UTC
    items: dict[str, CanonicalisedSource] = field(default_factory=dict)
    issues: dict[str, Failed | Skipped] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] | None = None
    kv: dict[str, Any] = field(default_factory=dict)
    account: str = ""

    def check(self) -> str:
        """Run the connector's `check`, and keep and return the account that it names."""
        model, context = self._model(), self._context()
        try:
            self.account = self.spec.factory(model).check(context).account
        finally:
            context.close()
        return self.account

    def run(
        self, *, kill_after: int | None = None, stop_after: int | None = None, mode: PullMode = PullMode.INCREMENTAL
    ) -> Run:
        """One pull, with what it yields taken in.

        Args:
            kill_after: raise `Killed` once this many events have come; what was not committed by a checkpoint is lost.
            stop_after: ask the connector to stop once this many events have come.
            mode: why the pull is made.

        Raises:
            Killed: as asked for; ConnectorError: as the connector says.
        """
        if not self.account:
            self.check()
        context, run = self._context(), Run()
        batch = _Batch()
        request = PullRequest(checkpoint=self.checkpoint, mode=mode, may_be_empty=False)
        try:
            for event in self._events(context, request):
                run.events.append(event)
                if kill_after is not None and len(run.events) > kill_after:
                    raise Killed
                if isinstance(event, Checkpoint):
                    self._commit(batch, run, context, event.state)
                    batch = _Batch(batch.seen, batch.complete, batch.listing_failed)
                else:
                    batch.take(event)
                if stop_after is not None and len(run.events) >= stop_after:
                    context.stop()
            self._commit(batch, run, context, self.checkpoint)
            self._sweep(batch, run)
        finally:
            run.spent = context.spent
            context.close()
        return run

    def stream(self) -> Iterator[Event]:
        """The events of a first run, of which nothing is kept."""
        context = self._context()
        try:
            yield from self._events(context, PullRequest())
        finally:
            context.close()

    def markdown(self) -> dict[str, str]:
        """The text of each item that is held."""
        return {item_id: item.markdown for item_id, item in sorted(self.items.items())}

    def _events(self, context: TestContext, request: PullRequest) -> Iterator[Event]:
        connector = self.spec.factory(self._model())
        began, count = time.monotonic(), 0
        try:
            for event in pulled(self.spec, connector, context, request):
                count += 1
                if count > _MOST_EVENTS or time.monotonic() - began > _SECONDS:
                    raise Endless(f"the run does not end: {count} events and {context.spent} requests")
                # As in a real run, where events come from another process.
                yield received(event)
        except ListError as error:
            context.log.warning("%s", error)  # the run goes on, nothing of that scope is swept
            yield Failed(f"listing:{error.scope}", error.scope, _listing_error(error))
        finally:
            with suppress(AttributeError):
                connector.close()  # type: ignore[attr-defined]

    def _commit(self, batch: _Batch, run: Run, context: TestContext, state: Mapping[str, Any] | None) -> None:
        for item_id in batch.removed:
            if self.items.pop(item_id, None) is not None:
                run.removed.append(item_id)
        for item_id in [i for i, item in self.items.items() if item.scope in batch.removed_scopes]:
            del self.items[item_id]
            run.removed.append(item_id)
        for item_id, source in batch.sources.items():
            before = self.items.get(item_id)
            if before is None or before.markdown != source.markdown or before.title != source.title:
                run.upserted.append(source)
            self.items[item_id] = source
            self.issues.pop(item_id, None)
        self.issues |= batch.issues
        self.kv |= context.changed_values
        self.checkpoint = dict(state) if state is not None else None

    def _sweep(self, batch: _Batch, run: Run) -> None:
        """Forget what a whole listing did not name."""
        for scope in batch.complete - batch.listing_failed:
            for item_id in [i for i, item in self.items.items() if item.scope == scope and i not in batch.seen]:
                del self.items[item_id]
                run.removed.append(item_id)

    def _model(self) -> Any:
        return self.spec.config_model.model_validate(dict(self.config))

    def _context(self) -> TestContext:
        return TestContext(
            account=self.account, hosts=self.spec.hosts(self._model()), tmp=self.tmp, known=map(_known, self.items.values()), kv=self.kv, zone=self.zone
        )  # fmt: skip


@dataclass(slots=True)
class _Batch:
    """What came since the last commit; what was seen counts for the whole run."""

    seen: set[str] = field(default_factory=set)
    complete: set[str] = field(default_factory=set)
    listing_failed: set[str] = field(default_factory=set)
    sources: dict[str, CanonicalisedSource] = field(default_factory=dict)
    issues: dict[str, Failed | Skipped] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    removed_scopes: set[str] = field(default_factory=set)

    def take(self, event: Event) -> None:
        match event:
            case CanonicalisedSource():
                self.sources[event.item_id] = event
                self.seen.add(event.item_id)
            case Seen():
                self.seen.add(event.item_id)
            case SeenMany():
                self.seen.update(event.item_ids)
            case Failed() if event.error.stage == "list":
                self.listing_failed.add(event.scope)
            case Failed() | Skipped():
                self.issues[event.item_id] = event
                self.seen.add(event.item_id)
            case Removed():
                self.sources.pop(event.item_id, None)
                self.removed.append(event.item_id)
            case RemovedScope():
                self.removed_scopes.add(event.scope)
            case ScopeComplete():
                self.complete.add(event.scope)


def _known(item: CanonicalisedSource) -> KnownItem:
    mark = item.metadata.fingerprint
    return KnownItem(
        item.item_id, item.metadata.revision, mark.locator if mark else "", mark.size if mark else 0, mark.mtime_ns if mark else 0, mark.digest if mark else ""
    )  # fmt: skip


def _listing_error(error: ListError) -> Any:
    from sapwood.sdk import ItemError

    return ItemError("listing", error.message, error.hint, "list")
