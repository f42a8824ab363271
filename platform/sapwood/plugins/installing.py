"""Installing and removing distributions of plugins, by uv where it is there, else by pip, each in a process of its own.

A distribution is first unpacked into a folder of its own and looked at there, without running any code of the plugin; only
then, when a person has seen what it is, it goes where Sapwood can load it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from sapwood import __version__
from sapwood.errors import PluginError
from sapwood.plugins.installed import PluginInfo, list_plugins, plugins_of
from sapwood.plugins.remains import remove_remains
from sapwood.plugins.requirements import Requirement, Source
from sapwood.sdk.version import API_VERSION, fits

__all__ = ["Candidate", "Installer", "looked_at"]

_SECONDS = 900.0
_LAST_WORDS = 12  # lines of what an installer said


@dataclass(frozen=True, slots=True)
class Candidate:
    """A distribution that might be installed, and what its metadata say: its plugins, and what it needs that is not there yet."""

    requirement: Requirement
    distribution: str
    version: str
    plugins: tuple[PluginInfo, ...]
    missing: tuple[str, ...]
    direct_url: str = ""

    @property
    def pinned(self) -> str:
        """The requirement that gives this very version again."""
        if self.requirement.source is Source.INDEX:
            return f"{self.distribution}=={self.version}"
        if self.requirement.source is Source.GIT and (commit := _commit(self.direct_url)):
            return commit
        return self.requirement.text

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that it says it talks to; empty when it names none."""
        return tuple(sorted({host for plugin in self.plugins for host in plugin.hosts}))


@dataclass(slots=True)
class Installer:
    """uv or pip for the environment in which Sapwood runs."""

    command: list[str]
    name: str
    _target: list[str] = field(default_factory=list)

    @classmethod
    def find(cls) -> Installer:
        """uv on the path or beside the interpreter, else the environment's own pip.

        Raises:
            PluginError: neither is there, or the environment belongs to the system.
        """
        if sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists():
            raise PluginError(
                "this Python", "belongs to the operating system, which does not want packages to be installed into it",
                "Install Sapwood by pipx, by `uv tool install`, or into a virtual environment.",
            )  # fmt: skip
        uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
        if uv:
            return cls([uv, "pip"], "uv", ["--python", sys.executable])
        tried = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
        if tried.returncode == 0:
            return cls([sys.executable, "-m", "pip", "--disable-pip-version-check"], "pip")
        raise PluginError("this environment", "has neither uv nor pip", "Install uv, or run: python -m ensurepip")

    def unpack(self, requirement: Requirement, folder: Path) -> None:
        """Put a distribution, without what it needs, into a folder of its own. A plugin that is still source is built by its own build
        system.

        Raises:
            PluginError: it cannot be found or built.
        """
        self._run("install", ["--no-deps", "--target", str(folder), requirement.text], requirement.text)

    def build(self, requirement: Requirement, folder: Path) -> Requirement:
        """The wheel of a folder, built by its own build system; by the one that is installed here where it is, which needs no network.

        Raises:
            PluginError: it cannot be built.
        """
        alone = [] if _needs_build_system(Path(requirement.text)) else ["--no-build-isolation"]
        how = (
            [self.command[0], "build", "--wheel", "--out-dir"]
            if self.name == "uv"
            else [*self.command, "wheel", "--no-deps", "--wheel-dir"]
        )
        if self.name == "uv" and alone:
            alone += ["--python", sys.executable]
        self._call([*how, str(folder), "--quiet", *alone, requirement.text], "build", requirement.text)
        wheel = next(folder.glob("*.whl"), None)
        if wheel is None:
            raise PluginError(
                requirement.text, "did not become a wheel", "Build it by hand to see why: python -m build."
            )
        return Requirement(str(wheel), Source.WHEEL)

    def add(self, requirements: Sequence[str], folder: Path) -> None:
        """Put distributions and what they need into a folder, beside what lies there.

        Raises:
            PluginError: they cannot be had.
        """
        self._run("install", ["--target", str(folder), *requirements], ", ".join(requirements))

    def install(self, candidate: Candidate) -> None:
        """Install a distribution and what it needs; Sapwood itself stays as it is.

        Raises:
            PluginError: it cannot be installed.
        """
        rest = [candidate.pinned]
        if candidate.requirement.source is not Source.INDEX:
            rest.insert(
                0, "--force-reinstall" if self.name == "pip" else "--reinstall-package=" + candidate.distribution
            )
        if not candidate.missing:
            self._run("install", [*self._target, "--no-deps", *rest], candidate.distribution)
            return
        with TemporaryDirectory() as folder:
            stays = Path(folder, "stays.txt")
            stays.write_text(f"sapwood=={__version__}\n", encoding="utf-8")
            rest = [part for part in rest if part != "--force-reinstall"]  # which would install all that it needs anew
            self._run("install", [*self._target, "--constraint", str(stays), *rest], candidate.distribution)

    def uninstall(self, distribution: str) -> None:
        """Remove a distribution, however often and however incompletely it is there.

        Raises:
            PluginError: something of it stays.
        """
        yes = ["--yes"] if self.name == "pip" else []
        for _ in range(4):
            if not _is_installed(distribution):
                return
            try:
                self._run("uninstall", [*self._target, *yes, distribution], distribution)
            except PluginError:
                break
        remove_remains(distribution)
        if _is_installed(distribution):
            raise PluginError(
                f"the distribution {distribution}", "cannot be removed whole", "Remove what is left by hand."
            )

    def _run(self, action: str, arguments: list[str], subject: str) -> None:
        self._call([*self.command, action, "--quiet", *arguments], action, subject)

    def _call(self, command: list[str], action: str, subject: str) -> None:
        quiet = {"PIP_NO_INPUT": "1", "PYTHONUTF8": "1"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL, env={**os.environ, **quiet}
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise PluginError(
                subject, f"{self.name} did not end within {_SECONDS / 60:.0f} minutes", "Try again."
            ) from error
        if done.returncode:
            said = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()][-_LAST_WORDS:]
            cause = "\n   ".join(said) or f"exit code {done.returncode}"
            raise PluginError(subject, f"{self.name} could not {action} it:\n   {cause}".rstrip("."), "")


