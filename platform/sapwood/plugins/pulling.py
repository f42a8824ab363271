"""What every host does around a connector's `pull`, in a process of its own, in this one, and in tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sapwood.sdk.connector import Connector, ConnectorSpec, PullRequest, RunContext
from sapwood.sdk.errors import ConfigError
from sapwood.sdk.events import Checkpoint, Event, event_from_json, event_to_json

__all__ = ["pulled", "received"]


def pulled(spec: ConnectorSpec, connector: Connector, context: RunContext, request: PullRequest) -> Iterator[Event]:
    """The events of a pull. The connector gets its checkpoint in its present form, by its own `upgrade` where an older version of it has
    written it; checkpoints that it yields bear the version that wrote them.

    Raises:
        ConfigError: the connector does not know the checkpoint's version; nothing is started from zero without a word.
    """
    for event in connector.pull(context, replace(request, checkpoint=_upgraded(spec, request.checkpoint))):
        if isinstance(event, Checkpoint) and "schema_version" not in event.state:
            yield Checkpoint({"schema_version": spec.checkpoint_model.present_version(), **event.state})
        else:
            yield event


def received(event: Event) -> Event:
    """An event as it arrives from another process, for a host that has the connector in its own."""
    return event_from_json(json.loads(json.dumps(event_to_json(event))))


def _upgraded(spec: ConnectorSpec, state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if state is None or state.get("schema_version", 1) == spec.checkpoint_model.present_version():
        return state
    try:
        return dict(spec.checkpoint_model.upgrade(dict(state)))
    except ValueError as error:
        raise ConfigError(f"{spec.key}: {error}", field="checkpoint") from error
