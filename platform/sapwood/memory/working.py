"""The slow work of a workspace."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date
from typing import Any

from sapwood.clock import from_ms, iso_z, now, now_ms
from sapwood.config import load_settings
from sapwood.errors import ConfigurationError, WorkspaceBusyError
from sapwood.memory.base import OpenWorkspace
from sapwood.store.database import Database

__all__ = ["Working"]

log = logging.getLogger(__name__)


class _DailyClock:
    """Puts in, once on each local day, what is due: days that are over and not told, leaves that have waited for long."""

    def __init__(self, memory: OpenWorkspace) -> None:
        self._memory = memory
        self._day: date | None = None

    def tick(self, wake: Callable[[], None] = lambda: None) -> bool:
        """Look at the calendar; always False: nobody is to stop for it."""
        today = now().astimezone(self._memory.zone).date()
        if today != self._day:
            from sapwood.pipeline.grow import due_jobs
            from sapwood.store.jobs import JobStore

            database = self._memory.database
            try:
                with database.transaction():
                    JobStore(database).enqueue(due_jobs(self._memory.workspace, database), now_ms())
            except WorkspaceBusyError as error:
                log.warning(
                    "the calendar was not looked at: %s", error
                )  # another program holds the database; next time
                return False
            self._day = today
            self._let_go()
            wake()
        return False

    def _let_go(self) -> None:
        """What was forgotten and kept for long enough goes for good; another day, when somebody writes just now."""
        from sapwood.forgetting.undoing import purge_due

        memory = self._memory
        if not (memory.workspace.root / "trash" / "forgotten").is_dir():
            return
        try:
            with memory.workspace.writer_lock(0):
                purge_due(memory.workspace, memory.database, memory.settings.forgotten_days)
        except WorkspaceBusyError as error:
            log.warning("what was forgotten is kept for another day: %s", error)


class Working(OpenWorkspace):
    """The part of `Memory` that does what was put off."""

    def jobs(
        self, status: str | None = None, limit: int = 100
    ) -> tuple[dict[str, dict[str, int]], list[dict[str, Any]]]:
        """How many jobs there are by kind and status, and the first of them: failed ones, running ones, then by time."""
        from sapwood.store.jobs import JobStore

        store = JobStore(self.database)
        return store.counts_by_kind(), [
            {
                "job_id": job.job_id, "kind": job.kind, "status": job.status, "attempts": job.attempts, "payload": job.payload,
                "due": iso_z(from_ms(job.available_at_ms)), "error": job.last_error,
            }
            for job in store.listed(status, limit)
        ]  # fmt: skip

    def retry_jobs(self, job_ids: list[str] | None = None) -> int:
        """Put failed jobs back, these or all; how many."""
        from sapwood.store.jobs import JobStore

        with self.database.transaction():
            return JobStore(self.database).revive(job_ids, now_ms())

    def drop_jobs(self, job_ids: list[str] | None = None) -> int:
        """Give failed jobs up, these or all; how many."""
        from sapwood.store.jobs import JobStore

        with self.database.transaction():
            return JobStore(self.database).drop(job_ids)

    def work(self, *, drain: bool, stopped: Callable[[], bool] = lambda: False) -> dict[str, dict[str, int]]:
        """Do jobs until none is left (`drain`) or `stopped` says so; how many are left, by kind and status.

        KeyboardInterrupt ends it too; running jobs are finished first.
        """
        from sapwood.jobs.workers import Workers
        from sapwood.pipeline.handlers import open_handlers
        from sapwood.store.jobs import JobStore
        from sapwood.trees.home import write_home
        from sapwood.trees.leftovers import remove_leftovers

        path = self.database.path
        clock = _DailyClock(self)
        clock.tick()
        with (
            open_handlers(self.workspace) as handlers,
            Workers(
                lambda: Database.open(path), self.workspace.owners, handlers.by_kind, handlers.lanes, handlers.on_idle
            ) as workers,
        ):
            if drain:
                workers.drain(stopped)
            else:
                workers.wait(lambda: stopped() or clock.tick(workers.wake))
        try:
            remove_leftovers(self.workspace, self.database)
            write_home(self.workspace, self.database)
        except WorkspaceBusyError as error:
            log.warning("the vault was not tidied: %s", error)
        return JobStore(self.database).counts_by_kind()

    def summarise_cost(self) -> dict[str, Any]:
        """What it would take to have all summaries told by the language model that wait for it: `summaries`, `tokens_read`,
        `tokens_written` (about), `cost` by the prices of the settings, and the `model`.

        Raises:
            ConfigurationError: there is no language model.
        """
        from sapwood.pipeline.retell import open_retelling, required_model
        from sapwood.store.summaries import SummaryStore
        from sapwood.trees.summarising import EXTRACTIVE

        settings = self.settings
        model = required_model(settings)
        told = open_retelling(self.workspace, self.database, model, settings)
        count = read = written = 0
        for summary in SummaryStore(self.database).to_retell(EXTRACTIVE):
            use = told.estimate(summary)
            count, read, written = count + 1, read + use.read, written + use.written
        cost = (read * settings.language_price_read + written * settings.language_price_written) / 1_000_000
        return {
            "summaries": count,
            "tokens_read": read,
            "tokens_written": written,
            "cost": round(cost, 4),
            "model": model.name,
        }

    def summarise_again(self, made_by: str) -> int:
        """Have summaries made anew by whom the settings name; how many.

        Args:
            made_by: `extractive`: those that stand by choice of sentences are told by the language model. `model`: those that a model
                told are made by choice of sentences first.

        Raises:
            ConfigurationError: `extractive`, and the settings name no model.
        """
        from sapwood.ingest.followup import resealing, retelling
        from sapwood.pipeline.retell import BY_MODEL, required_model
        from sapwood.store.jobs import JobStore
        from sapwood.store.summaries import SummaryStore
        from sapwood.trees.summarising import EXTRACTIVE

        store = SummaryStore(self.database)
        if made_by == EXTRACTIVE:
            required_model(self.settings)
            if self.settings.summariser != BY_MODEL:
                raise ConfigurationError(
                    'summariser = "extractive"', "asks no model", 'Set summariser = "model" in config.toml.'
                )
        with self.database.transaction():
            if made_by == EXTRACTIVE:
                count = store.ask_again(EXTRACTIVE)
                JobStore(self.database).drop_waiting("seal:retell")  # one that waits for another day is to begin now
                JobStore(self.database).enqueue([retelling()], now_ms())
            else:
                count = sum(store.tell_anew(name) for name in store.by_summariser() if name != EXTRACTIVE)
                JobStore(self.database).enqueue([resealing()], now_ms())
        return count

    def embed(self, model: str | None = None, *, retry_failed: bool = False) -> str:
        """Ask for vectors of all passages; the workers make them. The model's name.

        Args:
            model: choose another one: `offline`, `hashing`, `ollama:NAME`, `openai:NAME` or `none`. The vectors of the old one
                serve until the new one has all.
            retry_failed: try texts again that a model gave no vector for.

        Raises:
            ConfigurationError: there is no such model.
        """
        from sapwood.config import save_setting
        from sapwood.ingest.followup import embedding
        from sapwood.models.choice import check_name
        from sapwood.store.jobs import JobStore
        from sapwood.store.vectors import VectorStore

        if model is not None:
            check_name(model)
            self.workspace.create()
            save_setting(self.workspace.config_file, "embedding_model", model)
            self.settings = load_settings(self.workspace.config_file)
            if self.settings.embedding_model != model:
                raise ConfigurationError(
                    "SAPWOOD_EMBEDDING_MODEL", f"is set to {self.settings.embedding_model!r}, which goes before config.toml", "Unset it."
                )  # fmt: skip
        if retry_failed:
            vectors = VectorStore(self.database, self.workspace.embeddings)
            with vectors.attached() as there:
                if there:
                    vectors.forget_failures()
        with self.database.transaction():
            JobStore(self.database).enqueue([embedding()], now_ms())
        return self.settings.embedding_model

    def drop_vectors(self, model: str | None = None) -> int:
        """Remove the vectors of a model, by its name or signature, or with None all vectors there are; how many models.

        Vectors of the chosen model are then made anew by the workers.
        """
        from sapwood.store.vectors import VectorStore

        vectors = VectorStore(self.database, self.workspace.embeddings)
        if model is None:
            vectors.remove()
            self.embed()
            return 1
        with vectors.attached() as there:
            chosen = [m for m in vectors.models() if model in (m.name, m.signature)] if there else []
            for found in chosen:
                vectors.drop(found)
        self.embed()
        return len(chosen)

    def vector_models(self) -> list[dict[str, Any]]:
        """Each model with vectors: name, signature, how many it has, how many are to come or failed, and whether it is the chosen one."""
        from sapwood.bulk.work_health import vectors

        return [
            check.facts | {"detail": check.detail} for check in vectors(self.workspace, self.database, self.settings)
        ]
