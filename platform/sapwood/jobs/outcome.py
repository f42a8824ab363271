"""What a handler says of its job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Defer", "Done", "Err", "Outcome", "Superseded"]


class Superseded(Exception):
    """Raised while writing: what the job is about has changed since it was read. It is done again at once."""


@dataclass(frozen=True, slots=True)
class Done:
    """The job is done.

    Attributes:
        write: writes what came of it; called inside of the transaction that takes the job off the queue, and not at all
            when another worker has the job by then.
    """

    write: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Defer:
    """Not now: something that the job needs is not there, such as a model. The attempt does not count.

    Attributes:
        until_ms: when to try again, in milliseconds since the epoch.
        reason: for a person.
    """

    until_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Err:
    """The attempt failed.

    Attributes:
        message: object, cause and next step, for a person.
        retryable: False when another attempt would fail in the same way.
    """

    message: str
    retryable: bool = True


Outcome = Done | Defer | Err
