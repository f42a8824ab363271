"""Each broken connector is found by exactly the check that is named for it, and no sound one by any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from tests.testkit.broken import BROKEN
from tests.testkit.mutants import MUTANTS

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SOUND = ("Changes", "Listed")


def _failed(report: Path, cases: str, names: list[str]) -> dict[str, set[str]]:
    """The checks that failed, of each of these connectors."""
    chosen = " or ".join(f"Test{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"tests/testkit/{cases}_cases.py", "-k", chosen, "--kit-json", str(report), "-q", "--tb=no", "-p", "no:xdist"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, set[str]] = defaultdict(set)
    tried: dict[str, int] = defaultdict(int)
    for row in json.loads(report.read_text(encoding="utf-8"))["checks"]:
        name = row["connector"].removeprefix("Test")
        tried[name] += 1
        if row["outcome"] == "failed":
            found[name].add(row["check"])
    assert set(tried) == set(names) and min(tried.values()) > 50
    return found


def _print_matrix(found: dict[str, set[str]], names: list[str]) -> None:
    """A line a check, a column a connector that it found."""
    for check in sorted(set().union(*found.values())):
        print(f"{check:60} {', '.join(name for name in names if check in found[name])}")


@pytest.mark.parametrize("half", [0, 1])
def test_each_broken_connector_is_found_by_the_check_named_for_it(half: int, tmp_path: Path) -> None:
    names = [*SOUND, *BROKEN][half::2]
    found = _failed(tmp_path / "kit.json", "broken", names)
    _print_matrix(found, names)
    wanted = {name: {BROKEN[name]} if name in BROKEN else set() for name in names}
    assert {name: found[name] for name in names} == wanted


def test_each_spoiled_folder_connector_is_found(tmp_path: Path) -> None:
    names = list(MUTANTS)
    found = _failed(tmp_path / "kit.json", "mutant", names)
    _print_matrix(found, names)
    for name, check in MUTANTS.items():
        assert check in found[name], f"{name}: {found[name]}"


def test_at_least_fifteen_are_broken_and_most_checks_have_one() -> None:
    assert len(BROKEN) >= 15 and len(set(BROKEN.values())) >= 25
