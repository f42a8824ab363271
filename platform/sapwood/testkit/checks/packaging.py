"""Whether the distribution installs by itself, says what it is, and costs little to load.

`sapwood connectors test` builds the wheel and installs it into a folder of its own; these checks look at what lies there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sapwood.plugins.installed import plugins_of
from sapwood.plugins.proofs import INSTALLED_VARIABLE
from sapwood.sdk.version import API_VERSION, fits
from sapwood.testkit.check import check

__all__ = ["Package", "Packaged"]

_MOST_MS = 300.0
_TRIES = 3
_SECONDS = 60
# Imports the SDK, then the plugin, and says how long that took, what it loaded, and whom it wanted to reach.
_PROBE = """
import json, sys, time
import sapwood.sdk, sapwood.sdk.models
asked = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        asked.append(str(arguments[1] if event != "socket.getaddrinfo" else arguments[0]))
sys.addaudithook(watch)
before = set(sys.modules)
began = time.perf_counter()
__import__(sys.argv[1])
spent = (time.perf_counter() - began) * 1000
print(json.dumps({"ms": spent, "modules": sorted({m.partition(".")[0] for m in set(sys.modules) - before}), "asked": asked}))
"""


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution that is installed in a folder of its own, and the folder of its sources."""

    installed: Path
    project: Path
    distribution: metadata.Distribution

    @classmethod
    def of_this_run(cls) -> Package:
        """The one that `sapwood connectors test` has installed."""
        folder = os.environ.get(INSTALLED_VARIABLE)
        if not folder:
            pytest.skip("`sapwood connectors test` looks at the package; this is a plain run of pytest")
        plugins = plugins_of(Path(folder))
        found = next(iter(metadata.distributions(path=[folder], name=plugins[0].distribution)))
        return cls(Path(folder), Path(os.environ[f"{INSTALLED_VARIABLE}_FROM"]), found)


class Packaged:
    """Group `package`."""

    @pytest.fixture
    def package(self) -> Package:
        """What is looked at."""
        return Package.of_this_run()

    @check("package.names_its_plugin_in_its_metadata")
    def test_package_names_its_plugin_in_its_metadata(self, package: Package, kit_key: str) -> None:
        plugins = plugins_of(package.installed)
        assert [p for p in plugins if p.key == kit_key], f"no entry point sapwood.connectors has the name {kit_key!r}"
        for plugin in plugins:
            assert plugin.api, 'name the contract: [project.entry-points."sapwood.api"] "1.0" = "<module>"'
            assert fits(plugin.api), f"it is written for API {plugin.api}, this Sapwood has {API_VERSION}"

    @check("package.says_what_it_is")
    def test_package_says_what_it_is(self, package: Package) -> None:
        told = package.distribution.metadata
        assert (told["Summary"] or "").strip(), "give [project] a description"
        assert told["License-Expression"] or told["License"] or told.get_all("License-File"), "name its licence"
        assert len(str(told.json.get("description", "")).strip()) > 200, (
            "its README is shown where it is found: say how to get the credential and what is read"
        )
        log = [
            name for name in os.listdir(package.project) if name.upper().startswith(("CHANGELOG", "CHANGES", "HISTORY"))
        ]
        assert log, "keep a CHANGELOG.md: people read it before they update"

    @check("package.imports_nothing_that_it_does_not_require")
    def test_package_imports_nothing_that_it_does_not_require(self, package: Package) -> None:
        found = _probe(package)
        required = _closure("sapwood") | {canonicalize_name(package.distribution.name)}
        for text in package.distribution.requires or []:
            required |= _closure(_name(text))
        homes = metadata.packages_distributions()
        own = {f.parts[0].removesuffix(".py") for f in package.distribution.files or []}
        for module in found["modules"]:
            names = {canonicalize_name(name) for name in homes.get(module, [])}
            assert module in own or not names or names & required, (
                f"it imports {module}, which comes with {', '.join(sorted(names))}: add that to its dependencies"
            )

    @check("package.imports_without_the_network")
    def test_package_imports_without_the_network(self, package: Package) -> None:
        found = _probe(package)
        assert not found["asked"], f"its import asks the network for {', '.join(found['asked'])}"

    @check("package.imports_quickly")
    def test_package_imports_quickly(self, package: Package) -> None:
        spent = min(_probe(package)["ms"] for _ in range(_TRIES))
        assert spent < _MOST_MS, (
            f"its import takes {spent:.0f} ms beside that of sapwood.sdk, {_MOST_MS:.0f} at most: import what is heavy where it is used"
        )


def _probe(package: Package) -> Any:
    module = plugins_of(package.installed)[0].module.partition(":")[0]
    path = os.pathsep.join([str(package.installed), *(entry for entry in sys.path if entry)])
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, module], capture_output=True, text=True, timeout=_SECONDS, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, f"it cannot be imported: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
    return json.loads(done.stdout.strip().splitlines()[-1])


def _closure(name: str, known: set[str] | None = None) -> set[str]:
    """A distribution and all that it requires."""
    known = set() if known is None else known
    if canonicalize_name(name) in known:
        return known
    known.add(canonicalize_name(name))
    try:
        requires = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return known
    for text in requires:
        if "extra ==" not in text:
            _closure(_name(text), known)
    return known


def _name(requirement: str) -> str:
    return Requirement(requirement).name
