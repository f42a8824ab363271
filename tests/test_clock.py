"""The machine's own zone, with its changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sapwood.clock as clock


def _offsets() -> list[timedelta | None]:
    zone = clock.zone("")
    return [datetime(2026, month, 15, tzinfo=zone).utcoffset() for month in (1, 7)]


def test_the_zone_of_the_environment_knows_summer_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert _offsets() == [timedelta(hours=1), timedelta(hours=2)]


def test_the_zone_of_the_system_knows_summer_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "zoneinfo" / "America" / "New_York"
    place.parent.mkdir(parents=True)
    place.touch()
    (tmp_path / "localtime").symlink_to(place)
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr(clock, "_LOCALTIME", str(tmp_path / "localtime"))
    assert _offsets() == [timedelta(hours=-5), timedelta(hours=-4)]


@pytest.mark.parametrize("value", ["", "No/Such", "CET-1CEST,M3.5.0,M10.5.0/3", "../../etc/passwd"])
def test_a_zone_that_cannot_be_told_is_the_offset_of_today(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TZ", value)
    monkeypatch.setattr(clock, "_LOCALTIME", "/nowhere")
    assert clock.zone("").utcoffset(datetime(2026, 1, 1)) == datetime.now(UTC).astimezone().utcoffset()
