"""Loading plugins: each import and every hook call has a guard of its own.

pluggy's own loader has no guard and drops duplicate names in silence, so each plugin gets a manager of its own here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pluggy

from sapwood.errors import PluginError
from sapwood.plugins.installed import PluginInfo, list_plugins
from sapwood.sdk import hooks

if TYPE_CHECKING:
    from sapwood.sdk.connector import ConnectorSpec

__all__ = ["LoadedPlugin", "connector_spec", "connectors_of", "load_plugin"]


class LoadedPlugin:
    """A plugin module behind a guard: every error of it becomes a `PluginError` that names it."""

    def __init__(self, info: PluginInfo, manager: pluggy.PluginManager) -> None:
        self.info = info
        self._manager = manager

    def call(self, hook: str, **arguments: Any) -> Any:
        """The result of a hook: a list for collecting hooks, a value or None for first-result hooks.

        Raises:
            PluginError: the implementation raised.
        """
        return self._guarded(hook, getattr(self._manager.hook, hook), **arguments)

    def _guarded(self, hook: str, function: Callable[..., Any], **arguments: Any) -> Any:
        try:
            return function(**arguments)
        except Exception as error:
            raise PluginError(
                f"the plugin {self.info.distribution} {self.info.version}",
                f"failed in its hook {hook} ({type(error).__name__}: {error})",
                f"Report this to its author, or remove it: sapwood connectors uninstall {self.info.distribution}.",
            ) from error

    def implementations(self, hook: str) -> list[tuple[int, Callable[..., Any]]]:
        """The module's implementations of a hook, guarded, each with its place: -1 for `tryfirst`, 1 for `trylast`, else 0.

        Every plugin has a manager of its own, so whoever calls a hook over several plugins sorts by this.
        """
        found = getattr(self._manager.hook, hook).get_hookimpls()
        return [
            (impl.trylast - impl.tryfirst, functools.partial(self._guarded, hook, functools.partial(_call, impl)))
            for impl in found
        ]


def _call(implementation: pluggy.HookImpl, **arguments: Any) -> Any:
    return implementation.function(*(arguments[name] for name in implementation.argnames))


@functools.cache
def load_plugin(info: PluginInfo) -> LoadedPlugin:
    """Import a plugin and check its hooks.

    Raises:
        PluginError: it is in conflict, cannot be imported, or its hooks do not fit the contract.
    """
    if info.problem:
        raise PluginError(f"the plugin key {info.key}", "cannot be used", info.problem)
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    try:
        module = import_module(info.module)
        manager.register(module, name=info.key)
        manager.check_pending()
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"the plugin {info.distribution} {info.version}",
            f"cannot be loaded ({type(error).__name__}: {error})",
            f"Update it or remove it: sapwood connectors uninstall {info.distribution}.",
        ) from error
    return LoadedPlugin(info, manager)


def connectors_of(plugin: LoadedPlugin) -> list[ConnectorSpec]:
    """The connectors that a plugin offers.

    Raises:
        PluginError: it offers something else, or the same key twice.
    """
    from sapwood.sdk.connector import ConnectorSpec

    found: dict[str, ConnectorSpec] = {}
    for offered in plugin.call("connectors"):
        if not isinstance(offered, list | tuple):
            raise _contract(plugin, f"its hook connectors gives {type(offered).__name__} where a list belongs")
        for spec in offered:
            if not isinstance(spec, ConnectorSpec):
                raise _contract(plugin, f"offers {type(spec).__name__} where a ConnectorSpec belongs")
            if spec.key in found:
                raise _contract(plugin, f"offers the connector {spec.key!r} twice")
            found[spec.key] = spec
    return list(found.values())


def connector_spec(key: str, plugins: list[PluginInfo] | None = None) -> ConnectorSpec:
    """The connector with this key, among these plugins or all that are installed.

    Raises:
        PluginError: no plugin offers it, or the one that does is broken or needs a newer Sapwood.
    """
    from sapwood.sdk.version import API_VERSION, fits

    plugins = list_plugins() if plugins is None else plugins
    candidates = [info for info in plugins if info.key == key]
    if not candidates:
        known = ", ".join(info.key for info in plugins) or "none"
        raise PluginError(
            f"the connector {key}", f"is not installed (installed: {known})", f"Install it: sapwood connectors install {key}."
        )  # fmt: skip
    plugin = load_plugin(candidates[0])
    spec = next((spec for spec in connectors_of(plugin) if spec.key == key), None)
    if spec is None:
        raise _contract(plugin, f"offers no connector with the key {key!r}")
    if not fits(spec.api):
        raise PluginError(
            f"the connector {key}", f"needs plugin API {spec.api}, this Sapwood has {API_VERSION}", "Update Sapwood."
        )
    return spec


def _contract(plugin: LoadedPlugin, cause: str) -> PluginError:
    return PluginError(
        f"the plugin {plugin.info.distribution} {plugin.info.version}", cause, "Report this to its author."
    )
