"""Fixtures: a fresh workspace, the command line as a person runs it, and the corpus of real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How long an example takes says nothing of what is tested; in CI the examples are the same each time.
settings.register_profile(
    "untimed", parent=settings.get_profile("ci" if os.environ.get("CI") else "default"), deadline=None
)
settings.load_profile("untimed")

CORPUS = Path(os.environ.get("SAPWOOD_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))


# A model that starts at once, in a process that does not outlive its test for long.
_DEFAULTS = {"SAPWOOD_TIMEZONE": "UTC", "SAPWOOD_EMBEDDING_MODEL": "hashing", "SAPWOOD_EMBEDDER_IDLE_SECONDS": "20"}


@dataclass(frozen=True)
class Result:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


def let_rest(folder: Path) -> None:
    """Files look as if nobody had written to them for a minute. What is young is read last, so that the time which a test takes to begin
    would decide in which order they come."""
    moment = time.time() - 60
    for path in folder.rglob("*"):
        os.utime(path, (moment, moment))


def run_command(*arguments: str, workspace: Path, env: dict[str, str] | None = None, timeout: float = 300) -> Result:
    """`sapwood …` in a process of its own, with a workspace."""
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", *arguments, "--workspace", str(workspace)],
        capture_output=True,
        env={**os.environ, **_DEFAULTS, **(env or {})},
        timeout=timeout,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A place for a workspace that does not exist yet."""
    return tmp_path / "ws"


@pytest.fixture
def sapwood(workspace: Path) -> Callable[..., Result]:
    """Runs a command in the test's workspace."""

    def run(*arguments: str, **options: Any) -> Result:
        return run_command(*arguments, workspace=workspace, **options)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to import."""
    place = tmp_path / "files"
    place.mkdir()
    return place


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The corpus of real files; tests of its facts are skipped where it is not at hand."""
    if not CORPUS.is_dir():
        pytest.skip(f"the corpus is not at {CORPUS}; name its place with SAPWOOD_CORPUS")
    return CORPUS


@dataclass(frozen=True)
class ImportedCorpus:
    """The corpus after an import: the report, and the text and hits by path."""

    workspace: Path
    report: dict[str, Any]

    def file(self, path: str) -> dict[str, Any]:
        """The report's entry of a file."""
        return next(f for f in self.report["files"] if f["path"] == path)

    def item(self, path: str) -> list[dict[str, Any]]:
        """The chunks of a file."""
        item_id = self.file(path)["items"][0]["item_id"]
        return run_command("fetch", item_id, "--json", workspace=self.workspace).json["hits"]

    def text(self, path: str) -> str:
        """The whole text of a file."""
        return "".join(hit["content"] for hit in self.item(path))

    def search(self, query: str, *options: str) -> list[dict[str, Any]]:
        """Hits for a query."""
        return run_command("search", query, "--json", *options, workspace=self.workspace).json["hits"]


@pytest.fixture(scope="session")
def imported(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImportedCorpus]:
    """The corpus imported once, with the passwords of its two encrypted files."""
    workspace = tmp_path_factory.mktemp("corpus") / "ws"
    passwords = {"CORPUS_PDF": "baz", "CORPUS_WORD": "tika"}
    result = run_command(
        "import",
        str(corpus),
        "--json",
        "--password",
        "env:CORPUS_PDF",
        "--password",
        "env:CORPUS_WORD",
        workspace=workspace,
        env=passwords,
    )
    assert result.code == 3, result.err
    yield ImportedCorpus(workspace, result.json)
