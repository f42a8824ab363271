"""The program of a connector's process: loads the plugin that its argument names, runs one action, speaks JSON lines.

File descriptor 1 is moved away at once, so that prints of a plugin or of a library land on stderr and cannot break
the protocol.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from sapwood.clock import zone
from sapwood.errors import PluginError
from sapwood.plugins.context import ChildContext, Link
from sapwood.plugins.converting import ConverterPool
from sapwood.plugins.forms import validated
from sapwood.plugins.installed import PluginInfo, list_plugins, plugins_fingerprint
from sapwood.plugins.limited_pool import die_with_parent, limit_memory
from sapwood.plugins.loader import connector_spec
from sapwood.plugins.network import HostGuard
from sapwood.plugins.pulling import pulled
from sapwood.sdk.connector import ConnectorSpec, PullRequest
from sapwood.sdk.errors import ConnectorError
from sapwood.sdk.events import Seen, SeenMany, event_to_json

_SEEN_BATCH = 5000
# Listings make hundreds of thousands of small lasting objects and no cycles; the default of 700 looks at them over and over.
_COLLECT_AFTER = 100_000


def main() -> None:
    """Read the start message, act, report, exit."""
    die_with_parent()
    os.umask(0o077)  # what is unpacked is as private as where it comes from
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
    outgoing = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    link = Link(sys.stdin.buffer, outgoing)
    plugins = list_plugins()
    found = _find(sys.argv[1], plugins)
    link.send({"plugins": plugins_fingerprint(plugins)})
    start = link.start()
    limit_memory(start["own_memory_bytes"])
    pool = ConverterPool(start["workers"], start["memory_bytes"], zone(start["timezone"]), tuple(start["left_out"]))
    try:
        with tempfile.TemporaryDirectory(dir=start["tmp"], prefix="run-") as tmp:
            link.send({"result": _act(link, found, start, Path(tmp), pool)})
    except ConnectorError as error:
        link.send({"error": _describe(error)})
    except PluginError as error:
        link.send(
            {"error": {"type": "PluginError", "message": f"{error.subject}: {error.cause}.", "hint": error.next_step}}
        )
    except BrokenPipeError:
        os._exit(1)  # the parent is gone; nothing can be told to anyone
    except BaseException as error:
        import traceback

        link.send(
            {
                "error": {
                    "type": "crash",
                    "message": f"{type(error).__name__}: {error}",
                    "traceback": traceback.format_exc()[-8000:],
                }
            }
        )
    finally:
        pool.close()
    outgoing.flush()
    os._exit(0)  # threads and atexit hooks of libraries must not hold up the end of a run


def _find(key: str, plugins: list[PluginInfo]) -> ConnectorSpec | BaseException:
    """The connector, or what is wrong with it, which is told once the host has sent its first message."""
    try:
        return connector_spec(key, plugins)
    except BaseException as error:
        return error


def _act(
    link: Link, spec: ConnectorSpec | BaseException, start: dict[str, Any], tmp: Path, pool: ConverterPool
) -> dict[str, Any]:
    if isinstance(spec, BaseException):
        raise spec
    config = validated(spec, start["config"])
    guard = HostGuard(spec.hosts(config))
    guard.watch_sockets()
    context = ChildContext(
        link, account=start["account"], zone=zone(start["timezone"]), tmp=tmp, guard=guard, pool=pool
    )
    connector = spec.factory(config)
    if start["action"] == "check":
        report = connector.check(context)
        return {"account": report.account, "title": report.title, "notes": list(report.notes)}
    seen: list[str] = []
    scope = ""

    def flush() -> None:
        if seen:
            link.send(event_to_json(SeenMany(scope, tuple(seen))))
            seen.clear()

    for event in pulled(spec, connector, context, PullRequest.from_json(start["request"])):
        if isinstance(event, Seen) and event.fingerprint is None:
            if event.scope != scope or len(seen) >= _SEEN_BATCH:
                flush()
                scope = event.scope
            seen.append(event.item_id)
            continue
        flush()
        if isinstance(event, SeenMany):  # a line has a limit
            for at in range(0, len(event.item_ids), _SEEN_BATCH):
                link.send(event_to_json(SeenMany(event.scope, event.item_ids[at : at + _SEEN_BATCH])))
            continue
        link.send(event_to_json(event))
    flush()
    return {"cancelled": context.cancelled()}


def _describe(error: ConnectorError) -> dict[str, Any]:
    data: dict[str, Any] = {"type": type(error).__name__, "message": error.message, "hint": error.hint}
    for name in ("kind", "field", "retry_after", "bucket", "scope", "item_id"):
        if hasattr(error, name):
            data[name] = getattr(error, name)
    return data


if __name__ == "__main__":
    main()