def _commit(direct_url: str) -> str:
    try:
        origin = json.loads(direct_url)
        return f"{origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    except (ValueError, KeyError, TypeError):
        return ""


@contextmanager
def looked_at(installer: Installer, requirement: Requirement, *, among_others: bool = True) -> Iterator[Candidate]:
    """A distribution unpacked for looking at it; nothing of it stays when the block is left. `among_others` is false for one that will
    not stand beside those that are installed.

    Raises:
        PluginError: it cannot be had, is no plugin of Sapwood's, needs a newer one, or claims a key that another plugin has.
    """
    with TemporaryDirectory(prefix="sapwood-look-") as folder:
        installer.unpack(requirement, Path(folder))
        plugins = plugins_of(Path(folder))
        if not plugins:
            raise PluginError(
                requirement.text,
                "is no plugin of Sapwood's",
                "Nothing was installed. Ask its author for the right name.",
            )
        name = plugins[0].distribution
        found = next(d for d in metadata.distributions(path=[folder], name=name))
        candidate = Candidate(
            requirement, name, found.version, tuple(plugins), tuple(_missing(found.requires or [])), found.read_text("direct_url.json") or ""
        )  # fmt: skip
        if among_others:
            _refuse(candidate)
        yield candidate


def _refuse(candidate: Candidate) -> None:
    for plugin in candidate.plugins:
        if plugin.api and not fits(plugin.api):
            raise PluginError(
                f"{candidate.distribution} {candidate.version}", f"needs plugin API {plugin.api}, this Sapwood has {API_VERSION}",
                "Update Sapwood, or name an older version.",
            )  # fmt: skip
        other = next(
            (p for p in list_plugins() if p.key == plugin.key and _normal(p.distribution) != _normal(candidate.distribution)), None
        )  # fmt: skip
        if other:
            raise PluginError(
                f"{candidate.distribution} {candidate.version}", f"claims the key {plugin.key!r}, which {other.distribution} has",
                f"Remove that one first: sapwood connectors uninstall {other.distribution}.",
            )  # fmt: skip


def _missing(requires: list[str]) -> Iterator[str]:
    """The requirements that this environment does not meet."""
    from packaging.requirements import Requirement as Parsed

    for text in requires:
        wanted = Parsed(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            there = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            there = ""
        if not there or wanted.extras or not wanted.specifier.contains(there, prereleases=True):
            yield text


def _needs_build_system(folder: Path) -> bool:
    """True unless what builds a folder's wheel is installed here."""
    try:
        built = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
        return any(_missing([str(text) for text in built["requires"]]))
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _is_installed(distribution: str) -> bool:
    return next(iter(metadata.distributions(name=distribution)), None) is not None


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
