"""All checks as one class, for a connector's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.sdk import ConnectorSpec
from sapwood.testkit.alone import find_spec
from sapwood.testkit.checks.deleting import Deleting
from sapwood.testkit.checks.describing import Describing
from sapwood.testkit.checks.failing import Failing
from sapwood.testkit.checks.packaging import Packaged
from sapwood.testkit.checks.reading import Reading
from sapwood.testkit.checks.stopping import Stopping
from sapwood.testkit.checks.surroundings import Surroundings
from sapwood.testkit.host import MemoryHost
from sapwood.testkit.world import World

__all__ = ["ConnectorTests"]


class ConnectorTests(Packaged, Describing, Reading, Deleting, Stopping, Failing, Surroundings):
    """Subclass it, name the connector's `key`, and give the fixture `world`; pytest runs the rest.

    Attributes:
        key: of the connector, as it is installed.
        factory: `module:name` of a function that gives the spec, for one that no installed plugin offers.
        old_checkpoints: a checkpoint of each earlier `schema_version`, as it was written then.
    """

    key = ""
    factory = ""
    old_checkpoints: tuple[dict[str, Any], ...] = ()

    @pytest.fixture
    def world(self) -> Iterator[World]:
        """The service, empty."""
        raise NotImplementedError("give a fixture named world; see sapwood.testkit.World")

    @pytest.fixture
    def kit_key(self) -> str:
        """The connector's key."""
        return self.key

    @pytest.fixture
    def kit_factory(self) -> str:
        """Where its spec comes from, empty for an installed plugin."""
        return self.factory

    @pytest.fixture
    def kit_old_checkpoints(self) -> tuple[dict[str, Any], ...]:
        """Checkpoints of before."""
        return self.old_checkpoints

    @pytest.fixture
    def spec(self) -> ConnectorSpec:
        """The connector, as it is installed."""
        return find_spec(self.key, self.factory)

    @pytest.fixture
    def host(self, spec: ConnectorSpec, world: World, tmp_path: Path) -> MemoryHost:
        """A host with nothing in it."""
        return MemoryHost(spec, world.config, tmp_path)
