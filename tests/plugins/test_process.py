"""A connector in a process of its own: what it does wrong ends its run, and nothing of it stays."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plugins.conftest import install_plugin

from sapwood.bulk.host import ReadingHost
from sapwood.errors import ConnectorCrashed
from sapwood.plugins.process import ConnectorProcess, RunSettings
from sapwood.plugins.watch import RunLimits
from sapwood.sdk import PullRequest, SeenMany

_PLUGIN = """
import os, subprocess, sys, time
from datetime import UTC, datetime
from sapwood.sdk import API_VERSION, CanonicalisedSource, CheckReport, Metadata, Segment, CheckpointModel, ConnectorConfig, ConnectorSpec, Seen, hookimpl

class Config(ConnectorConfig):
    action: str
    place: str = ""

class Rude:
    def __init__(self, config):
        self.config = config
    def check(self, ctx):
        return CheckReport("somebody")
    def pull(self, ctx, request):
        yield Seen("rude:a:1", "s")
        action = self.config.action
        if action == "start a program":
            program = subprocess.Popen(["sleep", "600"])
            open(self.config.place, "w").write(str(program.pid))
        if action == "leave":
            print("these were my last words", file=sys.stderr, flush=True)
            os._exit(9)
        if action == "shout":
            print("noise", flush=True)
            os.write(1, b"more noise")
        if action == "hang":
            time.sleep(1000)
        if action == "spin":
            while True: pass
        if action == "chatter":
            while True: yield Seen("rude:a:1", "s"); time.sleep(0.01)
        if action == "eat":
            eaten = []
            while True: eaten.append(bytearray(1 << 24))
        if action == "give a number":
            yield 5
        if action == "give a naive time":
            yield CanonicalisedSource("rude:a:3", "rude:a", "s", "chat", "T", (Segment("1", "x", datetime(2024, 1, 1)),))
        if action == "give a huge text":
            yield CanonicalisedSource("rude:a:3", "rude:a", "s", "document", "T", (Segment("1", "x" * (80 << 20)),), Metadata(timestamp=datetime.now(UTC)))
        if action == "raise":
            raise RuntimeError("password = hunter2secret9")
        yield Seen("rude:a:2", "s")

@hookimpl
def connectors():
    return [ConnectorSpec("rude", "Rude", API_VERSION, Config, CheckpointModel, Rude)]
"""


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rude connector is installed."""
    install_plugin(tmp_path / "site", "rude-one", "rude", "rude_one", _PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))


def _process(tmp_path: Path, action: str, place: str = "") -> ConnectorProcess:
    return ConnectorProcess("rude", {"action": action, "place": place}, "a", RunSettings(1, 1 << 30, tmp_path))


def _seen(process: ConnectorProcess) -> list[str]:
    events = process.pull(PullRequest(), ReadingHost())
    return [item for event in events if isinstance(event, SeenMany) for item in event.item_ids]


def test_programs_that_a_connector_started_end_with_its_run(tmp_path: Path) -> None:
    place = tmp_path / "pid"
    with _process(tmp_path, "start a program", str(place)) as process:
        assert _seen(process) == ["rude:a:1", "rude:a:2"]
        assert os.path.exists(f"/proc/{place.read_text()}")
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{place.read_text()}"):  # ended, and taken away by the system
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_connector_that_leaves_is_named_with_its_exit_code_and_last_words(tmp_path: Path) -> None:
    with _process(tmp_path, "leave") as process, pytest.raises(ConnectorCrashed) as caught:
        _seen(process)
    assert "the connector rude" in str(caught.value)
    assert "exit code 9" in str(caught.value) and "these were my last words" in str(caught.value)


def test_noise_on_stdout_breaks_nothing(tmp_path: Path) -> None:
    with _process(tmp_path, "shout") as process:
        assert _seen(process) == ["rude:a:1", "rude:a:2"]


def test_the_hosts_own_steps_are_all_taken_before_the_first_event(tmp_path: Path) -> None:
    taken: list[int] = []

    def steps() -> Iterator[None]:
        for number in range(3000):
            taken.append(number)
            yield

    meanwhile = steps()
    with _process(tmp_path, "none") as process:
        assert "rude-one==1.0" in process.plugins(meanwhile)
        for _ in process.pull(PullRequest(), ReadingHost(), meanwhile):
            assert len(taken) == 3000


@pytest.mark.parametrize(
    ("action", "limits", "cause"),
    [
        ("hang", RunLimits(stall_seconds=1.5), "has said nothing for 2 s"),
        ("spin", RunLimits(stall_seconds=1.5), "has said nothing for 2 s"),
        ("chatter", RunLimits(wall_seconds=2.0), "has worked for more than 2 s"),
        ("eat", RunLimits(memory_bytes=400 << 20), "MemoryError"),
        ("give a number", RunLimits(), "int"),
        ("give a naive time", RunLimits(), "has no time zone"),
        ("give a huge text", RunLimits(), "longer than"),
    ],
)
def test_what_a_connector_does_wrong_ends_its_run_and_is_named(
    tmp_path: Path, action: str, limits: RunLimits, cause: str
) -> None:
    (tmp_path / "logs").mkdir()
    settings = RunSettings(1, 1 << 30, tmp_path, limits=limits, reports=tmp_path / "logs")
    with (
        ConnectorProcess("rude", {"action": action}, "a", settings) as process,
        pytest.raises(ConnectorCrashed, match=cause) as crashed,
    ):
        list(process.pull(PullRequest(), ReadingHost()))
    report = json.loads(next((tmp_path / "logs").glob("crash-*.json")).read_text(encoding="utf-8"))
    assert (report["distribution"], report["version"]) == ("rude-one", "1.0") and cause in report["cause"]
    assert "The report logs/crash-" in str(crashed.value)


def test_a_report_of_a_crash_holds_where_it_happened_and_no_secret(tmp_path: Path) -> None:
    settings = RunSettings(1, 1 << 30, tmp_path, reports=tmp_path)
    with ConnectorProcess("rude", {"action": "raise"}, "a", settings) as process, pytest.raises(ConnectorCrashed):
        list(process.pull(PullRequest(), ReadingHost()))
    text = next(tmp_path.glob("crash-*.json")).read_text(encoding="utf-8")
    assert "in pull" in text and "RuntimeError" in text and "hunter2secret9" not in text
