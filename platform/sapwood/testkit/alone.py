"""Runs in processes of their own: `python -m sapwood.testkit.alone`, asked on stdin and answered on stdout in lines of JSON.

`factory` names a function `module:name` that gives the connector's spec, for those that no installed plugin offers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from sapwood.plugins.loader import connector_spec
from sapwood.plugins.network import HostGuard
from sapwood.sdk.connector import ConnectorSpec
from sapwood.testkit.host import MemoryHost

__all__ = ["find_spec", "main"]


def find_spec(key: str, factory: str) -> ConnectorSpec:
    """The spec that a function gives, or that of the installed plugin with this key."""
    if not factory:
        return connector_spec(key)
    module, _, name = factory.partition(":")
    found = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    spec = found() if callable(found) else found
    assert isinstance(spec, ConnectorSpec), f"{factory} gives no ConnectorSpec"
    return spec


class _Noting(HostGuard):
    """Remembers whom it refuses."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        super().__init__(hosts)
        self.refused: list[str] = []

    def require(self, host: str) -> None:
        if not self.allows(host):
            self.refused.append(host)
        super().require(host)


def main() -> None:
    """Answer questions, one line each; every run is made in a fork of this process, which has loaded what it needs."""
    for line in sys.stdin.buffer:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            os.dup2(2, 1)  # what a connector prints is no answer
            with os.fdopen(writing, "wb") as stream:
                stream.write(json.dumps(_answer(json.loads(line))).encode("utf-8"))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            answer = stream.read()
        os.waitpid(child, 0)
        sys.stdout.buffer.write((answer or b'{"error": "its process ended without a word"}') + b"\n")
        sys.stdout.buffer.flush()


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    os.environ.update(asked["environment"])
    answer: dict[str, Any] = {"texts": [], "times": [], "refused": []}
    try:
        spec = find_spec(asked["key"], asked["factory"])
        guard = _Noting(spec.hosts(spec.config_model.model_validate(asked["config"])))
        guard.watch_sockets()
        for zone in asked["zones"]:
            os.environ["TZ"] = zone
            time.tzset()
            host = MemoryHost(spec, asked["config"], Path(asked["tmp"]))
            try:
                host.run()
            except Exception:
                if not guard.refused:
                    raise
            answer["texts"] += host.markdown().values()
            answer["times"].append({i: _iso(item.metadata.timestamp) for i, item in sorted(host.items.items())})
        answer["refused"] = sorted(set(guard.refused))
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return answer


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


if __name__ == "__main__":
    main()
