"""A check of the kit: what it is called, and which others must have passed before it says anything."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Check", "check", "check_of"]

_Method = TypeVar("_Method", bound=Callable[..., None])
_numbers = itertools.count()
_GROUPS = ("package", "spec", "check", "read", "paging", "incremental", "deletes", "resume", "checkpoint", "limits", "faults", "secrets", "environment", "honesty")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """`name` is `group.what_must_be_so`; `needs` are names of checks without which this one would only repeat their failure; `number`
    counts them as they are written."""

    name: str
    needs: tuple[str, ...]
    number: int

    @property
    def place(self) -> tuple[int, int]:
        """Where it comes: group by group."""
        return _GROUPS.index(self.name.partition(".")[0]), self.number


def check(name: str, *needs: str) -> Callable[[_Method], _Method]:
    """Mark a test method as a check."""

    def mark(method: _Method) -> _Method:
        method.kit_check = Check(name, needs, next(_numbers))  # type: ignore[attr-defined]
        return method

    return mark


def check_of(method: object) -> Check | None:
    """What a test method checks; None for one of the author's own."""
    found = getattr(method, "kit_check", None)
    return found if isinstance(found, Check) else None
