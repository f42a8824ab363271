"""Whether a run may end at any moment, and the next one goes on from there."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from sapwood.sdk import CanonicalisedSource, Checkpoint, ConnectorSpec, Seen, SeenMany
from sapwood.testkit.check import check
from sapwood.testkit.checks.ground import READ, TEXTS, fill, held, run_that_may_fail
from sapwood.testkit.host import Killed, MemoryHost
from sapwood.testkit.world import World

__all__ = ["Stopping"]

_MOST_KILLS = 40
_LARGEST_CHECKPOINT = 256 * 1024
_FEW, _MANY = 40, 200
_CHESTS, _LONG = 100, 20_000  # items, and characters of each
_GROWTH = 1024  # bytes that a checkpoint may grow by with 160 items more


class Stopping:
    """Groups `resume`, `checkpoint` and `limits`."""

    @check("resume.ends_alike_after_a_kill_at_any_event", *READ)
    def test_resume_ends_alike_after_a_kill_at_any_event(
        self, spec: ConnectorSpec, world: World, tmp_path: Path
    ) -> None:
        fill(world, TEXTS)
        whole = MemoryHost(spec, world.config, tmp_path)
        total = len(whole.run().events)
        for kill_after in range(0, total, max(1, total // _MOST_KILLS)):
            broken = MemoryHost(spec, world.config, tmp_path)
            with pytest.raises(Killed):
                broken.run(kill_after=kill_after)
            broken.run()
            assert sorted(broken.items) == sorted(whole.items), (
                f"killed after {kill_after} events it does not bring all: a checkpoint came before what it covers"
            )

    @check("limits.stops_when_asked_and_goes_on_later", *READ, "paging.brings_every_page")
    def test_limits_stops_when_asked_and_goes_on_later(self, host: MemoryHost, world: World) -> None:
        texts = [f"Crate {number} holds tools." for number in range(_FEW)]
        fill(world, texts)
        if world.page_size is not None:
            world.page_size = 4
        ended = run_that_may_fail(host, stop_after=2)
        came = sum(isinstance(e, CanonicalisedSource) for e in ended.events) if not isinstance(ended, Exception) else 0
        assert came < _FEW, "it was asked to stop and read on to the end: look at ctx.cancelled() between items"
        host.run()
        lost = [text for text in texts if not held(host, text)]
        assert not lost, f"after a stop, {len(lost)} of {_FEW} items never came"

    @check("limits.loses_nothing_when_stopped", *READ, "incremental.brings_an_edit_under_the_same_id")
    def test_limits_loses_nothing_when_stopped(self, host: MemoryHost, world: World) -> None:
        names = fill(world, TEXTS)
        host.run()
        before = sorted(host.items)
        for name, text in zip(names, TEXTS, strict=True):
            world.edit(name, f"{text} Somebody painted it.")
        run_that_may_fail(host, stop_after=1)
        assert sorted(host.items) == before, (
            "items were lost by a stop: a run that was stopped has listed nothing whole"
        )

    @check("checkpoint.comes_back_from_json", *READ)
    def test_checkpoint_comes_back_from_json(self, spec: ConnectorSpec, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        for event in host.run().events:
            if isinstance(event, Checkpoint):
                model = spec.checkpoint_model.model_validate(json.loads(json.dumps(dict(event.state))))
                assert spec.checkpoint_model.model_validate_json(model.model_dump_json()) == model

    @check("checkpoint.stays_small", *READ)
    def test_checkpoint_stays_small(self, spec: ConnectorSpec, world: World, tmp_path: Path) -> None:
        sizes: list[int] = []
        for upto in (_FEW, _MANY):
            fill(world, [f"Box {number} holds nails." for number in range((sizes and _FEW) or 0, upto)])
            run = MemoryHost(spec, world.config, tmp_path).run()
            states = [e.state for e in run.events if isinstance(e, Checkpoint)]
            sizes.append(max((len(json.dumps(dict(state))) for state in states), default=0))
        assert sizes[1] <= _LARGEST_CHECKPOINT, "a checkpoint is at most 256 KiB"
        assert sizes[1] - sizes[0] <= _GROWTH, (
            f"the checkpoint grows with the items ({sizes[0]} bytes for {_FEW}, {sizes[1]} for {_MANY}): what grows belongs into ctx.kv"
        )

    @check("checkpoint.loads_what_older_versions_wrote", *READ)
    def test_checkpoint_loads_what_older_versions_wrote(
        self, spec: ConnectorSpec, kit_old_checkpoints: tuple[dict[str, Any], ...]
    ) -> None:
        now = spec.checkpoint_model.present_version()
        if now == 1:
            pytest.skip("its checkpoint has had one form only")
        versions = {state.get("schema_version", 1) for state in kit_old_checkpoints}
        assert versions >= set(range(1, now)), (
            f"give old_checkpoints one of each version before {now}, as it was written then"
        )
        for state in kit_old_checkpoints:
            spec.checkpoint_model.model_validate(spec.checkpoint_model.upgrade(dict(state)))

    @check("limits.memory_stays_flat", *READ, "paging.brings_every_page", "resume.ends_alike_after_a_kill_at_any_event")
    def test_limits_memory_stays_flat(self, host: MemoryHost, world: World) -> None:
        text = "Nothing but rivets in here. " * (_LONG // 28)
        fill(world, [f"Chest {number}. {text}" for number in range(_CHESTS)])
        if world.page_size is not None:
            world.page_size = 10
        host.check()
        held = [0]
        tracemalloc.start()
        try:
            for number, _ in enumerate(host.stream()):
                if number % (_CHESTS // 10) == 0:
                    gc.collect()
                    held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        assert max(held) < _CHESTS * _LONG // 2, (
            f"of {_CHESTS} items of {_LONG} characters it holds {max(held) / 1e6:.1f} MB at once: yield each item when it is read"
        )

    @check("limits.reads_no_text_twice", *READ)
    def test_limits_reads_no_text_twice(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        first = host.run()
        again = host.run()
        told = [e for e in again.events if isinstance(e, CanonicalisedSource)]
        known = sum(isinstance(e, Seen) for e in again.events) + sum(
            len(e.item_ids) for e in again.events if isinstance(e, SeenMany)
        )
        assert len(told) <= max(1, len(first.upserted) // 2), (
            f"nothing has changed, and {len(told)} items were read again ({known} were known): go by ctx.known or the checkpoint"
        )
