"""What a connector raises, grouped by what the host then does.

    ConnectorError
    ├── AuthError        back off; pause after three in a row
    ├── ConfigError      pause at once
    ├── RateLimited      the run is deferred to the time that it names
    ├── TransientError   exponential back-off, never paused
    ├── CursorExpired    that scope is listed anew in the same run
    ├── BadItem          the item is quarantined, the run goes on
    ├── ListError        the run goes on, that scope is not swept
    ├── Unsupported      the connector does not offer what was asked
    └── Cancelled        the host asked to stop; resumable

Anything else counts as a crash of the connector.
"""

from __future__ import annotations

__all__ = [
    "AuthError",
    "BadItem",
    "Cancelled",
    "ConfigError",
    "ConnectorError",
    "CursorExpired",
    "ListError",
    "RateLimited",
    "TransientError",
    "Unsupported",
]


class ConnectorError(Exception):
    """Base of all errors that a connector tells its host about.

    Args:
        message: object and cause in the vendor's terms, no secret in it.
        hint: what the user does next.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message.rstrip('.')}. {hint}" if hint else message)


class AuthError(ConnectorError):
    """The vendor refuses the credential.

    Args:
        kind: `invalid`, `expired`, `revoked`, `missing_scope` or `needs_admin`.
    """

    KINDS = ("invalid", "expired", "revoked", "missing_scope", "needs_admin")

    def __init__(self, message: str, *, kind: str = "invalid", hint: str = "") -> None:
        if kind not in self.KINDS:
            raise ValueError(f"AuthError kind {kind!r} is not one of {', '.join(self.KINDS)}")
        self.kind = kind
        super().__init__(message, hint=hint)


class ConfigError(ConnectorError):
    """A field of the connection's configuration is wrong. `field` names it."""

    def __init__(self, message: str, *, field: str = "", hint: str = "") -> None:
        self.field = field
        super().__init__(message, hint=hint)


class RateLimited(ConnectorError):
    """The vendor asks to wait `retry_after` seconds; `bucket` names what is limited."""

    def __init__(self, message: str, *, retry_after: float, bucket: str = "", hint: str = "") -> None:
        if not retry_after >= 0:
            raise ValueError(f"retry_after must be 0 or more seconds, not {retry_after}")
        self.retry_after = retry_after
        self.bucket = bucket
        super().__init__(message, hint=hint)


class TransientError(ConnectorError):
    """A network or server error that may be gone on the next run."""


class CursorExpired(ConnectorError):
    """The vendor no longer knows the cursor of `scope`: that scope must be listed anew."""

    def __init__(self, scope: str, message: str = "", *, hint: str = "") -> None:
        self.scope = scope
        super().__init__(message or f"The cursor of {scope} has expired.", hint=hint)


class BadItem(ConnectorError):
    """One item cannot be read; the run goes on without it."""

    def __init__(self, item_id: str, message: str, *, hint: str = "") -> None:
        self.item_id = item_id
        super().__init__(message, hint=hint)


class ListError(ConnectorError):
    """The listing of `scope` is not whole, so nothing of that scope may be taken for deleted."""

    def __init__(self, scope: str, message: str, *, hint: str = "") -> None:
        self.scope = scope
        super().__init__(message, hint=hint)


class Unsupported(ConnectorError):
    """The connector does not offer what was asked."""


class Cancelled(ConnectorError):
    """The host asked the run to stop."""

    def __init__(self, message: str = "The run was cancelled.") -> None:
        super().__init__(message)
