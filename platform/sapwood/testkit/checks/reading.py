"""Whether all comes, once, and the same each time."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from sapwood.sdk import CanonicalisedSource, Capability, ConnectorError, ConnectorSpec
from sapwood.testkit.check import check
from sapwood.testkit.checks.ground import CHECKED, READ, TEXTS, failing, fill, held, run_that_may_fail
from sapwood.testkit.host import Endless, MemoryHost
from sapwood.testkit.world import World

__all__ = ["Reading"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FEW = 7


class Reading:
    """Groups `read`, `paging` and `incremental`."""

    @check("read.ends", "check.names_the_account")
    def test_read_ends(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        try:
            host.run()
        except Endless as error:
            pytest.fail(str(error))
        except Exception:  # noqa: S110 — what it is comes out in the next check
            pass

    @check("read.keeps_to_the_contract", "check.names_the_account", "read.ends")
    def test_read_keeps_to_the_contract(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        try:
            host.run()
        except ConnectorError as error:
            pytest.fail(f"the service is well, and yet it raised {type(error).__name__}: {error}")
        except Exception as error:
            pytest.fail(f"the run crashed, or yielded what no event may be: {type(error).__name__}: {error}")

    @check("read.gives_each_item_an_id_of_its_own", *CHECKED)
    def test_read_gives_each_item_an_id_of_its_own(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        texts: dict[str, set[str]] = defaultdict(set)
        for event in host.run().events:
            if isinstance(event, CanonicalisedSource):
                texts[event.item_id].add(event.markdown)
        twice = [item_id for item_id, different in texts.items() if len(different) > 1]
        assert not twice, f"one id for different items, of which only the last is kept: {', '.join(twice)}"

    @check("read.brings_every_item", *CHECKED, "read.gives_each_item_an_id_of_its_own")
    def test_read_brings_every_item(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        host.run()
        for text in TEXTS:
            assert (count := len(held(host, text))) == 1, f"{text!r} came in {count} items"

    @check(
        "read.gives_the_same_ids_to_another_host",
        *CHECKED,
        "read.gives_each_item_an_id_of_its_own",
        "read.brings_every_item",
    )
    def test_read_gives_the_same_ids_to_another_host(
        self, spec: ConnectorSpec, host: MemoryHost, world: World, tmp_path: Path
    ) -> None:
        fill(world, TEXTS)
        host.run()
        other = MemoryHost(spec, world.config, tmp_path)
        other.run()
        assert sorted(other.items) == sorted(host.items), (
            "the same items have other ids when they are read anew: take the vendor's"
        )
        assert all(item_id.startswith(f"{spec.key}:") for item_id in host.items), f"ids begin with {spec.key}:"

    @check("read.gives_clean_texts", *READ)
    def test_read_gives_clean_texts(self, host: MemoryHost, world: World) -> None:
        fill(world, [*TEXTS, "你好，世界。今天下午三点开会。"])
        host.run()
        assert held(host, "今天下午三点开会"), "a Chinese text did not come as it is"
        for item in host.items.values():
            assert item.title.strip(), f"{item.item_id} has no title"
            assert item.markdown.strip(), f"{item.item_id} has no text; yield Skipped with a reason instead"
            assert not _CONTROLS.search(item.markdown), f"{item.item_id} holds control characters"

    @check("read.of_an_empty_service_brings_nothing", *READ)
    def test_read_of_an_empty_service_brings_nothing(self, host: MemoryHost) -> None:
        run_that_may_fail(host)  # it may say that nothing is there
        assert not host.items

    @check("paging.brings_every_page", *READ)
    @pytest.mark.parametrize("size", [1, 2, _FEW - 1, _FEW, _FEW + 1])
    def test_paging_brings_every_page(self, host: MemoryHost, world: World, size: int) -> None:
        if world.page_size is None:
            pytest.skip("this service has no pages")
        texts = [f"The {number}th crate holds tools." for number in range(_FEW)]
        fill(world, texts)
        world.page_size = size
        host.run()
        lost = [text for text in texts if not held(host, text)]
        assert not lost, f"with pages of {size}, {len(lost)} of {_FEW} items did not come"

    @check("paging.goes_on_after_an_empty_page", *READ)
    def test_paging_goes_on_after_an_empty_page(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        with failing(world, "empty page"):
            host.run()
        assert all(held(host, text) for text in TEXTS), (
            "an empty page is not the end while it names another one: go by the cursor alone"
        )

    @check("paging.ends_when_a_page_comes_again", *READ)
    def test_paging_ends_when_a_page_comes_again(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        with failing(world, "endless"):
            try:
                run_that_may_fail(host)
            except Endless:
                pytest.fail("the service names the same next page again and again: stop when a cursor comes twice")

    @check("incremental.brings_nothing_without_changes", *READ)
    def test_incremental_brings_nothing_without_changes(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        host.run()
        before = host.markdown()
        again = host.run()
        assert not again.removed and sorted(host.items) == sorted(before), "nothing was deleted, and yet items are gone"
        assert not again.upserted, "nothing has changed, and yet an item came with another text or title"

    @check("incremental.brings_what_was_added", *READ)
    def test_incremental_brings_what_was_added(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS[:3])
        host.run()
        before = set(host.items)
        world.add(TEXTS[3])
        host.run()
        assert held(host, TEXTS[3]), "what was added did not come"
        assert before <= set(host.items), "something else was lost when an item was added"

    @check("incremental.brings_what_came_in_the_same_moment", *READ, "incremental.brings_what_was_added")
    def test_incremental_brings_what_came_in_the_same_moment(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS[:3])
        host.run()
        try:
            world.add_in_the_same_moment(TEXTS[3])
        except NotImplementedError as error:
            pytest.skip(f"this service has no {error}")
        host.run()
        assert held(host, TEXTS[3]), (
            "an item with the same time as the last one did not come: ask for that moment again, ids keep it from coming twice"
        )

    @check("incremental.brings_an_edit_under_the_same_id", *READ)
    def test_incremental_brings_an_edit_under_the_same_id(
        self, spec: ConnectorSpec, host: MemoryHost, world: World
    ) -> None:
        if Capability.ONE_SHOT_IMPORT in spec.capabilities:
            pytest.skip("it imports once")
        names = fill(world, TEXTS[:3])
        host.run()
        (item_id,) = held(host, TEXTS[1])
        world.edit(names[1], "The bellows were sold to a smith in Ghent.")
        host.run()
        assert (now := held(host, "sold to a smith in Ghent")), "the edit did not come"
        assert now == [item_id], "the edit came under another id"
