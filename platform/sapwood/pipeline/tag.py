"""`tag_notes`: the entities of chunks into their notes, some hundred at a time."""

from __future__ import annotations

from sapwood.clock import now_ms
from sapwood.errors import WorkspaceBusyError
from sapwood.ingest.followup import tagging
from sapwood.ingest.tagging import tag_notes
from sapwood.jobs.outcome import Defer, Done, Outcome
from sapwood.store.database import Database
from sapwood.store.jobs import JobRow, JobStore
from sapwood.workspace import Workspace

__all__ = ["NoteTagger"]

_BUSY_MS = 5_000


class NoteTagger:
    """The handler. An import or a person's command that writes to the vault goes first."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, job: JobRow, database: Database) -> Outcome:
        """Tag one batch; the next one is put in with this one's end."""
        try:
            with self._workspace.writer_lock(0.0):
                more = tag_notes(self._workspace, database)
        except WorkspaceBusyError as error:
            return Defer(now_ms() + _BUSY_MS, str(error))
        return Done(lambda: JobStore(database).enqueue([tagging()], now_ms())) if more else Done()
