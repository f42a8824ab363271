"""One run of one connection: the connector's events become batches, and each batch is one transaction.

Items, removals, failures, key-values, the checkpoint and the counters commit together. A batch that was flushed for
its size does not move the checkpoint. What a whole listing did not show is swept at its end, unless the sweep looks
like a mistake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any, Protocol

from sapwood.clock import now_ms
from sapwood.credentials import resolve
from sapwood.errors import SapwoodError
from sapwood.ingest.commit import Stored, Writer
from sapwood.ingest.prepare import warm_up
from sapwood.plugins.inline import InlineConnector, open_connector
from sapwood.plugins.process import ConnectorProcess, KvSet, RunSettings
from sapwood.sdk.connector import PullRequest
from sapwood.sdk.errors import BadItem, Cancelled, ConnectorError, ListError
from sapwood.sdk.events import (
    Checkpoint,
    Failed,
    ItemError,
    Progress,
    Removed,
    RemovedScope,
    ScopeComplete,
    Seen,
    SeenMany,
    Skipped,
)
from sapwood.sdk.sources import CanonicalisedSource
from sapwood.store.connections import ConnectionStore, Issue
from sapwood.store.database import Database
from sapwood.sync.connections import Connection
from sapwood.text.redact import Redaction
from sapwood.workspace import Workspace

BRAKE_SHARE = 0.2
BRAKE_ITEMS = 50
_PLUGINS_KEY = "sapwood.plugins"  # among the connection's values: what was installed at its last whole run


class Observer(Protocol):
    """Somebody who watches a run. All methods are called from the run's thread."""

    def progress(self, done: int, total: int | None, label: str, unit: str) -> None:
        """How far the connector is."""

    def outcome(self, state: str, label: str) -> None:
        """An item was stored, unchanged, skipped or failed."""


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What a run did with one item. `locator` is where its original lies."""

    item_id: str
    locator: str
    state: str
    title: str = ""
    chunks: int = 0
    reason: str = ""
    next_step: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class RunReport:
    """The end of a run.

    `status` is done, partial (a listing was not whole), cancelled or failed; `message` says why. `held` is the number of
    removals that wait for `--confirm-deletes`; `forgotten` are items that came and may not come back.
    """

    connection: Connection
    connection_id: int
    status: str = "done"
    message: str = ""
    outcomes: list[ItemOutcome] = field(default_factory=list)
    unchanged: int = 0
    forgotten: int = 0
    removed: list[str] = field(default_factory=list)
    held: int = 0
    counts: Counter[str] = field(default_factory=Counter)


class Run:
    """Runs one connection. The caller holds the writer lock; `cancel` may be called from another thread."""

    def __init__(
        self,
        workspace: Workspace,
        database: Database,
        connection: Connection,
        settings: RunSettings,
        *,
        zone: tzinfo = UTC,
        owner: str = "me",
        personal: bool = False,
        confirm_deletes: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self._db = database
        self._store = ConnectionStore(database)
        self._connection = connection
        self._settings = settings
        self._confirm = confirm_deletes
        self._observer = observer
        self._id = self._open()
        self._writer = Writer(
            workspace,
            database,
            (self._id, connection.connector, connection.account, connection.name),
            zone=zone,
            owner=owner,
            personal=personal,
        )
        self._redaction = Redaction(personal)
        self._seen: set[str] = set()
        self._complete: list[str] = []
        self._issues: list[Issue] = []
        self._solved: list[str] = []
        self._kv: list[KvSet] = []
        self._known_issues: dict[str, tuple[str, str, str, int, int]] = {}
        self._report = RunReport(connection, self._id)
        self._process: ConnectorProcess | InlineConnector | None = None
        self._stop = False

    def _open(self) -> int:
        with self._db.transaction():
            return self._store.open(
                self._connection.connector, self._connection.account, self._connection.name, now_ms()
            )

    def cancel(self) -> None:
        """Ask the run to stop; what is committed stays."""
        self._stop = True
        if self._process is not None:
            self._process.cancel()

    def execute(self, request: PullRequest, meanwhile: Iterable[None] = ()) -> RunReport:
        """Pull until the connector is done.

        Args:
            request: what to pull.
            meanwhile: see `ConnectorProcess.pull`.

        Raises:
            WorkspaceError: the disk refuses; all batches before stay.
        """
        with self._db.transaction():
            run_id = self._store.begin_run(self._id, now_ms())
        report = self._report
        self._known_issues = {
            i.item_id: (i.state, i.message, i.locator, i.size, i.mtime_ns) for i in self._store.issues(limit=-1)
        }
        try:
            self._pull(request, iter(meanwhile))
            self._sweep()
        except Cancelled:
            report.status = "cancelled"
        except ConnectorError as error:
            report.status = "partial" if isinstance(error, ListError) else "failed"
            report.message = str(error)
            if isinstance(error, BadItem):
                self._take_issue(Failed(error.item_id, "", ItemError("bad_item", error.message, error.hint)))
        except SapwoodError as error:
            report.status, report.message = "failed", str(error)
            self._abandon(run_id)
            raise
        if self._stop:
            report.status = "cancelled"
        report.message = self._redaction.message(report.message)
        self._count()
        self._flush(lambda: self._store.end_run(run_id, report.status, dict(report.counts), report.message, now_ms()))
        return report

    def _abandon(self, run_id: int) -> None:
        try:
            with self._db.transaction():
                self._store.end_run(
                    run_id, "failed", dict(self._report.counts), self._redaction.message(self._report.message), now_ms()
                )
        except SapwoodError:
            pass  # the disk that failed the run fails its record too; the next run marks it as interrupted

    def _pull(self, request: PullRequest, meanwhile: Iterator[None]) -> None:
        with open_connector(
            self._connection.connector, self._connection.config, self._connection.account, self._settings
        ) as process:
            self._process = process
            plugins, before = process.plugins(meanwhile), self._store.kv_get(self._id, _PLUGINS_KEY)
            request = replace(
                request,
                checkpoint=self._store.checkpoint(self._id),
                retry_failed=request.retry_failed or before not in (None, plugins),
            )
            for event in process.pull(request, self, meanwhile):
                self._take(event)
                if self._writer.full or len(self._issues) >= 2000:
                    self._flush()
            if process.cancelled_early:
                self._report.status = "cancelled"
            elif not request.containers and plugins != before:
                self._kv.append(KvSet(_PLUGINS_KEY, plugins))

    # -- events ---------------------------------------------------------------------------------------------------

    def _take(self, event: Any) -> None:
        match event:
            case SeenMany():
                self._seen.update(event.item_ids)
                self._report.unchanged += len(event.item_ids)
            case CanonicalisedSource():
                self._take_source(event)
            case Seen():
                item_id = self._redaction.identifier(event.item_id)
                self._seen.add(item_id)
                self._report.unchanged += 1
                if (mark := event.fingerprint) is not None:
                    self._writer.touch(
                        item_id,
                        event.revision,
                        self._redaction.identifier(mark.locator),
                        mark.size,
                        mark.mtime_ns,
                        mark.digest,
                    )
            case Failed() | Skipped():
                self._take_issue(event)
            case Removed():
                item_id = self._redaction.identifier(event.item_id)
                if self._writer.remove(item_id):
                    self._report.removed.append(item_id)
            case RemovedScope():
                self._remove_scope(self._redaction.identifier(event.scope))
            case ScopeComplete():
                self._complete.append(self._redaction.identifier(event.scope))
            case Checkpoint():
                state = dict(event.state)
                self._flush(lambda: self._store.set_checkpoint(self._id, state))
            case KvSet():
                self._kv.append(event)
            case Progress():
                warm_up()  # the connector is about to read: nothing else is to be done here until its first item
                if self._observer:
                    self._observer.progress(event.done, event.total, self._redaction.message(event.label), event.unit)

    def _take_source(self, source: CanonicalisedSource) -> None:
        mark = source.metadata.fingerprint
        try:
            stored: Stored = self._writer.add(source)
        except (
            ValueError,
            TypeError,
            ArithmeticError,
        ) as error:  # an item that the contract allows and the core cannot hold
            self._take_issue(
                Failed(
                    source.item_id,
                    source.scope,
                    ItemError("invalid", f"cannot be stored ({error})", "Report this.", "validate"),
                    mark,
                )
            )
            return
        self._seen.add(stored.item_id)
        if stored.item_id in self._known_issues:
            self._solved.append(stored.item_id)
        if stored.outcome == "forgotten":  # counted, never named
            self._report.forgotten += 1
            return
        locator = self._redaction.identifier(mark.locator) if mark else stored.item_id
        if stored.outcome == "unchanged":
            self._report.unchanged += 1
        else:
            self._report.outcomes.append(
                ItemOutcome(
                    stored.item_id, locator, stored.outcome, stored.title, stored.chunks, warnings=stored.warnings
                )
            )
        if self._observer:
            self._observer.outcome(stored.outcome, locator)

    def _take_issue(self, event: Failed | Skipped) -> None:
        redact = self._redaction.message
        mark = event.fingerprint
        locator = self._redaction.identifier(mark.locator) if mark else ""
        if isinstance(event, Failed):
            state, code, retryable = "failed", event.error.code, event.error.retryable
            message, next_step = redact(event.error.message), redact(event.error.next_step)
        else:
            state, code, retryable, message, next_step = "skipped", "skipped", False, redact(event.reason), ""
        item_id = self._redaction.identifier(event.item_id)
        if self._writer.forgotten.has_item(item_id):
            self._seen.add(item_id)
            self._report.forgotten += 1
            return
        size, mtime_ns, digest = (mark.size, mark.mtime_ns, mark.digest) if mark else (0, 0, "")
        issue = Issue(
            item_id,
            self._redaction.identifier(event.scope),
            state,
            code,
            message,
            next_step,
            retryable,
            locator,
            size,
            mtime_ns,
            digest,
        )
        self._seen.add(item_id)
        if self._known_issues.get(item_id) != (state, message, locator, size, mtime_ns):
            self._issues.append(issue)
        self._report.outcomes.append(
            ItemOutcome(item_id, locator or item_id, state, reason=message, next_step=next_step)
        )
        if self._observer:
            self._observer.outcome(state, locator or item_id)

    def _remove_scope(self, scope: str) -> None:
        for item_id in sorted(self._store.item_ids(self._id, scope)):
            if self._writer.remove(item_id):
                self._report.removed.append(item_id)

    # -- the end --------------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Remove what a whole listing did not show. A sweep of over 20 % and over 50 items waits for a person."""
        if self._stop or self._report.status == "cancelled":
            return
        for scope in self._complete:
            self._flush()
            stored = self._store.item_ids(self._id, scope)
            gone = self._not_seen(stored)
            if len(gone) > BRAKE_ITEMS and len(gone) > BRAKE_SHARE * len(stored) and not self._confirm:
                self._report.held += len(gone)
                continue
            for item_id in gone:
                if self._writer.remove(item_id):
                    self._report.removed.append(item_id)
                if self._writer.full:
                    self._flush()
            with self._db.transaction():
                for item_id in sorted(self._store.issue_ids(self._id, scope) - self._seen):
                    self._store.drop_issue(item_id)

    def _not_seen(self, stored: set[str]) -> list[str]:
        gone = stored - self._seen
        if gone:  # ids of the vendor's own may hold what was cut out when they were stored
            gone -= {self._redaction.identifier(item_id) for item_id in self._seen - stored}
        return sorted(gone)

    def _count(self) -> None:
        counts = Counter(outcome.state for outcome in self._report.outcomes)
        counts["unchanged"] = self._report.unchanged
        counts["removed"] = len(self._report.removed)
        counts["forgotten"] = self._report.forgotten
        self._report.counts = counts

    def _flush(self, also: Any = None) -> None:
        issues, solved, values = self._issues, self._solved, self._kv
        self._issues, self._solved, self._kv = [], [], []

        def write() -> None:
            now = now_ms()
            for item_id in solved:
                self._store.drop_issue(item_id)
            for issue in issues:
                self._store.put_issue(self._id, issue, now)
            for value in values:
                self._store.kv_set(self._id, value.key, value.value)
            if also:
                also()

        self._writer.flush(write)

    # -- what the connector may ask -------------------------------------------------------------------------------

    def known_page(self, after: int) -> tuple[str, int | None]:
        """See `plugins.process.HostServices`."""
        return self._store.known_page(self._id, after)

    def known_item(self, item_id: str) -> tuple[Any, ...] | None:
        """See `plugins.process.HostServices`."""
        return self._store.known_item(self._id, item_id)

    def kv_get(self, key: str) -> Any:
        """See `plugins.process.HostServices`; values of this run that are not committed yet count."""
        for value in reversed(self._kv):
            if value.key == key:
                return value.value
        return self._store.kv_get(self._id, key)

    def secret(self, reference: str) -> str:
        """See `plugins.process.HostServices`."""
        return resolve(reference)
