"""The events of a pull: all that a connector may yield, and their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sapwood.sdk.sources import CanonicalisedSource, Fingerprint, _identifier

__all__ = [
    "Checkpoint",
    "Event",
    "Failed",
    "ItemError",
    "Progress",
    "Removed",
    "RemovedReason",
    "RemovedScope",
    "ScopeComplete",
    "Seen",
    "SeenMany",
    "Skipped",
    "event_from_json",
    "event_to_json",
]


class RemovedReason(StrEnum):
    """Why an item is gone. Access lost is not deletion and has its own policy."""

    DELETED = "deleted"
    TRASHED = "trashed"
    ACCESS_LOST = "access_lost"
    OUT_OF_SCOPE = "out_of_scope"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class ItemError:
    """Why an item could not be read.

    Attributes:
        code: a short stable word: `encrypted`, `damaged`, `no_text`, `too_large`, `timeout`, `unreadable`, ….
        message: object and cause, for a person.
        next_step: what the person can do.
        stage: `list`, `fetch`, `convert` or `validate`.
        retryable: worth trying again although the original has not changed.
    """

    code: str
    message: str
    next_step: str = ""
    stage: str = "fetch"
    retryable: bool = True

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {name: getattr(self, name) for name in ("code", "message", "next_step", "stage", "retryable")}


@dataclass(frozen=True, slots=True)
class Removed:
    """The vendor says that the item is gone."""

    item_id: str
    reason: RemovedReason = RemovedReason.DELETED

    def __post_init__(self) -> None:
        _identifier(self.item_id, "item_id")
        object.__setattr__(self, "reason", RemovedReason(self.reason))


@dataclass(frozen=True, slots=True)
class RemovedScope:
    """A whole channel, folder or drive is gone."""

    scope: str
    reason: RemovedReason = RemovedReason.DELETED

    def __post_init__(self) -> None:
        _identifier(self.scope, "scope")
        object.__setattr__(self, "reason", RemovedReason(self.reason))


@dataclass(frozen=True, slots=True)
class Failed:
    """The item could not be read; its old revision stays, it is retried and shown."""

    item_id: str
    scope: str
    error: ItemError
    fingerprint: Fingerprint | None = None

    def __post_init__(self) -> None:
        _identifier(self.item_id, "item_id")


@dataclass(frozen=True, slots=True)
class Skipped:
    """The item is not taken in, for the stated reason."""

    item_id: str
    scope: str
    reason: str
    fingerprint: Fingerprint | None = None

    def __post_init__(self) -> None:
        _identifier(self.item_id, "item_id")
        if not self.reason.strip():
            raise ValueError(f"{self.item_id}: Skipped needs a reason")


@dataclass(frozen=True, slots=True)
class Seen:
    """The item is still there and unchanged; `fingerprint` only when that changed (touched, moved)."""

    item_id: str
    scope: str
    revision: str = ""
    fingerprint: Fingerprint | None = None


@dataclass(frozen=True, slots=True)
class SeenMany:
    """`Seen` of many items of one scope at once, for connectors that list all and find most unchanged."""

    scope: str
    item_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScopeComplete:
    """The listing of this scope was whole: the host may sweep what it did not see."""

    scope: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All before me is enough to go on from here. `state` is JSON of the connector's checkpoint model."""

    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """For people; never state. `done` and `total` in `unit`s."""

    done: int
    total: int | None = None
    label: str = ""
    unit: str = "items"


Event = (
    CanonicalisedSource | Removed | RemovedScope | Failed | Skipped | Seen | SeenMany | ScopeComplete | Checkpoint | Progress
)  # fmt: skip


def event_to_json(event: Event) -> dict[str, Any]:
    """`{"event": <name>, …}`.

    Raises:
        TypeError: the object is no event.
    """
    match event:
        case CanonicalisedSource():
            return {"event": "source", **event.to_json()}
        case Removed():
            return {"event": "removed", "item_id": event.item_id, "reason": event.reason.value}
        case RemovedScope():
            return {"event": "removed_scope", "scope": event.scope, "reason": event.reason.value}
        case Failed():
            data = {"event": "failed", "item_id": event.item_id, "scope": event.scope, "error": event.error.to_json()}
        case Skipped():
            data = {"event": "skipped", "item_id": event.item_id, "scope": event.scope, "reason": event.reason}
        case Seen():
            data = {"event": "seen", "item_id": event.item_id, "scope": event.scope, "revision": event.revision}
        case SeenMany():
            return {"event": "seen_many", "scope": event.scope, "item_ids": event.item_ids}
        case ScopeComplete():
            return {"event": "scope_complete", "scope": event.scope}
        case Checkpoint():
            return {"event": "checkpoint", "state": dict(event.state)}
        case Progress():
            return {
                "event": "progress",
                "done": event.done,
                "total": event.total,
                "label": event.label,
                "unit": event.unit,
            }
        case _:
            raise TypeError(f"{type(event).__name__} is not an event; see sapwood.sdk.events")
    if event.fingerprint:
        data["fingerprint"] = event.fingerprint.to_json()
    return data


def event_from_json(data: Mapping[str, Any]) -> Event:
    """The inverse of `event_to_json`.

    Raises:
        ValueError, TypeError, KeyError: unknown event, or fields that break the contract.
    """
    mark = Fingerprint.from_json(data["fingerprint"]) if "fingerprint" in data else None
    match data.get("event"):
        case "source":
            return CanonicalisedSource.from_json(data)
        case "removed":
            return Removed(data["item_id"], RemovedReason(data["reason"]))
        case "removed_scope":
            return RemovedScope(data["scope"], RemovedReason(data["reason"]))
        case "failed":
            return Failed(data["item_id"], data["scope"], ItemError(**data["error"]), mark)
        case "skipped":
            return Skipped(data["item_id"], data["scope"], data["reason"], mark)
        case "seen":
            return Seen(data["item_id"], data["scope"], data.get("revision", ""), mark)
        case "seen_many":
            return SeenMany(data["scope"], tuple(data["item_ids"]))
        case "scope_complete":
            return ScopeComplete(data["scope"])
        case "checkpoint":
            return Checkpoint(data["state"])
        case "progress":
            return Progress(data["done"], data["total"], data.get("label", ""), data.get("unit", "items"))
        case other:
            raise ValueError(f"unknown event {other!r}")
