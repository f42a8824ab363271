"""For authors of connectors: the checks that a connector must pass, a host in memory, and a service to test against.

    from sapwood.testkit import ConnectorTests, FakeService

    class TestMine(ConnectorTests):
        key = "mine"

        @pytest.fixture
        def world(self):
            with MyService() as service:
                yield service

`world` stands for the service; see `World` for what it must be able to do. `sapwood connectors test FOLDER` runs it all.
"""

from __future__ import annotations

from sapwood.testkit.connector_tests import ConnectorTests
from sapwood.testkit.host import Endless, Killed, MemoryHost, Run
from sapwood.testkit.plugin import KIT_VERSION
from sapwood.testkit.service import Entry, FakeService, Refused, Request
from sapwood.testkit.world import World

__all__ = [
    "KIT_VERSION",
    "ConnectorTests",
    "Endless",
    "Entry",
    "FakeService",
    "Killed",
    "MemoryHost",
    "Refused",
    "Request",
    "Run",
    "World",
]
