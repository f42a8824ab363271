"""Which plugins are installed, by the metadata of their distributions alone: none of them is imported.

A distribution says in entry points what it offers: `sapwood.connectors` names its modules, `sapwood.api` the version of the
contract that it was written for, `sapwood.hosts` the hosts that it talks to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from sapwood.sdk import hooks
from sapwood.sdk.version import API_VERSION, fits

__all__ = [
    "API_GROUP",
    "HOSTS_GROUP",
    "PluginInfo",
    "first_package",
    "list_plugins",
    "plugins_fingerprint",
    "plugins_of",
]

API_GROUP, HOSTS_GROUP = "sapwood.api", "sapwood.hosts"


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """What the metadata of an installed plugin say.

    `api` is empty where it does not say; `problem` is empty for a plugin that may be loaded, else the
    reason and the command that mends it.
    """

    key: str
    module: str
    distribution: str
    version: str
    problem: str = ""
    title: str = ""
    api: str = ""
    hosts: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The module's package of the first level: finding it imports nothing."""
        return first_package(self.module)


def first_package(module: str) -> str:
    """Of `package.module:name` the package."""
    return module.partition(":")[0].partition(".")[0]


def list_plugins() -> list[PluginInfo]:
    """All installed plugins, sorted by key. What cannot be used is listed with a problem: two that claim one key, one that is there
    twice, whose files are missing, or that needs a newer Sapwood."""
    found: dict[tuple[str, str, str], PluginInfo] = {}
    for entry in metadata.entry_points(group=hooks.ENTRY_POINT_GROUP):
        if entry.dist is not None:
            info = _info(entry, entry.dist)
            found.setdefault((info.key, info.distribution, info.module), info)
    claims: dict[str, list[PluginInfo]] = defaultdict(list)
    for info in found.values():
        claims[info.key].append(info)
    return [info for _, infos in sorted(claims.items()) for info in _alone(infos)]


def plugins_of(folder: Path) -> list[PluginInfo]:
    """The plugins that are installed in one folder, such as that of a distribution that is only looked at."""
    return [
        _info(entry, found)
        for found in metadata.distributions(path=[str(folder)])
        for entry in found.entry_points.select(group=hooks.ENTRY_POINT_GROUP)
    ]


def plugins_fingerprint(plugins: Iterable[PluginInfo]) -> str:
    """Distributions and versions of installed plugins: another value means that other files may be readable."""
    return " ".join(sorted({f"{info.distribution}=={info.version}" for info in plugins}))


def _alone(infos: list[PluginInfo]) -> list[PluginInfo]:
    """The claims of one key; where there are several, each with a problem that names all."""
    if len(infos) == 1:
        return infos
    names = sorted(info.distribution for info in infos)
    problem = f"the key {infos[0].key!r} is claimed by {' and '.join(names)}. Keep one: sapwood connectors uninstall {names[-1]}."
    return [replace(info, problem=problem) for info in infos]


def _info(entry: metadata.EntryPoint, found: metadata.Distribution) -> PluginInfo:
    try:
        name, version, title = found.metadata["Name"], found.metadata["Version"], found.metadata["Summary"] or ""
    except (TypeError, KeyError):  # its metadata are gone
        name = version = title = ""
    declared = [point.name for point in found.entry_points.select(group=API_GROUP)]
    hosts = tuple(sorted(point.name for point in found.entry_points.select(group=HOSTS_GROUP)))
    info = PluginInfo(
        entry.name, entry.value, name or _folder_name(found), version or "unknown", "", title, declared[0] if declared else "", hosts
    )  # fmt: skip
    return replace(info, problem=_problem(info, whole=bool(name and version)))


def _folder_name(found: metadata.Distribution) -> str:
    """The name of a distribution whose metadata are gone, by its folder."""
    folder = getattr(found, "_path", None)
    return str(getattr(folder, "name", "unknown")).partition("-")[0] or "unknown"


def _problem(info: PluginInfo, *, whole: bool) -> str:
    remove = f"sapwood connectors uninstall {info.distribution}"
    again = f"Install it again, or remove what is left: {remove}."
    if not whole:
        return f"it is half uninstalled, its metadata are gone. {again}"
    versions = sorted({other.version for other in metadata.distributions(name=info.distribution)})
    if len(versions) > 1:
        return f"it is installed in the versions {' and '.join(versions)}. Remove both and install it again: {remove}."
    if not _is_there(info):
        return f"its files are missing. {again}"
    if info.api and not fits(info.api):
        return f"it needs plugin API {info.api}, this Sapwood has {API_VERSION}. Update Sapwood, or install an older version of it."
    return ""


def _is_there(info: PluginInfo) -> bool:
    """False where the module's file is missing."""
    try:
        return find_spec(info.package) is not None
    except (ImportError, ValueError):
        return False
