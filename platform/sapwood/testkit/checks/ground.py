"""What all checks share: texts, and ways to run a connector that may fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sapwood.sdk import ConnectorError
from sapwood.testkit.host import MemoryHost, Run
from sapwood.testkit.world import World

__all__ = ["CHECKED", "READ", "TEXTS", "failing", "fill", "held", "run_that_may_fail"]

CHECKED = ("check.names_the_account", "read.keeps_to_the_contract", "read.ends")
READ = (
    *CHECKED, "read.gives_each_item_an_id_of_its_own", "read.brings_every_item", "read.gives_the_same_ids_to_another_host",
)  # fmt: skip
# Each word stands in one text alone, so that an item is found by it.
TEXTS = [
    f"The {word} was moved to the north gate on Friday." for word in ("anvil", "bellows", "capstan", "derrick", "easel")
]


def fill(world: World, texts: list[str]) -> list[str]:
    """Add these texts; the names of the items."""
    return [world.add(text) for text in texts]


def held(host: MemoryHost, text: str) -> list[str]:
    """The ids of the items in which a text stands."""
    return [item_id for item_id, markdown in host.markdown().items() if text in markdown]


def run_that_may_fail(host: MemoryHost, **options: Any) -> Run | ConnectorError:
    """A run, or the error with which the connector ended it. Any other error is passed on: it would be a crash."""
    try:
        return host.run(**options)
    except ConnectorError as error:
        return error


@contextmanager
def failing(world: World, kind: str) -> Iterator[None]:
    """The service fails in this way; where it cannot, the check is not tried."""
    try:
        fault = world.fault(kind)
        fault.__enter__()
    except NotImplementedError:
        pytest.skip(f"this service cannot fail in the way {kind!r}")
    try:
        yield
    finally:
        fault.__exit__(None, None, None)
