"""A converter that hangs, fills memory, dies or answers nonsense costs its one file, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import run_command
from tests.plugins.conftest import install_plugin

from sapwood.plugins.converting import ConverterPool
from sapwood.plugins.limited_pool import TaskCrashed
from sapwood.sdk import Converted, ConvertError, ConvertFile, ConvertLimits

_PLUGIN = """
import os, time
from sapwood.sdk import Converted, Segment, hookimpl

@hookimpl
def convert(file):
    if not file.name.endswith(".rude"):
        return None
    action = open(file.path).read().strip()
    if action == "hang":
        while True:
            time.sleep(1)
    if action == "fill":
        held = [bytearray(50_000_000) for _ in range(40)]
    if action == "die":
        os._exit(7)
    if action == "nonsense":
        return 42
    if action == "shout":
        print("noise on stdout", flush=True)
    return Converted(segments=(Segment("a", "words of " + action),))
"""


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConverterPool]:
    """One worker that finds the rude converter installed."""
    site = tmp_path / "site"
    install_plugin(site, "rude-files", "rude", "rude_files", _PLUGIN)
    monkeypatch.syspath_prepend(str(site))
    made = ConverterPool(1, 400_000_000)
    yield made
    made.close()


def _file(place: Path, action: str, seconds: float = 20.0) -> ConvertFile:
    path = place / f"{action}.rude"
    path.write_text(action)
    return ConvertFile(str(path), path.name, len(action), limits=ConvertLimits(seconds=seconds))


@pytest.mark.parametrize(
    ("action", "code"), [("hang", "timeout"), ("fill", "memory"), ("die", "crashed"), ("nonsense", "plugin")]
)
def test_a_rude_converter_is_named_and_the_next_file_is_read(
    pool: ConverterPool, tmp_path: Path, action: str, code: str
) -> None:
    assert isinstance(pool.convert(_file(tmp_path, "well")), Converted)
    found = pool.convert(_file(tmp_path, action, seconds=2.0 if action == "hang" else 60.0))
    assert isinstance(found, ConvertError) and found.code == code and found.message
    after = pool.convert(_file(tmp_path, "well again"))
    assert isinstance(after, Converted) and after.segments[0].text == "words of well again"


def test_a_distribution_that_is_left_out_is_asked_by_no_worker(pool: ConverterPool, tmp_path: Path) -> None:
    # A killed worker is followed by one that has had no warm-up.
    assert isinstance(pool.convert(_file(tmp_path, "well")), Converted)
    guarded = ConverterPool(3, 400_000_000, left_out=("rude-files", "sapwood-documents"))
    try:
        files = [_file(tmp_path, f"well {number}") for number in range(30)]
        assert [found for _, found in guarded.convert_all(files, lambda: False)] == [None] * 30
        with pytest.raises(TaskCrashed):
            guarded._pool.result(guarded._pool.submit(os._exit, [3], 20.0))
        assert [found for _, found in guarded.convert_all(files, lambda: False)] == [None] * 30
    finally:
        guarded.close()


def test_a_plugin_is_asked_before_the_reading_of_any_text(pool: ConverterPool, tmp_path: Path) -> None:
    (tmp_path / "x.unheard-of").write_text("plain words")
    plain = pool.convert(ConvertFile(str(tmp_path / "x.unheard-of"), "x.unheard-of", 11))
    assert isinstance(plain, Converted) and plain.segments[0].text == "plain words"
    taken = pool.convert(_file(tmp_path, "well"))
    assert isinstance(taken, Converted) and taken.segments[0].text == "words of well"


def test_a_file_may_take_twenty_seconds_and_one_more_a_megabyte() -> None:
    assert ConvertLimits().time_for(0) == 20.0
    assert ConvertLimits().time_for(5_000_000) == 25.0


def test_noise_and_death_of_a_converter_stop_no_import(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_plugin(site, "rude-files", "rude", "rude_files", _PLUGIN)
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("die", "shout", "nonsense"):
        (folder / f"{name}.rude").write_text(name)
    (folder / "good.md").write_text("good words\n")
    result = run_command("import", str(folder), "--json", workspace=tmp_path / "ws", env={"PYTHONPATH": str(site)})
    status = {f["path"]: f["status"] for f in result.json["files"]}
    assert status == {"die.rude": "failed", "good.md": "stored", "nonsense.rude": "failed", "shout.rude": "stored"}
    assert result.code == 3
