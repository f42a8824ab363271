"""Whether it works alike on machines that are set up in other ways, and talks only to whom it says."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sapwood.sdk import ConnectorSpec
from sapwood.testkit.check import check
from sapwood.testkit.checks.ground import READ, TEXTS, fill
from sapwood.testkit.host import MemoryHost
from sapwood.testkit.world import World

__all__ = ["Surroundings"]

_ZONES = ("UTC", "Asia/Shanghai", "America/Los_Angeles")
_GBK = "zh_CN.GBK"


class Surroundings:
    """Group `environment`."""

    @check("environment.ids_do_not_depend_on_the_users_zone", *READ)
    def test_environment_ids_do_not_depend_on_the_users_zone(
        self, spec: ConnectorSpec, world: World, tmp_path: Path
    ) -> None:
        fill(world, TEXTS)
        found = []
        for zone in (UTC, ZoneInfo("Asia/Shanghai"), ZoneInfo("America/Los_Angeles")):
            host = MemoryHost(spec, world.config, tmp_path, zone)
            host.run()
            found.append(sorted(host.items))
        assert found[0] == found[1] == found[2], "ids changed with the user's time zone"

    @check("environment.times_do_not_depend_on_the_machines_zone", *READ)
    def test_environment_times_do_not_depend_on_the_machines_zone(
        self, kit_key: str, kit_factory: str, world: World, tmp_path: Path
    ) -> None:
        fill(world, TEXTS)
        found = _alone(kit_key, kit_factory, world, tmp_path, zones=_ZONES)["times"]
        for other in found[1:]:
            assert other == found[0], (
                "times changed with TZ of the machine: it makes local times of times without a zone"
            )

    @check("environment.talks_only_to_the_hosts_that_it_declares", *READ)
    def test_environment_talks_only_to_the_hosts_that_it_declares(
        self, kit_key: str, kit_factory: str, world: World, tmp_path: Path
    ) -> None:
        fill(world, TEXTS)
        found = _alone(kit_key, kit_factory, world, tmp_path)
        assert not found["refused"], (
            f"it wanted to talk to {', '.join(found['refused'])}: name them in its spec's hosts"
        )

    @check("environment.reads_under_another_locale", *READ, "environment.talks_only_to_the_hosts_that_it_declares")
    def test_environment_reads_under_another_locale(
        self, kit_key: str, kit_factory: str, world: World, tmp_path: Path
    ) -> None:
        fill(world, ["你好，世界。今天下午三点开会 — naïve ☕."])
        there = _alone(kit_key, kit_factory, world, tmp_path, environment=_gbk())
        assert any("naïve ☕" in text for text in there["texts"]), (
            f"under {_GBK} the text came as another one: name the encoding wherever a file or a pipe is opened"
        )


def _alone(
    key: str,
    factory: str,
    world: World,
    tmp: Path,
    zones: tuple[str, ...] = _ZONES[:1],
    environment: Mapping[str, str] | None = None,
) -> Any:
    """What runs in a process of its own bring, one in each of these zones of the machine, with sockets guarded."""
    asked = {
        "key": key, "factory": factory, "config": dict(world.config), "tmp": str(tmp), "zones": zones, "environment": dict(os.environ) | dict(environment or {}),
    }  # fmt: skip
    process = _runner(frozenset((environment or {}).items()))
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(asked).encode("ascii") + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline() or b'{"error": "its process has ended"}')
    if "error" in answer:
        pytest.fail(f"in a process of its own the run failed: {answer['error']}")
    return answer


@functools.cache
def _runner(environment: frozenset[tuple[str, str]]) -> subprocess.Popen[bytes]:
    """A process that makes runs in this environment; it ends when this one does, since nobody asks it any more."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-m", "sapwood.testkit.alone"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, **dict(environment)},
    )  # fmt: skip


@functools.cache
def _gbk() -> dict[str, str]:
    """The environment of a machine whose locale is GBK; made here where the machine does not have it."""
    plain = {"LC_ALL": _GBK, "LANG": _GBK, "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    known = (
        subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False)
        if shutil.which("locale")
        else None
    )
    if known and "zh_cn.gbk" in known.stdout.lower():
        return plain
    if shutil.which("localedef"):
        tmp = Path(tempfile.mkdtemp(prefix="sapwood-kit-"))
        atexit.register(shutil.rmtree, tmp, ignore_errors=True)
        made = subprocess.run(
            ["localedef", "-i", "zh_CN", "-f", "GBK", "--no-archive", str(tmp / _GBK)], capture_output=True, check=False
        )
        if (tmp / _GBK).is_dir():
            return {**plain, "LOCPATH": str(tmp)}
        reason = made.stderr.decode("utf-8", "replace").strip()
        pytest.skip(f"the locale {_GBK} is missing and cannot be made ({reason}): install Debian's package locales")
    pytest.skip(f"the locale {_GBK} is missing; install it")
