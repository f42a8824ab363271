"""Trying a connector's package: its wheel is built, installed into a folder of its own, and its tests run against that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sapwood.errors import PluginError
from sapwood.plugins.installing import Installer, looked_at
from sapwood.plugins.proofs import INSTALLED_VARIABLE, Proof, put_proof
from sapwood.plugins.requirements import Source, parse_requirement
from sapwood.workspace import Workspace

__all__ = ["Tried", "try_connector"]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it: the checks with `check`, `case`, `outcome` and `message`, and how the tests ended. `code` is that of pytest: 0 for
    all passed, 1 for failures, 5 for no tests."""

    distribution: str
    version: str
    kit: str
    checks: list[dict[str, Any]]
    code: int

    @property
    def proof(self) -> Proof:
        """The counts."""
        passed, failed = (sum(row["outcome"] == outcome for row in self.checks) for outcome in ("passed", "failed"))
        return Proof(self.kit, self.version, passed, passed + failed)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        proof = self.proof
        return {
            "distribution": self.distribution, "version": self.version, "kit": self.kit, "passed": proof.passed, "tried": proof.tried,
            "checks": self.checks,
        }  # fmt: skip


def try_connector(workspace: Workspace, folder: str, *, quiet: bool, more: Sequence[str] = ()) -> Tried:
    """Run the tests of a connector's folder against its wheel, and keep what came of it for the list of plugins.

    Args:
        workspace: where the result is kept.
        folder: of the package, with `pyproject.toml` and `tests/`.
        quiet: print nothing of pytest.
        more: arguments for pytest.

    Raises:
        ConfigurationError, PluginError: it is no package, cannot be built, or pytest is not installed.
    """
    if find_spec("pytest") is None:
        raise PluginError(
            "this environment", "has no pytest, which runs the kit", 'Install it: pip install "sapwood[testkit]".'
        )
    requirement = parse_requirement(folder)
    if requirement.source is not Source.FOLDER:
        raise PluginError(folder, "is no folder of a package", "Give the folder that holds pyproject.toml and tests/.")
    project = Path(requirement.text)
    if not (project / "tests").is_dir():
        raise PluginError(
            str(project), "has no folder tests/", "Write one with a subclass of sapwood.testkit.ConnectorTests."
        )
    installer = Installer.find()
    with TemporaryDirectory(prefix="sapwood-kit-") as tmp:
        site, report = Path(tmp, "site"), Path(tmp, "kit.json")
        Path(tmp, "wheel").mkdir()
        wheel = installer.build(requirement, Path(tmp, "wheel"))
        with looked_at(installer, wheel, among_others=False) as candidate:
            installer.unpack(wheel, site)
            if candidate.missing:
                installer.add(candidate.missing, site)
        path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH", ""))))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "tests", "--rootdir", str(project), "--kit-json", str(report), "-q", "--tb=short", "-p", "no:cacheprovider", *more],
            cwd=project, env={**os.environ, "PYTHONPATH": path, INSTALLED_VARIABLE: str(site), f"{INSTALLED_VARIABLE}_FROM": str(project)},
            stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None, check=False,
        )  # fmt: skip
        if not report.exists():
            said = (done.stdout or b"").decode("utf-8", "replace").strip().splitlines()[-3:]
            cause = "; ".join(line.strip() for line in said) or f"pytest ended with code {done.returncode}"
            raise PluginError(
                str(project), f"ran no check of the kit ({cause})", "Its tests need a subclass of sapwood.testkit.ConnectorTests."
            )  # fmt: skip
        told = json.loads(report.read_text(encoding="utf-8"))
    tried = Tried(candidate.distribution, candidate.version, told["kit"], told["checks"], done.returncode)
    if not more:  # a part proves nothing of the whole
        put_proof(workspace, tried.distribution, tried.proof)
    return tried
