"""The kit over each broken connector, and over the sound ones that they are made of; run by `test_matrix.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.testkit.broken import BROKEN
from tests.testkit.notes import NotesService

from sapwood.testkit import ConnectorTests


class _Notes(ConnectorTests):
    key = "notes"

    @pytest.fixture
    def world(self) -> Iterator[NotesService]:
        with NotesService() as service:
            yield service


def _tests(name: str, factory: str) -> type:
    made = type(f"Test{name}", (_Notes,), {"factory": factory})
    made.__module__ = __name__
    return made


TestChanges = _tests("Changes", "tests.testkit.sound:changes")
TestListed = _tests("Listed", "tests.testkit.sound:listed")
for _name in BROKEN:
    globals()[f"Test{_name}"] = _tests(_name, f"tests.testkit.broken:spec_{_name}")
