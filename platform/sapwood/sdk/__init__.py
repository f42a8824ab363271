"""What a plugin author imports. It depends on nothing else of Sapwood.

A plugin is a module, found by the entry-point group `sapwood.connectors`, with functions marked `@hookimpl`. See
`hooks.py` for what they return, `sources.py` for the object that a connector emits, and `events.py` for everything
that it may yield.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood.sdk.canonicalise import (
    DocumentSection,
    MailMessage,
    Message,
    canonicalise_chat,
    canonicalise_document,
    canonicalise_email,
    mail_segments,
)
from sapwood.sdk.connector import (
    API_VERSION,
    Capability,
    CheckReport,
    Connector,
    ConnectorSpec,
    KnownItem,
    PullMode,
    PullRequest,
    RunContext,
)
from sapwood.sdk.convert import Converted, ConvertError, ConvertFile, ConvertLimits, Member
from sapwood.sdk.dates import aware, date_in_name, parse_date
from sapwood.sdk.encoding import decode_text
from sapwood.sdk.errors import (
    AuthError,
    BadItem,
    Cancelled,
    ConfigError,
    ConnectorError,
    CursorExpired,
    ListError,
    RateLimited,
    TransientError,
    Unsupported,
)
from sapwood.sdk.events import (
    Checkpoint,
    Event,
    Failed,
    ItemError,
    Progress,
    Removed,
    RemovedReason,
    RemovedScope,
    ScopeComplete,
    Seen,
    SeenMany,
    Skipped,
)
from sapwood.sdk.hooks import hookimpl
from sapwood.sdk.sources import (
    Acl,
    Attachment,
    CanonicalisedSource,
    Container,
    DateSource,
    Fingerprint,
    Kind,
    Metadata,
    Person,
    Segment,
)

if TYPE_CHECKING:
    from sapwood.sdk.models import CheckpointModel, ConnectorConfig, SecretReference

__all__ = [
    "API_VERSION",
    "Acl",
    "Attachment",
    "AuthError",
    "BadItem",
    "Cancelled",
    "CanonicalisedSource",
    "Capability",
    "CheckReport",
    "Checkpoint",
    "CheckpointModel",
    "ConfigError",
    "Connector",
    "ConnectorConfig",
    "ConnectorError",
    "ConnectorSpec",
    "Container",
    "ConvertError",
    "ConvertFile",
    "ConvertLimits",
    "Converted",
    "CursorExpired",
    "DateSource",
    "DocumentSection",
    "Event",
    "Failed",
    "Fingerprint",
    "ItemError",
    "Kind",
    "KnownItem",
    "ListError",
    "MailMessage",
    "Member",
    "Message",
    "Metadata",
    "Person",
    "Progress",
    "PullMode",
    "PullRequest",
    "RateLimited",
    "Removed",
    "RemovedReason",
    "RemovedScope",
    "RunContext",
    "ScopeComplete",
    "SecretReference",
    "Seen",
    "SeenMany",
    "Segment",
    "Skipped",
    "TransientError",
    "Unsupported",
    "aware",
    "canonicalise_chat",
    "canonicalise_document",
    "canonicalise_email",
    "date_in_name",
    "decode_text",
    "hookimpl",
    "mail_segments",
    "parse_date",
]

_PYDANTIC = {"ConnectorConfig", "CheckpointModel", "SecretReference"}


def __getattr__(name: str) -> Any:
    """The pydantic models load on first use: converters and listings do not need pydantic."""
    if name in _PYDANTIC:
        from sapwood.sdk import models

        return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
