"""The program that loads one plugin, named by its argument, and says in JSON what it offers. Whatever it does, only this ends."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from typing import Any

_MEMORY = 2 << 30
_CPU_SECONDS = 30


def main() -> None:
    """Write one JSON object to the first descriptor; what the plugin prints goes to stderr."""
    outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    from sapwood.errors import PluginError
    from sapwood.plugins.installed import list_plugins
    from sapwood.plugins.loader import connectors_of, load_plugin

    key, distribution = sys.argv[1:3]
    info = next(p for p in list_plugins() if (p.key, p.distribution) == (key, distribution))
    began = time.perf_counter()
    try:
        plugin = load_plugin(info)
        specs = connectors_of(plugin)
        seconds = time.perf_counter() - began
        told: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "reads_files": bool(plugin.implementations("convert")),
            "connectors": [_described(spec) for spec in specs],
        }
    except PluginError as error:
        told = {"problem": error.cause}
    json.dump(told, outgoing, ensure_ascii=False)
    outgoing.flush()
    os._exit(0)  # a thread that it has left behind holds nothing up


def _described(spec: Any) -> dict[str, Any]:
    """What a person and a form need to know of a connector."""
    try:
        hosts = list(spec.hosts(spec.config_model.model_construct()))  # with the defaults alone
    except Exception:
        hosts = None  # they depend on what is configured
    return {
        "key": spec.key, "title": spec.title, "api": spec.api, "capabilities": sorted(spec.capabilities), "interval_seconds": spec.default_interval.total_seconds(),
        "docs_url": spec.docs_url, "hosts": hosts, "schema": spec.config_model.model_json_schema(),
    }  # fmt: skip


if __name__ == "__main__":
    main()
