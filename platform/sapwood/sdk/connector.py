"""The two sides of a run: what a connector offers, and what the host gives it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct

from sapwood.sdk.convert import Converted, ConvertError, ConvertFile
from sapwood.sdk.events import Event
from sapwood.sdk.version import API_VERSION, fits

if TYPE_CHECKING:
    import httpx

    from sapwood.sdk.models import CheckpointModel, ConnectorConfig

__all__ = [
    "API_VERSION",
    "Budget",
    "Capability",
    "CheckReport",
    "Connector",
    "ConnectorSpec",
    "KeyValues",
    "Known",
    "KnownItem",
    "PullMode",
    "PullRequest",
    "RunContext",
    "Secrets",
]


class Capability(StrEnum):
    """What a connector can do beyond `check` and `pull`; the conformance kit holds it to what it declares."""

    INCREMENTAL = "incremental"
    BACKFILL = "backfill"
    NATIVE_DELETES = "native_deletes"
    ENUMERATE = "enumerate"
    EDITS = "edits"
    THREADS = "threads"
    ATTACHMENTS = "attachments"
    ACL = "acl"
    RETRY_ITEMS = "retry_items"
    PUSH_HINTS = "push_hints"
    OFFLINE = "offline"
    ONE_SHOT_IMPORT = "one_shot_import"


class PullMode(StrEnum):
    """Why a pull is made."""

    INCREMENTAL = "incremental"
    BACKFILL = "backfill"
    PREVIEW = "preview"
    RESYNC = "resync"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What the host wants of a pull.

    Attributes:
        checkpoint: the last committed state, None on the first run.
        mode: why.
        containers: only these, by id; empty for all.
        since, until: aware bounds of event time, for backfills.
        max_items: stop after so many; None for no limit.
        retry_failed: read failed and skipped items again even when their originals have not changed: a person asked
            for it, or the installed plugins are not those of the last run and may read what those could not.
        may_be_empty: a person has said that what is not found is really gone, even when nothing at all is found.
    """

    checkpoint: Mapping[str, Any] | None = None
    mode: PullMode = PullMode.INCREMENTAL
    containers: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    max_items: int | None = None
    retry_failed: bool = False
    may_be_empty: bool = False

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "checkpoint": dict(self.checkpoint) if self.checkpoint is not None else None,
            "mode": self.mode.value,
            "containers": list(self.containers),
            "since": self.since and self.since.isoformat(),
            "until": self.until and self.until.isoformat(),
            "max_items": self.max_items,
            "retry_failed": self.retry_failed,
            "may_be_empty": self.may_be_empty,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PullRequest:
        """The inverse of `to_json`."""
        return cls(
            checkpoint=data["checkpoint"],
            mode=PullMode(data["mode"]),
            containers=tuple(data["containers"]),
            since=datetime.fromisoformat(data["since"]) if data["since"] else None,
            until=datetime.fromisoformat(data["until"]) if data["until"] else None,
            max_items=data["max_items"],
            retry_failed=data["retry_failed"],
            may_be_empty=data["may_be_empty"],
        )


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The answer of `check`: the account that goes into ids, and what a person should know.

    Attributes:
        account: the vendor's stable id of what is read.
        title: how to name it to a person.
        notes: one line each: what is reachable, what is not and why.
    """

    account: str
    title: str = ""
    notes: tuple[str, ...] = ()


class KnownItem(Struct, frozen=True, array_like=True, gc=False):
    """What the host holds of one item of this connection.

    A msgspec struct, since a connector may look at hundreds of thousands of them to find what is new. `state` is stored,
    skipped or failed; for the last two, `code`, `problem` and `next_step` say why and what helps.
    """

    item_id: str
    revision: str
    locator: str
    size: int
    mtime_ns: int
    digest: str
    state: str = "stored"
    code: str = ""
    problem: str = ""
    next_step: str = ""
    retryable: bool = False


@runtime_checkable
class Connector(Protocol):
    """What a factory makes. `discover`, `refetch` and `close` are optional and looked up by name."""

    def check(self, ctx: RunContext) -> CheckReport:
        """Is it reachable with this configuration, and which account is it? Raises a ConnectorError if not."""

    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        """Yield what is new, changed and gone. Commit points are `Checkpoint` events."""


@dataclass(frozen=True, slots=True)
class ConnectorSpec:
    """What a distribution offers under one key.

    Attributes:
        key: lower-case word, equal to the entry point's name or listed by it: `folder`, `imap`.
        title: for people.
        api: the version of this contract that it was written for.
        config_model, checkpoint_model: pydantic classes.
        factory: builds the connector of one run.
        capabilities: see `Capability`.
        default_interval: between two runs.
        hosts: the hosts that a configuration may talk to.
        docs_url: set-up page.
    """

    key: str
    title: str
    api: str
    config_model: type[ConnectorConfig]
    checkpoint_model: type[CheckpointModel]
    factory: Callable[[Any], Connector]
    capabilities: frozenset[Capability] = frozenset()
    default_interval: timedelta = timedelta(minutes=20)
    hosts: Callable[[Any], tuple[str, ...]] = field(default=lambda config: ())
    docs_url: str = ""

    def __post_init__(self) -> None:
        if not self.key.isidentifier() or self.key != self.key.lower():
            raise ValueError(f"connector key {self.key!r} must be a lower-case word")
        fits(self.api)  # reads like one


class Known(Protocol):
    """What the host has stored of this connection, so that no connector keeps a table of its own."""

    def all(self) -> Iterable[KnownItem]:
        """Every item, failure and skip of the connection, in pages, in no promised order."""

    def get(self, item_id: str) -> KnownItem | None:
        """One of them."""


class KeyValues(Protocol):
    """Small JSON values by key, committed together with the checkpoint."""

    def get(self, key: str) -> Any:
        """The value, or None."""

    def set(self, key: str, value: Any) -> None:
        """Store a JSON value; None removes it."""


class Secrets(Protocol):
    """Resolves references of the configuration."""

    def get(self, reference: str) -> str:
        """The secret behind `env:…`, `file:…` or `keyring:…`. Raises ConfigError when there is none."""


class Budget(Protocol):
    """Requests that the connection may still make today."""

    def spend(self, requests: int = 1) -> None:
        """Count requests of clients that open their own sockets. Raises RateLimited when none are left."""


class RunContext(Protocol):
    """What the host gives a connector for one run. There is no database."""

    account: str
    zone: tzinfo  # the user's, for times without one and for days
    log: logging.Logger
    tmp: Path
    known: Known
    kv: KeyValues
    secrets: Secrets
    budget: Budget

    @property
    def http(self) -> httpx.Client:
        """A client with retry, Retry-After, budget and the host allow-list."""

    def clock(self) -> datetime:
        """The present moment, aware, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait, but wake up and raise Cancelled when the host asks to stop."""

    def cancelled(self) -> bool:
        """True once the host asked to stop; end the pull soon, what was committed stays."""

    def convert(self, file: ConvertFile) -> Converted:
        """Read a file in a worker process. Raises ConvertError; `Unsupported` when no plugin reads such files."""

    def convert_all(
        self, files: Iterable[ConvertFile]
    ) -> Iterator[tuple[ConvertFile, Converted | ConvertError | None]]:
        """Read many files on all workers, results in the order of `files`, drawn as needed. None: no plugin reads it."""
