"""The host of a connector that only reads: for checks and previews."""

from __future__ import annotations

from typing import Any

from sapwood.credentials import resolve
from sapwood.store.connections import ConnectionStore


class ReadingHost:
    """Answers a connector from what is stored of a connection, if anything is; see `plugins.process.HostServices`."""

    def __init__(self, store: ConnectionStore | None = None, connection_id: int | None = None) -> None:
        self._store = store
        self._id = connection_id

    def known_page(self, after: int) -> tuple[str, int | None]:
        """Stored items, skips and failures."""
        return self._store.known_page(self._id, after) if self._store and self._id is not None else ("[]", None)

    def known_item(self, item_id: str) -> tuple[Any, ...] | None:
        """One row."""
        return self._store.known_item(self._id, item_id) if self._store and self._id is not None else None

    def kv_get(self, key: str) -> Any:
        """A committed value of the connection."""
        return self._store.kv_get(self._id, key) if self._store and self._id is not None else None

    def secret(self, reference: str) -> str:
        """The secret behind a reference."""
        return resolve(reference)
