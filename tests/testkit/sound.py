"""Specs of the sound connectors of `notes`."""

from __future__ import annotations

from tests.testkit.notes import Changes, Listed, spec_of

from sapwood.sdk import ConnectorSpec


def changes() -> ConnectorSpec:
    """The one that asks for changes."""
    return spec_of(Changes)


def listed() -> ConnectorSpec:
    """The one that lists all."""
    return spec_of(Listed)
