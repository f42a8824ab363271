"""The pytest plugin of the kit: the order of the checks, those that wait for others, the table and the report.

It is found by pytest wherever Sapwood is installed, and does nothing in a run without connector tests.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from sapwood.testkit.check import Check, check_of

__all__ = ["KIT_VERSION"]

KIT_VERSION = "1.0"
_MARKS = {"passed": "ok  ", "failed": "FAIL", "skipped": "-   "}
_rows: list[dict[str, Any]] = []
_failed: dict[type, set[str]] = defaultdict(set)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kit-json FILE`."""
    parser.getgroup("sapwood").addoption("--kit-json", metavar="FILE", help="Write what came of each check to FILE.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Checks of one class run in the kit's order, so that what others need comes first."""
    places: dict[type | None, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        if _check(item):
            places[_class(item)].append(place)
    for at in places.values():
        ordered = sorted((items[place] for place in at), key=lambda item: _required(item).place)
        for place, item in zip(at, ordered, strict=True):
            items[place] = item


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A check that would only repeat the failure of another one is not tried."""
    found, owner = _check(item), _class(item)
    if found and owner and (missing := [name for name in found.needs if name in _failed[owner]]):
        _failed[owner].add(found.name)  # what needs this one has no ground either
        pytest.skip(f"not tried, since {missing[0]} failed")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Keep what came of each check."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    found, owner = _check(item), _class(item)
    if not found or not owner or (report.when != "call" and report.outcome == "passed"):
        return
    if report.outcome == "failed":
        _failed[owner].add(found.name)
    parameters = item.callspec.id if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""
    _rows.append(
        {
            "connector": owner.__name__, "check": found.name, "case": parameters, "outcome": report.outcome,
            "message": _message(report, call), "seconds": round(report.duration, 3),
        }
    )  # fmt: skip


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table for people, and the report for machines."""
    if not _rows:
        return
    for connector in dict.fromkeys(row["connector"] for row in _rows):
        rows = [row for row in _rows if row["connector"] == connector]
        counts = {state: sum(row["outcome"] == state for row in rows) for state in _MARKS}
        terminalreporter.section(f"Sapwood kit {KIT_VERSION}: {connector}")
        for row in rows:
            name = row["check"] + (f" [{row['case']}]" if row["case"] else "")
            why = f": {row['message']}" if row["outcome"] != "passed" else ""
            terminalreporter.write_line(f"{_MARKS[row['outcome']]} {name}{why}")
        terminalreporter.write_line(
            f"{counts['passed']} of {counts['passed'] + counts['failed']} checks passed, {counts['skipped']} were not tried"
        )
    if file := config.getoption("--kit-json"):
        text = json.dumps({"kit": KIT_VERSION, "checks": _rows}, ensure_ascii=False, indent=1)
        Path(str(file)).write_text(text + "\n", encoding="utf-8")


def _check(item: pytest.Item) -> Check | None:
    return check_of(getattr(item, "function", None))


def _required(item: pytest.Item) -> Check:
    found = _check(item)
    assert found is not None
    return found


def _class(item: pytest.Item) -> type | None:
    found = getattr(item, "cls", None)
    return found if isinstance(found, type) else None


def _message(report: pytest.TestReport, call: pytest.CallInfo[None]) -> str:
    """What is to be mended, in one line."""
    if report.outcome == "skipped":
        return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix(
            "Skipped: "
        )
    if report.outcome == "failed" and call.excinfo is not None:
        text = str(call.excinfo.value).partition("\nassert ")[0].strip()
        kind = "" if call.excinfo.errisinstance((AssertionError, pytest.fail.Exception)) else f"{call.excinfo.typename}: "  # fmt: skip
        return kind + " ".join(text.split())[:500]
    return ""
