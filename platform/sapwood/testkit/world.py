"""What the kit asks of the service that a connector is tested against."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["World"]


class World(Protocol):
    """A real or imitated service whose content the kit changes. `config` is the configuration of a connection to it."""

    config: dict[str, Any]

    def add(self, text: str) -> str:
        """Put an item there that holds this text, and return what `edit` and `delete` know it by."""

    def edit(self, name: str, text: str) -> None:
        """The item now holds this text in place of the former one."""

    def delete(self, name: str) -> None:
        """The item is gone."""

    def fault(self, kind: str) -> AbstractContextManager[None]:
        """Inside of the block the service fails in this way: `list` (it cannot be listed), `empty` (it lists nothing, which is not true),
        `unauthorised`, `limited`, `down`. Raise NotImplementedError for one that it cannot have; that check is then skipped."""
