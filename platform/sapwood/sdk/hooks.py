"""The hooks that a plugin may implement. Mark each implementation with `@hookimpl`.

A later version may add arguments: an implementation takes those that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from sapwood.sdk.connector import ConnectorSpec
    from sapwood.sdk.convert import Converted, ConvertFile

PROJECT = "sapwood"
ENTRY_POINT_GROUP = "sapwood.connectors"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def connectors() -> list[ConnectorSpec]:  # type: ignore[empty-body]
    """What this distribution offers."""


@hookspec(firstresult=True)
def convert(file: ConvertFile) -> Converted | None:
    """Turn a file into segments of Markdown; None when this plugin does not read such files.

    Runs in a worker process with limits on time and memory. Raises `ConvertError` for a file that it should read but
    cannot.
    """


@hookspec
def sync_finished(report: dict[str, Any]) -> None:
    """A run has ended; `report` is what `sapwood import --json` prints. For notifications; errors are logged only."""
