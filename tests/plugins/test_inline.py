"""A connector in the host's own process, for its author's debugger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Result
from tests.plugins.conftest import install_plugin

Sapwood = Callable[..., Result]
BODY = """
import os
from sapwood.sdk import *
from sapwood.sdk import API_VERSION
class Config(ConnectorConfig):
    secret: SecretReference = "env:TEST_INLINE"
class Mine:
    def __init__(self, config): self.config = config
    def check(self, ctx): return CheckReport("one", title="Mine")
    def pull(self, ctx, request):
        count = (ctx.kv.get("count") or 0) + 1
        ctx.kv.set("count", count)
        ctx.log.info("run %s", count)
        if os.environ.get("TEST_FAILS"): raise ZeroDivisionError("here it is")
        assert ctx.secrets.get(self.config.secret) == "opensesame"
        if ctx.known.get("mine:one:a"):
            yield Seen("mine:one:a", "mine:one")
            assert [k.item_id for k in ctx.known.all()] == ["mine:one:a"]
        else:
            yield canonicalise_document(item_id="mine:one:a", source_id="mine", scope="mine:one", title=f"Run {count} in {os.getppid()}", sections=[DocumentSection("1", "The heron stood.")])
        yield Checkpoint({})
        yield ScopeComplete("mine:one")
@hookimpl
def connectors(): return [ConnectorSpec("mine", "Mine", API_VERSION, Config, CheckpointModel, Mine)]
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(place))
    monkeypatch.setenv("TEST_INLINE", "opensesame")
    install_plugin(place, "sapwood-mine", "mine", "mine_inline", BODY)
    return place


def test_an_inline_run_stores_what_a_run_in_a_process_of_its_own_does(sapwood: Sapwood, site: Path) -> None:
    first = sapwood("connect", "mine", "--inline", "--json")
    assert first.code == 0, first.err
    assert first.json["runs"][0]["counts"]["stored"] == 1
    for arguments in ((), ("--inline",)):
        run = sapwood("sync", *arguments, "--json").json["runs"][0]
        assert (run["status"], run["counts"]["unchanged"], run["counts"]["removed"]) == ("done", 1, 0)


@pytest.mark.parametrize("inline", [(), ("--inline",)])
def test_a_checkpoint_of_an_older_version_is_brought_up_or_refused(
    sapwood: Sapwood, site: Path, inline: tuple[str, ...]
) -> None:
    assert sapwood("connect", "mine", "--json").json["runs"][0]["status"] == "done"
    newer = BODY.replace(
        "class Mine:", "class Second(CheckpointModel):\n    schema_version: int = 2\n    moved: str = ''\nclass Mine:"
    )
    module = site / "mine_inline.py"
    module.write_text(newer.replace("CheckpointModel, Mine)", "Second, Mine)"), encoding="utf-8")
    refused = sapwood("sync", *inline)
    assert refused.code == 1 and "checkpoint version" in refused.out
    upgrade = "    moved: str = ''\n    @classmethod\n    def upgrade(cls, state): return {'schema_version': 2, 'moved': 'yes'}\n"
    newer = newer.replace("    moved: str = ''\n", upgrade).replace("count = (ctx", "assert request.checkpoint['moved'] == 'yes'\n        count = (ctx")  # fmt: skip
    module.write_text(newer.replace("CheckpointModel, Mine)", "Second, Mine)"), encoding="utf-8")
    assert sapwood("sync", *inline).code == 0


def test_what_it_raises_comes_out_where_it_was_raised(
    sapwood: Sapwood, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sapwood("connect", "mine", "--no-sync").code == 0
    monkeypatch.setenv("TEST_FAILS", "1")
    inline = sapwood("sync", "--inline", "--debug")
    assert inline.code == 1 and "mine_inline.py" in inline.err and "here it is" in inline.err
    apart = sapwood("sync")
    assert apart.code == 1 and "ZeroDivisionError: here it is" in apart.out and "crash-" in apart.out
