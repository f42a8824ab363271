"""The folder connector passes the kit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sapwood.testkit import ConnectorTests, World


class _Folder(World):
    """A folder of notes. Files look as if nobody had touched them for a while, or the connector would wait."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._number = 0
        self.config: dict[str, Any] = {"root": str(root)}

    def add(self, text: str) -> str:
        name = f"note {self._number}.md"
        self._write(name, text)
        return name

    def edit(self, name: str, text: str) -> None:
        self._write(name, text)

    def delete(self, name: str) -> None:
        (self._root / name).unlink()

    @contextmanager
    def fault(self, kind: str) -> Iterator[None]:
        if kind == "list":
            away = self._root.with_name("away")
            self._root.rename(away)
            try:
                yield
            finally:
                away.rename(self._root)
        elif kind == "empty":
            away = self._root.with_name("away")
            self._root.rename(away)
            self._root.mkdir()
            try:
                yield
            finally:
                self._root.rmdir()
                away.rename(self._root)
        else:
            raise NotImplementedError

    def _write(self, name: str, text: str) -> None:
        file = self._root / name
        file.write_text(text + "\n", encoding="utf-8")
        self._number += 1
        moment = time.time() - 3600 + self._number
        os.utime(file, (moment, moment))


class FolderTests(ConnectorTests):
    """The kit over a folder connector."""

    key = "folder"
    __test__ = False

    @pytest.fixture
    def world(self, tmp_path: Path) -> _Folder:
        root = tmp_path / "notes"
        root.mkdir()
        return _Folder(root)


class TestFolder(FolderTests):
    __test__ = True
