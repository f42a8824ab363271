"""What the kit asks of the service that a connector is tested against."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["World"]


class World(ABC):
    """A real or imitated service whose content the kit changes. A check that needs what a world cannot do is not tried.

    Attributes:
        config: values of a connection's configuration.
        secret: the credential that the configuration refers to, which must turn up nowhere; empty for none.
        page_size: how many entries the service lists at once, None for one that has no pages.
    """

    config: dict[str, Any]
    secret: str = ""
    page_size: int | None = None

    @abstractmethod
    def add(self, text: str) -> str:
        """Put an item there that holds this text, and return what `edit` and `delete` know it by."""

    @abstractmethod
    def edit(self, name: str, text: str) -> None:
        """The item now holds this text in place of the former one."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """The item is gone."""

    def add_in_the_same_moment(self, text: str) -> str:
        """Like `add`, with the same time as the item that was added or edited last."""
        raise NotImplementedError("items of one moment")

    def fault(self, kind: str) -> AbstractContextManager[None]:
        """Inside of the block the service fails in this way. Raise NotImplementedError for one that it cannot have.

        - `list`: it cannot be listed, or not to its end;
        - `empty`: it lists nothing, which is not true;
        - `unauthorised`: it refuses the credential (401);
        - `limited`: it asks to wait for two minutes (429 with Retry-After), each time;
        - `limited once`, `limited by date`, `limited without a time`: one request is refused, with a wait of no time, a date, nothing;
        - `down`: it answers 500, each time; `down once`: one time;
        - `cut`: its answers end before their end; `garbled`: they are no JSON;
        - `one item forbidden`: one of its items cannot be read (403), all others can;
        - `empty page`: a page without entries comes before others;
        - `endless`: it names the same next page again and again.
        """
        raise NotImplementedError(kind)
