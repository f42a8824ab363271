"""`Memory`: everything that the faces may ask of a workspace, in one typed place."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict
from datetime import datetime, tzinfo
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sapwood.checks import Check, Report
from sapwood.clock import from_ms, iso_z, now, now_ms, zone
from sapwood.config import Settings, load_settings
from sapwood.errors import ConfigurationError, DamagedStoreError, NotFoundError, WorkspaceBusyError, WorkspaceError
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.store.items import ItemStore
from sapwood.text.redact import Redaction
from sapwood.vault.manifest import manifest_files
from sapwood.workspace import Workspace

if TYPE_CHECKING:
    from sapwood.bulk.backup import BackupReport
    from sapwood.bulk.importing import ImportOptions, ImportReport
    from sapwood.ingest.edits import VaultChanges
    from sapwood.recall.hits import QueryResponse, RetrievalHit
    from sapwood.recall.vector_leg import VectorLeg
    from sapwood.sync.run import Observer, Run

__all__ = ["Check", "Memory", "Report"]


class Memory:
    """An open workspace. Use as a context manager.

    Args:
        workspace: its folder; None for `$SAPWOOD_WORKSPACE` or `~/.sapwood`.
        create: make it when it is not there; otherwise a missing workspace is an error.

    Raises:
        WorkspaceError, ConfigurationError, StoreError: it cannot be used.
    """

    def __init__(self, workspace: Path | None = None, *, create: bool = False) -> None:
        self.workspace = Workspace.locate(workspace)
        if self.workspace.root.exists() and not self.workspace.root.is_dir():
            raise WorkspaceError(
                f"the workspace {self.workspace.root}",
                "is a file where a folder is needed",
                "Choose another place with --workspace.",
            )
        if not create and not self.workspace.exists:
            raise WorkspaceError(
                f"the workspace {self.workspace.root}",
                "does not exist",
                "Import something first: sapwood import FOLDER, or name another with --workspace.",
            )
        self.settings: Settings = load_settings(self.workspace.config_file)
        self.zone: tzinfo = zone(self.settings.timezone)
        self._database: Database | None = None
        self._leg: VectorLeg | None = None

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        if self._leg is not None:
            self._leg.close()
            self._leg = None
        if self._database is not None:
            self._database.close()
            self._database = None

    @property
    def database(self) -> Database:
        """The open database; made and migrated when the workspace is new.

        Raises:
            DamagedStoreError: it is missing or empty although the vault holds items: to go on would answer that nothing
                is known.
        """
        if self._database is None:
            path = self.workspace.database
            held = path.stat().st_size if path.exists() else 0
            if not held and next(manifest_files(self.workspace.vault), None) is not None:
                raise DamagedStoreError(
                    str(path),
                    f"is {'empty' if path.exists() else 'missing'} although the vault holds items",
                    "Run `sapwood rebuild`: the vault holds all that is needed.",
                )
            self._open()
        assert self._database is not None
        return self._database

    def _open(self) -> Database:
        if not self.workspace.database.exists():
            self.workspace.create()
        try:
            self._database = Database.open(self.workspace.database)
        except WorkspaceError:
            if not self.workspace.database.exists():
                raise
            self._database = Database.open(self.workspace.database, readonly=True)  # a disk that can only be read
        return self._database

    # -- taking in ------------------------------------------------------------------------------------------------

    def import_paths(
        self,
        paths: Iterable[Path],
        options: ImportOptions,
        *,
        observer: Observer | None = None,
        started: Callable[[Run], None] = lambda run: None,
        stopped: Callable[[], bool] = lambda: False,
        on_wait: Callable[[], None] | None = None,
        list_unchanged: bool = True,
    ) -> ImportReport:
        """Import folders and files; what has not changed costs one stat.

        Args:
            paths: folders or files.
            options: patterns, passwords, confirmations.
            observer: watches the progress.
            started: told of each run, to be able to cancel it.
            stopped: asked between two runs.
            on_wait: called once when another process holds the workspace.
            list_unchanged: name unchanged files even when nothing else happened; they are always counted.

        Raises:
            ConfigurationError, WorkspaceError, PluginError: it could not run.
        """
        from sapwood.bulk.importing import ImportReport, add_run, add_waiting, import_path, overlaps, report_note
        from sapwood.ingest.edits import recover
        from sapwood.vault.files import write_atomically
        from sapwood.vault.paths import REPORTS

        began = time.monotonic()
        report = ImportReport()
        chosen = list(paths)
        with self.workspace.writer_lock(self.settings.lock_wait_seconds, on_wait):
            recover(self.workspace, self.database)
            waited = {chunk_id for chunk_id, *_ in ItemStore(self.database).conflicts()}

            def look_at_vault() -> Iterator[None]:
                if not report.vault:
                    report.vault = asdict((yield from self._scanning()))

            for path in chosen:
                if stopped():
                    break
                run = import_path(
                    self.workspace, self.database, self.settings, self.zone, path, options, observer, started,
                    look_at_vault(),
                )  # fmt: skip
                add_run(report, run, self.database, list_unchanged=list_unchanged)
                report.messages += overlaps(self.workspace, path)
            add_waiting(report, self.database, waited)
            self.workspace.clear_tmp()  # the connector's process may end before it has cleared its folder
            report.seconds = time.monotonic() - began
            when = iso_z(now())
            report.note = self._fresh_note(f"wiki/{REPORTS}/import-{when.replace(':', '')}")
            redaction = Redaction(self.settings.redact_personal)
            write_atomically(
                self.workspace.root / report.note, report_note(report, [str(p) for p in chosen], redaction, when)
            )
        return report

    def preview_import(self, paths: Iterable[Path], options: ImportOptions) -> ImportReport:
        """What an import would do; writes nothing."""
        from sapwood.bulk.preview import preview

        return preview(self.workspace, self.settings, list(paths), options)

    # -- finding --------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        unit: str = "chunk",
        source_id: str | None = None,
        kind: str | None = None,
        author: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        include_dropped: bool = False,
    ) -> QueryResponse:
        """Hits for a query, best first; see `recall.search.search`."""
        from sapwood.recall.search import search
        from sapwood.store.search import SearchStore

        return search(
            SearchStore(self.database),
            query,
            vectors=self._vector_leg(),
            limit=limit,
            unit=unit,
            source_id=source_id,
            kind=kind,
            author=author,
            since=since,
            until=until,
            include_dropped=include_dropped,
        )

    def _vector_leg(self) -> VectorLeg:
        if self._leg is None:
            from sapwood.recall.vector_leg import VectorLeg
            from sapwood.store.vectors import VectorStore

            vectors = VectorStore(self.database, self.workspace.embeddings)
            self._leg = VectorLeg(self.settings, self.workspace.memory_tree, vectors)
        return self._leg

    def fetch(self, node_ids: Iterable[str]) -> list[RetrievalHit]:
        """Chunks by chunk or item id; unknown ids are left out."""
        from sapwood.recall.search import fetch
        from sapwood.store.search import SearchStore

        return fetch(SearchStore(self.database), node_ids)

    def locate(self, node_id: str, *, original: bool = False) -> Path:
        """The vault file of a chunk or item, or with `original` the file that it came from.

        Raises:
            NotFoundError: nothing has this id, or the original is not on this machine.
        """
        hits = self.fetch([node_id])
        if not hits:
            raise NotFoundError(node_id, "nothing has this id", "Take the node_id or item_id of a search hit.")
        if not original:
            return self.workspace.root / hits[0].path
        from sapwood.sync.connections import load_connections

        connector, account = ([*hits[0].item_id.split(":", 2), "", ""])[:2]
        for connection in load_connections(self.workspace, connector):
            if connection.account == account and "root" in connection.config:
                place = hits[0].source_ref.partition("#page=")[0].partition("!/")[0]
                return Path(connection.config["root"]) / place
        raise NotFoundError(
            node_id,
            "its original is not a file of this machine",
            f"Its reference is {hits[0].source_ref or 'unknown'}.",
        )

    # -- looking after --------------------------------------------------------------------------------------------

    def status(self) -> Report:
        """What is stored, what can be found, what failed, and what waits for a person."""
        from sapwood.bulk.health import status

        return status(self.workspace, self.database, self.settings)

    def doctor(self, *, repair: bool = False) -> Report:
        """Prove that database, index and vault agree; with `repair` write files anew that are missing or damaged."""
        from sapwood.bulk.health import doctor
        from sapwood.ingest.edits import recover

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            recover(self.workspace, self.database)
            self._scan_vault()
            return doctor(self.workspace, self.database, self.settings, repair=repair)

    def rebuild(self, progress: Callable[[int], None] | None = None) -> Report:
        """Make chunks.db anew from the vault, also when it is damaged.

        The old database is kept beside the new one as `chunks.db.before-rebuild`.

        Raises:
            WorkspaceBusyError: another process works on its jobs; what it writes would go into the old one.
        """
        from sapwood.ingest.edits import recover
        from sapwood.ingest.rebuild import rebuild
        from sapwood.jobs.owner import living

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            if workers := living(self.workspace.owners):
                raise WorkspaceBusyError(
                    f"the workspace {self.workspace.root}", f"process {workers[0].partition('-')[0]} does its slow work", "Stop it first, then rebuild."
                )  # fmt: skip
            if self.workspace.database.exists():
                try:
                    recover(self.workspace, self.database)
                    self._scan_vault()
                except DamagedStoreError:
                    pass  # that is what it is made anew for
                finally:
                    self.close()
                self._set_aside()
            report = rebuild(self.workspace, self._open(), self.zone, progress)
        lost = tuple(Check(path, False, reason) for path, reason in report.lost)
        stray = tuple(Check(path, True, "is in no manifest; it was left alone") for path in report.unclaimed)
        summary = Check(
            "rebuild", not report.lost, f"{report.items} items, {report.chunks} chunks, {report.edits} of them edited by hand",
            facts={"items": report.items, "chunks": report.chunks, "edits": report.edits, "lost": len(report.lost), "unclaimed": len(report.unclaimed)},
        )  # fmt: skip
        return Report((summary, *lost, *stray))

    def back_up(self, target: Path, *, vectors: bool = False) -> BackupReport:
        """Write the whole workspace into one file, while others go on; see `bulk.backup.back_up`."""
        from sapwood.bulk.backup import back_up

        return back_up(self.workspace, self.database, target, vectors=vectors)

    @staticmethod
    def restore(source: Path, workspace: Path | None = None) -> BackupReport:
        """Unpack a backup into a workspace that does not exist yet; see `bulk.backup.restore`."""
        from sapwood.bulk.backup import restore

        return restore(Workspace.locate(workspace), source)

    def settle_edit(self, chunk_id: str, choice: str) -> bool:
        """Decide about an edit that waits because its source changed: `keep` or `drop`. False when none waits."""
        from sapwood.ingest.edits import settle_conflict

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return settle_conflict(self.workspace, self.database, chunk_id, choice, self.zone)

    # -- the slow work --------------------------------------------------------------------------------------------

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
        from sapwood.pipeline.handlers import LANES, open_handlers
        from sapwood.store.jobs import JobStore

        path = self.database.path
        with (
            open_handlers(self.workspace) as handlers,
            Workers(
                lambda: Database.open(path), self.workspace.owners, handlers.by_kind, LANES, handlers.on_idle
            ) as workers,
        ):
            if drain:
                workers.drain(stopped)
            else:
                workers.wait(stopped)
        return JobStore(self.database).counts_by_kind()

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

    def explain(self, chunk_id: str) -> dict[str, Any]:
        """The deep score of a chunk, signal by signal; see `pipeline.extract.explain`.

        Raises:
            NotFoundError: nothing has this id.
        """
        from sapwood.pipeline.extract import explain

        hits = self.fetch([chunk_id])
        found = explain(self.database, hits[0].node_id) if hits else None
        if found is None:
            raise NotFoundError(chunk_id, "no chunk has this id", "Take the node_id of a search hit.")
        return found

    def connections(self) -> list[dict[str, Any]]:
        """Each connection with its last run."""
        store = ConnectionStore(self.database)
        found = []
        for connection_id, connector, account, name in store.all():
            last = store.last_run(connection_id)
            found.append(
                {
                    "name": name, "connector": connector, "account": account,
                    "last_run": {"status": last[0], "started": iso_z(from_ms(last[1])), "counts": last[3], "message": last[4]} if last else None,
                }
            )  # fmt: skip
        return found

    def _scanning(self) -> Generator[None, None, VaultChanges]:
        from sapwood.ingest.edits import scanning_vault

        return scanning_vault(self.workspace, self.database, self.zone, personal=self.settings.redact_personal)

    def _scan_vault(self) -> None:
        for _ in self._scanning():
            pass

    def _fresh_note(self, stem: str) -> str:
        """A path for a report that no earlier report of the same second has."""
        number, path = 1, f"{stem}.md"
        while (self.workspace.root / path).exists():
            number += 1
            path = f"{stem}-{number}.md"
        return path

    def _set_aside(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            old = self.workspace.database.with_name(self.workspace.database.name + suffix)
            if old.exists():
                old.replace(old.with_name(f"{self.workspace.database.name}.before-rebuild{suffix}"))
