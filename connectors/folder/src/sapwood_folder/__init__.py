"""Sapwood connector for local folders of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sapwood.sdk import hookimpl

if TYPE_CHECKING:
    from sapwood.sdk import ConnectorSpec


@hookimpl
def connectors() -> list[ConnectorSpec]:
    """The one connector of this distribution."""
    from sapwood_folder.connector import SPEC

    return [SPEC]
