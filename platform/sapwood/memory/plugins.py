"""Plugins as a person sees them: which there are, what each is, how it comes and goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sapwood.bulk.host import ReadingHost
from sapwood.config import load_settings
from sapwood.errors import NotFoundError, PluginError
from sapwood.plugins import choices
from sapwood.plugins.forms import Field, fields_of, parse_settings, parse_value
from sapwood.plugins.installed import PluginInfo, list_plugins
from sapwood.plugins.installing import Candidate, Installer, looked_at
from sapwood.plugins.probing import Probed, probe
from sapwood.plugins.process import ConnectorProcess, RunSettings
from sapwood.plugins.proofs import proof_of
from sapwood.plugins.requirements import Requirement, Source, parse_requirement
from sapwood.sdk.connector import CheckReport
from sapwood.sync.connections import load_connections
from sapwood.workspace import Workspace

__all__ = ["PluginState", "Plugins"]


@dataclass(frozen=True, slots=True)
class PluginState:
    """A plugin, or one that connections want and nobody has installed. `state` is ready, disabled, broken or missing; `connections` are
    the names of those that use it, `proof` is what the conformance kit found of this version here."""

    info: PluginInfo
    state: str
    reason: str
    next_step: str
    connections: tuple[str, ...]
    proof: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        i = self.info
        return {
            "key": i.key, "title": i.title, "distribution": i.distribution, "version": i.version, "api": i.api, "hosts": list(i.hosts),
            "state": self.state, "reason": self.reason, "next_step": self.next_step, "connections": list(self.connections), "kit": self.proof,
        }  # fmt: skip


class Plugins:
    """The plugins of a workspace. Nothing here loads one into this process."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self) -> list[PluginState]:
        """Every installed plugin and every one that a connection misses, by key."""
        users: dict[str, list[str]] = {}
        for connection in load_connections(self._workspace):
            users.setdefault(connection.connector, []).append(connection.name)
        off = choices.disabled(self._workspace)
        found = [self._state(info, off, tuple(users.get(info.key, ()))) for info in list_plugins()]
        there = {state.info.key for state in found}
        for key in sorted(users.keys() - there):
            missing = PluginInfo(key, "", f"sapwood-{key}", "")
            step = f"Install it: sapwood connectors install {key}; or all that were here: sapwood connectors restore."
            found.append(PluginState(missing, "missing", "its plugin is not installed", step, tuple(users[key])))
        return sorted(found, key=lambda state: (state.info.key, state.info.distribution))

    def named(self, name: str) -> list[PluginState]:
        """Those with this key, or of the distribution of this name.

        Raises:
            NotFoundError: there is none.
        """
        wanted = name.strip().lower().replace("_", "-")
        states = self.all()
        found = [s for s in states if s.info.key == name] or [
            s for s in states if s.info.distribution.lower().replace("_", "-") == wanted
        ]
        if not found:
            known = ", ".join(dict.fromkeys(s.info.key for s in states)) or "none"
            raise NotFoundError(
                f"the plugin {name}", f"is not installed (there are: {known})", "`sapwood connectors list` names them."
            )
        return found

    def examine(self, states: list[PluginState] | None = None) -> list[tuple[PluginState, Probed]]:
        """Each with what it says when it is loaded in a process of its own; broken ones become so here at the latest."""
        states = self.all() if states is None else states
        probed = probe(state.info for state in states if state.state != "missing")
        return [self._examined(state, probed.get(state.info, Probed(state.reason))) for state in states]

    def install(self, asked: str, agree: Callable[[Candidate], bool]) -> list[tuple[PluginState, Probed]] | None:
        """Look at a distribution, ask whether it may come, install it, and try its plugins; None when it may not.

        Raises:
            ConfigurationError, PluginError: it cannot be had, or may not be used.
        """
        installer = Installer.find()
        requirement = parse_requirement(asked)
        with TemporaryDirectory(prefix="sapwood-build-") as folder:
            if requirement.source is Source.FOLDER:
                requirement = installer.build(requirement, Path(folder))
            with looked_at(installer, requirement) as candidate:
                if not agree(candidate):
                    return None
            if requirement.source is Source.WHEEL:
                kept = choices.keep_wheel(self._workspace, Path(requirement.text))
                candidate = replace(candidate, requirement=Requirement(str(kept), Source.WHEEL))
            installer.install(candidate)
        choices.freeze(self._workspace)
        return self.examine(self.named(candidate.distribution))

    def check(self, key: str, settings: list[str], ask: Callable[[Field], str] | None = None) -> CheckReport:
        """Whether a connector can be reached with a configuration, out of `field=value` texts; nothing is kept of it.

        Args:
            key: of the connector.
            settings: the fields that are given.
            ask: gives the text of each required field that is not, where somebody can be asked.

        Raises:
            NotFoundError, PluginError, ConfigurationError, ConnectorError: it cannot, and why.
        """
        values = self.configuration(key, settings, ask)
        with TemporaryDirectory(prefix="sapwood-check-") as folder:
            run = RunSettings.of(load_settings(self._workspace.config_file), Path(folder), self._workspace)
            with ConnectorProcess(key, values, "", run) as process:
                return process.check(ReadingHost())

    def configuration(self, key: str, given: list[str], ask: Callable[[Field], str] | None = None) -> dict[str, Any]:
        """The values of a connector's configuration; see `check`."""
        choices.require_enabled(self._workspace, key)
        fields = fields_of(self.schema(key))
        values = parse_settings(key, given, fields)
        for field in fields:
            if ask is not None and field.is_required and field.name not in values:
                values[field.name] = parse_value(field, ask(field))
        return values

    def schema(self, key: str) -> dict[str, Any]:
        """The JSON Schema of a connector's configuration.

        Raises:
            NotFoundError, PluginError: there is no such connector, or it is broken.
        """
        (state, probed), *_ = self.examine(self.named(key))
        if state.state in ("broken", "missing"):
            raise PluginError(f"the connector {key}", state.reason, state.next_step)
        spec = next((spec for spec in probed.connectors if spec["key"] == key), None)
        if spec is None:
            raise PluginError(f"the plugin {key}", "offers no connector, it only reads files for others", "")
        return dict(spec["schema"])

    def uninstall(self, name: str) -> list[PluginState]:
        """Remove the distribution of a plugin with all its plugins; what was read through it stays.

        Raises:
            NotFoundError, PluginError: it is not there, or cannot be removed.
        """
        states = [state for state in self.named(name) if state.state != "missing"]
        if not states:
            raise NotFoundError(f"the plugin {name}", "is not installed", "")
        names = sorted({state.info.distribution for state in states})
        if len(names) > 1:
            raise PluginError(
                f"the key {name}",
                f"is claimed by {' and '.join(names)}",
                f"Name the one to remove: sapwood connectors uninstall {names[-1]}.",
            )
        Installer.find().uninstall(names[0])
        choices.freeze(self._workspace)
        return states

    def set_enabled(self, name: str, *, to: bool) -> list[PluginState]:
        """Use a plugin again, or no more; its connections wait meanwhile.

        Raises:
            NotFoundError: it is not there.
        """
        for state in self.named(name):
            choices.set_disabled(self._workspace, state.info.key, to=not to)
        return self.named(name)

    def freeze(self) -> list[str]:
        """Write down what is installed; see `plugins.choices.freeze`."""
        return choices.freeze(self._workspace)

    def restore(self, file: Path | None = None) -> list[tuple[str, str]]:
        """Install again what was written down and is not there in that version: `(distribution, what came of it)` of each.

        Raises:
            PluginError: nothing was written down.
        """
        there = {s.info.distribution: s.info.version for s in self.all() if s.state in ("ready", "disabled")}
        told: list[tuple[str, str]] = []
        for name, requirement in choices.frozen(self._workspace, file):
            if name in there and ("==" not in requirement or requirement == f"{name}=={there[name]}"):
                told.append((name, "is there"))
                continue
            try:
                installer = Installer.find()
                with looked_at(installer, parse_requirement(requirement)) as candidate:
                    installer.install(candidate)
                told.append((name, "installed"))
            except PluginError as error:
                told.append((name, f"failed: {error}"))
        return told

    def _state(self, info: PluginInfo, off: set[str], users: tuple[str, ...]) -> PluginState:
        if info.problem:
            reason, _, step = info.problem.partition(". ")
            return PluginState(info, "broken", reason, step, users)
        if info.key in off:
            return PluginState(info, "disabled", "switched off", f"sapwood connectors enable {info.key}", users)
        proof = proof_of(self._workspace, info.distribution, info.version)
        return PluginState(info, "ready", "", "", users, str(proof or ""))

    def _examined(self, state: PluginState, probed: Probed) -> tuple[PluginState, Probed]:
        if state.state == "missing" or not probed.problem or state.info.problem:
            return state, probed
        step = f"Update it, or remove it: sapwood connectors uninstall {state.info.distribution}."
        return replace(state, state="broken", reason=probed.problem, next_step=step), probed
