"""The checks that every connector must pass. Each is named for what it finds out, and says what to mend when it fails."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sapwood.plugins.loader import connector_spec
from sapwood.sdk import Capability, Checkpoint, ConnectorError, ConnectorSpec, ScopeComplete
from sapwood.testkit.host import Killed, MemoryHost, Run
from sapwood.testkit.world import World

__all__ = ["ConnectorTests"]

_MOST_KILLS = 40
_LARGEST_CHECKPOINT = 256 * 1024
_STOP_SECONDS = 5.0
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Each word stands in one text alone, so that an item is found by it.
_TEXTS = [
    f"The {word} was moved to the north gate on Friday." for word in ("anvil", "bellows", "capstan", "derrick", "easel")
]


class ConnectorTests:
    """Subclass it, name the connector's `key`, and give the fixture `world`; pytest runs the rest."""

    key = ""

    @pytest.fixture
    def world(self) -> Iterator[World]:
        """The service, empty."""
        raise NotImplementedError("give a fixture named world; see sapwood.testkit.World")

    @pytest.fixture
    def spec(self) -> ConnectorSpec:
        """The connector, as it is installed."""
        return connector_spec(self.key)

    @pytest.fixture
    def host(self, spec: ConnectorSpec, world: World, tmp_path: Path) -> MemoryHost:
        """A host with nothing in it."""
        return MemoryHost(spec, world.config, tmp_path)

    # -- what it says of itself ---------------------------------------------------------------------------------------

    def test_spec_describes_every_field_of_the_configuration(self, spec: ConnectorSpec) -> None:
        properties = spec.config_model.model_json_schema().get("properties", {})
        bare = [name for name, field in properties.items() if not field.get("description")]
        assert not bare, f"give these fields a description, people are asked for them: {', '.join(bare)}"

    def test_spec_refuses_unknown_fields(self, spec: ConnectorSpec, world: World) -> None:
        with pytest.raises(ValueError, match="nothing_of_this_name"):
            spec.config_model.model_validate({**world.config, "nothing_of_this_name": 1})

    def test_check_names_the_same_account_each_time(self, host: MemoryHost) -> None:
        account = host.check()
        assert account.strip(), "check must name the account: it goes into every id"
        assert host.check() == account, "the account changed between two checks: ids would change with it"

    # -- reading ------------------------------------------------------------------------------------------------------

    def test_read_brings_every_item_once(self, host: MemoryHost, world: World) -> None:
        _fill(world, _TEXTS)
        run = host.run()
        for text in _TEXTS:
            found = [item.item_id for item in run.upserted if text in item.markdown]
            assert len(found) == 1, f"{text!r} came in {len(found)} items"

    def test_read_gives_the_same_ids_to_a_second_host(
        self, spec: ConnectorSpec, host: MemoryHost, world: World, tmp_path: Path
    ) -> None:
        _fill(world, _TEXTS)
        host.run()
        other = MemoryHost(spec, world.config, tmp_path)
        other.run()
        assert other.markdown() == host.markdown(), (
            "the same content must have the same ids and texts each time that it is read anew"
        )

    def test_read_gives_clean_texts(self, host: MemoryHost, world: World) -> None:
        _fill(world, [*_TEXTS, "你好，世界。今天下午三点开会。"])
        for item in host.run().upserted:
            assert item.markdown.strip() and item.title.strip(), f"{item.item_id} has no text or no title"
            assert not _CONTROLS.search(item.markdown), f"{item.item_id} holds control characters"

    def test_read_does_not_depend_on_the_users_zone(self, spec: ConnectorSpec, world: World, tmp_path: Path) -> None:
        _fill(world, _TEXTS)
        ids = []
        for zone in (UTC, ZoneInfo("Asia/Shanghai"), ZoneInfo("America/Los_Angeles")):
            host = MemoryHost(spec, world.config, tmp_path, zone)
            host.run()
            ids.append(sorted(host.items))
        assert ids[0] == ids[1] == ids[2], "ids changed with the user's time zone"

    def test_read_of_an_empty_service_is_no_error(self, host: MemoryHost, world: World) -> None:
        try:
            run = host.run()
        except ConnectorError:
            return  # it may say that nothing is there
        assert run.upserted == []

    # -- what is new ----------------------------------------------------------------------------------------------------

    def test_incremental_run_without_changes_brings_nothing(self, host: MemoryHost, world: World) -> None:
        _fill(world, _TEXTS)
        host.run()
        again = host.run()
        assert again.upserted == [] and again.removed == [], (
            "nothing has changed, and yet something was stored or removed"
        )

    def test_incremental_run_brings_what_was_added(self, host: MemoryHost, world: World) -> None:
        _fill(world, _TEXTS[:3])
        host.run()
        before = set(host.items)
        world.add(_TEXTS[3])
        run = host.run()
        assert any(_TEXTS[3] in item.markdown for item in run.upserted), "what was added did not come"
        assert before <= set(host.items), "something else was lost when an item was added"

    def test_incremental_run_brings_an_edit_under_the_same_id(self, host: MemoryHost, world: World) -> None:
        names = _fill(world, _TEXTS[:3])
        host.run()
        (item_id,) = [i for i, text in host.markdown().items() if _TEXTS[1] in text]
        world.edit(names[1], "The bellows were sold to a smith in Ghent.")
        host.run()
        assert "sold to a smith" in host.markdown().get(item_id, ""), "the edit did not come, or came under another id"
        assert not any(_TEXTS[1] in text for text in host.markdown().values()), (
            "the text of before the edit is still there"
        )

    # -- what is gone ---------------------------------------------------------------------------------------------------

    def test_deletes_are_taken_over(self, spec: ConnectorSpec, host: MemoryHost, world: World) -> None:
        if not spec.capabilities & {Capability.ENUMERATE, Capability.NATIVE_DELETES}:
            pytest.skip("it does not say that it can see deletes")
        names = _fill(world, _TEXTS)
        host.run()
        world.delete(names[2])
        host.run()
        texts = list(host.markdown().values())
        assert not any(_TEXTS[2] in text for text in texts), "what was deleted is still there"
        assert all(any(text in held for held in texts) for text in (*_TEXTS[:2], *_TEXTS[3:])), (
            "something else went with it"
        )

    @pytest.mark.parametrize("kind", ["list", "empty", "down", "unauthorised", "limited"])
    def test_deletes_are_not_made_up_when_the_service_fails(self, host: MemoryHost, world: World, kind: str) -> None:
        _fill(world, _TEXTS)
        host.run()
        before = host.markdown()
        with _fault(world, kind):
            _run_that_may_fail(host)
        assert host.markdown() == before, (
            f"items were lost while the service failed ({kind}): name no scope complete that was not listed whole"
        )
        host.run()
        assert host.markdown() == before, f"after the failure ({kind}) the items are not those of before"

    # -- being stopped --------------------------------------------------------------------------------------------------

    def test_resume_after_a_kill_at_any_event_ends_like_an_unbroken_run(
        self, spec: ConnectorSpec, host: MemoryHost, world: World, tmp_path: Path
    ) -> None:
        names = _fill(world, _TEXTS)
        host.run()
        world.edit(names[0], "The anvil was painted red.")
        world.delete(names[4])
        world.add("The forge burned all night.")
        host.run()
        whole = host.markdown()
        total = len(MemoryHost(spec, world.config, tmp_path).run().events)
        for kill_after in range(0, total, max(1, total // _MOST_KILLS)):
            broken = MemoryHost(spec, world.config, tmp_path)
            with pytest.raises(Killed):
                broken.run(kill_after=kill_after)
            broken.run()
            assert broken.markdown() == whole, (
                f"killed after {kill_after} events it ends otherwise: a checkpoint came before what it covers"
            )

    def test_stop_is_obeyed_soon(self, host: MemoryHost, world: World) -> None:
        _fill(world, _TEXTS)
        began = time.monotonic()
        _run_that_may_fail(host, stop_after=1)
        assert time.monotonic() - began < _STOP_SECONDS, (
            "look at ctx.cancelled() between items, and wait by ctx.sleep()"
        )
        host.run()
        assert all(any(text in held for held in host.markdown().values()) for text in _TEXTS), (
            "after a stop the rest did not come"
        )

    def test_checkpoint_is_small_and_comes_back_from_json(
        self, spec: ConnectorSpec, host: MemoryHost, world: World
    ) -> None:
        _fill(world, _TEXTS)
        states = [event.state for event in host.run().events if isinstance(event, Checkpoint)]
        for state in states:
            text = json.dumps(dict(state))
            assert len(text) <= _LARGEST_CHECKPOINT, "a checkpoint is at most 256 KiB; put what grows into ctx.kv"
            model = spec.checkpoint_model.model_validate(json.loads(text))
            assert spec.checkpoint_model.model_validate_json(model.model_dump_json()) == model

    # -- honesty --------------------------------------------------------------------------------------------------------

    def test_capabilities_are_borne_out(self, spec: ConnectorSpec, host: MemoryHost, world: World) -> None:
        _fill(world, _TEXTS)
        events = host.run().events
        names_scopes = any(isinstance(event, ScopeComplete) for event in events)
        assert names_scopes == (Capability.ENUMERATE in spec.capabilities), "ENUMERATE and ScopeComplete go together"


def _fill(world: World, texts: list[str]) -> list[str]:
    return [world.add(text) for text in texts]


def _run_that_may_fail(host: MemoryHost, **options: Any) -> Run | None:
    try:
        return host.run(**options)
    except ConnectorError:
        return None


@contextmanager
def _fault(world: World, kind: str) -> Iterator[None]:
    try:
        fault = world.fault(kind)
        fault.__enter__()
    except NotImplementedError:
        pytest.skip(f"this service cannot fail in the way {kind!r}")
    try:
        yield
    finally:
        fault.__exit__(None, None, None)
