"""What a person has chosen about plugins: which are not to be used, and which are to come back after an upgrade of Sapwood.

Both lie in `plugins/` of the workspace, beside copies of the wheels that were installed from a file or a folder.
"""

from __future__ import annotations

import json
import shutil
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlparse

from sapwood.errors import PluginError
from sapwood.plugins.installed import PluginInfo, list_plugins
from sapwood.workspace import FILE_MODE, Workspace, make_folder, write_atomically, writing

__all__ = ["disabled", "freeze", "frozen", "keep_wheel", "require_enabled", "set_disabled"]

_FROZEN, _DISABLED = "frozen.txt", "disabled.txt"
_HEAD = "# Plugins of this workspace; `sapwood connectors restore` installs them again.\n"


def disabled(workspace: Workspace) -> set[str]:
    """Keys of the plugins that are not to be used."""
    return set(_lines(workspace.plugins / _DISABLED))


def set_disabled(workspace: Workspace, key: str, *, to: bool) -> None:
    """Use a plugin no more, or again.

    Raises:
        WorkspaceError: the disk refuses.
    """
    keys = disabled(workspace) | {key} if to else disabled(workspace) - {key}
    write_atomically(workspace.plugins / _DISABLED, "".join(f"{name}\n" for name in sorted(keys)))


def require_enabled(workspace: Workspace, key: str) -> None:
    """Go on only with a connector that a person has not switched off.

    Raises:
        PluginError: they have.
    """
    if key in disabled(workspace):
        raise PluginError(f"the connector {key}", "is disabled", f"Switch it on: sapwood connectors enable {key}.")


def keep_wheel(workspace: Workspace, wheel: Path) -> Path:
    """A copy that stays when the original goes; older versions of the same distribution leave.

    Raises:
        WorkspaceError: the disk refuses.
    """
    with writing(workspace.plugins):
        make_folder(str(workspace.plugins))
        copy = workspace.plugins / wheel.name
        if wheel.resolve() != copy.resolve():
            shutil.copyfile(wheel, copy)
            copy.chmod(FILE_MODE)
        for other in workspace.plugins.glob(f"{wheel.name.split('-')[0]}-*.whl"):
            if other != copy:
                other.unlink()
    return copy


def freeze(workspace: Workspace, plugins: list[PluginInfo] | None = None) -> list[str]:
    """Write down the distributions of all plugins, each as a requirement that gives the same version again, and return them.

    Raises:
        WorkspaceError: the disk refuses.
    """
    plugins = list_plugins() if plugins is None else plugins
    lines = [_requirement(workspace, name) for name in sorted({info.distribution for info in plugins})]
    kept = [line for line in lines if line]
    write_atomically(workspace.plugins / _FROZEN, _HEAD + "".join(f"{line}\n" for line in kept))
    return kept


def frozen(workspace: Workspace, file: Path | None = None) -> list[tuple[str, str]]:
    """`(distribution, requirement)` of what was written down, here or in a file that is named.

    Raises:
        PluginError: nothing was.
    """
    place = file or workspace.plugins / _FROZEN
    if not place.is_file():
        raise PluginError(
            str(place), "is not there", "`sapwood connectors freeze` writes it, and so does every install."
        )
    found: list[tuple[str, str]] = []
    for line in _lines(place):
        name, at, address = line.partition(" @ ")
        found.append((name, address) if at else (line.partition("==")[0], line))
    return found


def _requirement(workspace: Workspace, name: str) -> str:
    """Empty for one that is only half there."""
    try:
        distribution = metadata.distribution(name)
        version = distribution.version
    except (metadata.PackageNotFoundError, TypeError, KeyError):
        return ""
    wheel = next(workspace.plugins.glob(f"{name.replace('-', '_').replace('.', '_').lower()}-{version}-*.whl"), None)
    if wheel is not None:
        return f"{name} @ {wheel}"
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        origin = {}
    if vcs := origin.get("vcs_info"):
        return f"{name} @ {vcs['vcs']}+{origin['url']}@{vcs['commit_id']}"
    if str(origin.get("url", "")).startswith("file://"):
        path = unquote(urlparse(origin["url"]).path)
        return f"{name} @ {path}" if Path(path).exists() else f"{name}=={version}"
    return f"{name}=={version}"


def _lines(file: Path) -> list[str]:
    try:
        return [
            line.strip()
            for line in file.read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.startswith("#")
        ]
    except (OSError, UnicodeDecodeError):
        return []
