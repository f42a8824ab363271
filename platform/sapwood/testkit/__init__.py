"""For authors of connectors: a host in memory, and the checks that a connector must pass.

    from sapwood.testkit import ConnectorTests

    class TestMine(ConnectorTests):
        key = "mine"

        @pytest.fixture
        def world(self):
            with MyFakeService() as service:
                yield service

`world` stands for the service; see `World` for what it must be able to do.
"""

from __future__ import annotations

from sapwood.testkit.checks import ConnectorTests
from sapwood.testkit.host import Killed, MemoryHost, Run
from sapwood.testkit.world import World

__all__ = ["ConnectorTests", "Killed", "MemoryHost", "Run", "World"]
