"""How far each connection is: what came, when, what of it can be found, and what is still to be done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sapwood.clock import from_ms, iso_z, now_ms
from sapwood.config import Settings
from sapwood.models.choice import NO_MODEL
from sapwood.store.connections import ConnectionStore, Progress
from sapwood.store.database import Database
from sapwood.store.vectors import VectorStore
from sapwood.workspace import Workspace

__all__ = ["SyncStatus", "sync_status"]

_ACTIVE_MS, _RECENT_MS = 30_000, 300_000


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """One connection. Times are RFC 3339 or None; `freshness` is by when something was stored: active (within 30 s), recent (5 min), idle.

    `searchable` counts passages that can be found by their words; `without_vector` those that cannot be found by meaning yet, None when
    vectors are off; `wave` is what came together last: chunks, and how many of them have been examined.
    """

    connector: str
    account: str
    name: str
    items: int
    chunks: int
    pending: int
    dropped: int
    passages: int
    searchable: int
    without_vector: int | None
    failed: int
    skipped: int
    freshness: str
    last_stored: str | None
    last_attempt: str | None
    last_success: str | None
    status: str
    message: str
    wave: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


def sync_status(workspace: Workspace, database: Database, settings: Settings) -> list[SyncStatus]:
    """All connections, the one that stored something last first."""
    store = ConnectionStore(database)
    missing = _without_vector(workspace, database, settings)
    rows = [(connection, store.progress(connection[0])) for connection in store.all()]
    rows.sort(key=lambda row: (-(row[1].last_stored_ms or 0), row[0][1:]))
    return [_row(store, connection, progress, missing) for connection, progress in rows]


def _row(
    store: ConnectionStore, connection: tuple[int, str, str, str], p: Progress, missing: dict[int, int] | None
) -> SyncStatus:
    number, connector, account, name = connection
    run = store.last_run(number)
    return SyncStatus(
        connector, account, name, p.items, p.chunks, p.pending, p.dropped, p.passages, p.searchable, None if missing is None else missing.get(number, 0),
        p.failed, p.skipped, _freshness(p.last_stored_ms), _iso(p.last_stored_ms), _iso(run[1]) if run else None, _iso(store.last_success(number)),
        run[0] if run else "never", run[4] if run else "", {"total": p.wave_total, "examined": p.wave_examined},
    )  # fmt: skip


def _without_vector(workspace: Workspace, database: Database, settings: Settings) -> dict[int, int] | None:
    if settings.embedding_model == NO_MODEL:
        return None
    vectors = VectorStore(database, workspace.embeddings)
    with vectors.attached() as there:
        models = [m for m in vectors.models() if m.name == settings.embedding_model] if there else []
        return vectors.missing_by_connection(models[-1] if models else None)


def _freshness(stored_ms: int | None) -> str:
    if stored_ms is None:
        return "idle"
    age = now_ms() - stored_ms
    return "active" if age <= _ACTIVE_MS else "recent" if age <= _RECENT_MS else "idle"


def _iso(moment_ms: int | None) -> str | None:
    return iso_z(from_ms(moment_ms)) if moment_ms is not None else None
