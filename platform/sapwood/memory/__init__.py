"""`Memory`: everything that the faces may ask of a workspace, in one typed place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.checks import Check, Report
from sapwood.clock import from_ms, iso_z, now
from sapwood.errors import DamagedStoreError, WorkspaceBusyError
from sapwood.memory.deciding import Deciding
from sapwood.memory.finding import Finding
from sapwood.memory.syncing import Syncing
from sapwood.memory.working import Working
from sapwood.store.connections import ConnectionStore
from sapwood.store.items import ItemStore
from sapwood.text.redact import Redaction
from sapwood.workspace import Workspace

if TYPE_CHECKING:
    from sapwood.bulk.backup import BackupReport
    from sapwood.bulk.importing import ImportOptions, ImportReport
    from sapwood.sync.run import Observer, Run

__all__ = ["Check", "Memory", "Report"]


class Memory(Finding, Deciding, Syncing, Working):
    """An open workspace. Use as a context manager.

    Args:
        workspace: its folder; None for `$SAPWOOD_WORKSPACE` or `~/.sapwood`.
        create: make it when it is not there; otherwise a missing workspace is an error.

    Raises:
        WorkspaceError, ConfigurationError, StoreError: it cannot be used.
    """

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
        from sapwood.vault.paths import REPORTS
        from sapwood.workspace import write_atomically

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
        from sapwood.trees.restore import restore_trees

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
            summaries, unusable = restore_trees(self.workspace, self.database)
        lost = tuple(Check(path, False, reason) for path, reason in [*report.lost, *unusable])
        stray = tuple(Check(path, True, "is in no manifest; it was left alone") for path in report.unclaimed)
        summary = Check(
            "rebuild", not report.lost, f"{report.items} items, {report.chunks} chunks, {report.edits} of them edited by hand, {summaries} summaries",
            facts={"items": report.items, "chunks": report.chunks, "edits": report.edits, "summaries": summaries, "lost": len(report.lost), "unclaimed": len(report.unclaimed)},
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
