"""Whether what is gone goes, and nothing else."""

from __future__ import annotations

import pytest

from sapwood.sdk import Capability, ConnectorSpec
from sapwood.testkit.check import check
from sapwood.testkit.checks.ground import READ, TEXTS, failing, fill, held, run_that_may_fail
from sapwood.testkit.host import MemoryHost
from sapwood.testkit.world import World

__all__ = ["Deleting"]


class Deleting:
    """Group `deletes`."""

    @check("deletes.are_taken_over", *READ)
    def test_deletes_are_taken_over(self, spec: ConnectorSpec, host: MemoryHost, world: World) -> None:
        if not spec.capabilities & {Capability.ENUMERATE, Capability.NATIVE_DELETES}:
            pytest.skip("it does not say that it can see deletes")
        names = fill(world, TEXTS)
        host.run()
        world.delete(names[2])
        host.run()
        assert not held(host, TEXTS[2]), "what was deleted is still there"

    @check("deletes.take_nothing_else", *READ, "deletes.are_taken_over")
    def test_deletes_take_nothing_else(self, host: MemoryHost, world: World) -> None:
        names = fill(world, TEXTS)
        host.run()
        before = {text: held(host, text) for text in TEXTS}
        world.delete(names[1])
        host.run()
        for text in (TEXTS[0], *TEXTS[2:]):
            assert held(host, text) == before[text], "another item was lost, or has another id, after one was deleted"

    @check("deletes.are_not_made_up_when_the_service_fails", *READ)
    @pytest.mark.parametrize("kind", ["list", "empty", "down", "unauthorised", "limited", "cut", "garbled"])
    def test_deletes_are_not_made_up_when_the_service_fails(self, host: MemoryHost, world: World, kind: str) -> None:
        fill(world, TEXTS)
        host.run()
        before = sorted(host.items)
        with failing(world, kind):
            try:
                run_that_may_fail(host)
            except Exception:  # noqa: S110 — what it is comes out in the group `faults`
                pass
        assert sorted(host.items) == before, (
            "items were lost while the service failed: name no scope complete that was not listed whole"
        )
        host.run()
        assert sorted(host.items) == before, "after the failure the items are not those of before"
