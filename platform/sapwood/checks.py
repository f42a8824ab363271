"""The shape of answers about health."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `detail` is for people, `facts` for programs."""

    name: str
    ok: bool
    detail: str
    next_step: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """The answer of `status` and `doctor`: `ok` is false when any check is."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """True when all is well."""
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}
