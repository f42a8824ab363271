"""What an import would do, without writing anything to the workspace."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sapwood.bulk.host import ReadingHost
from sapwood.bulk.importing import FileReport, ImportOptions, ImportReport, folder_config, wanted
from sapwood.config import Settings
from sapwood.plugins.process import ConnectorProcess, RunSettings
from sapwood.sdk.connector import PullMode, PullRequest
from sapwood.sdk.events import Failed, Seen, SeenMany, Skipped
from sapwood.sdk.sources import CanonicalisedSource
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.text.redact import Redaction
from sapwood.workspace import Workspace


def preview(workspace: Workspace, settings: Settings, paths: list[Path], options: ImportOptions) -> ImportReport:
    """Every file with what would become of it; `stored` means that it would be.

    Raises:
        ConfigurationError: a path is not there; ConnectorError, PluginError: as the connector says.
    """
    report = ImportReport(status="preview")
    redaction = Redaction(settings.redact_personal)
    database = Database.open(workspace.database, readonly=True) if workspace.database.exists() else None
    store = ConnectionStore(database) if database else None
    try:
        with tempfile.TemporaryDirectory() as tmp:
            run_settings = RunSettings.of(settings, Path(tmp), workspace)
            for path in paths:
                root, only = wanted(path)
                config = folder_config(workspace, root, options)[1]
                with ConnectorProcess("folder", config, "", run_settings) as process:
                    account = process.check(ReadingHost()).account
                known = (
                    next((row[0] for row in store.all() if row[1:3] == ("folder", account)), None) if store else None
                )
                with ConnectorProcess("folder", config, account, run_settings) as process:
                    for event in process.pull(
                        PullRequest(mode=PullMode.PREVIEW, containers=only), ReadingHost(store, known)
                    ):
                        _note(report, event, redaction)
    finally:
        if database:
            database.close()
    report.files.sort(key=lambda f: f.path)
    return report


def _note(report: ImportReport, event: object, redaction: Redaction) -> None:
    match event:
        case CanonicalisedSource():
            path = event.metadata.fingerprint.locator if event.metadata.fingerprint else event.item_id
            report.files.append(
                FileReport(
                    redaction.identifier(path), "stored", warnings=[redaction.text(w) for w in event.metadata.warnings]
                )
            )
            report.counts["stored"] += 1
        case Failed() | Skipped():
            path = event.fingerprint.locator if event.fingerprint else event.item_id
            state = "failed" if isinstance(event, Failed) else "skipped"
            reason, step = (
                (event.error.message, event.error.next_step) if isinstance(event, Failed) else (event.reason, "")
            )
            report.files.append(
                FileReport(redaction.identifier(path), state, redaction.text(reason), redaction.text(step))
            )
            report.counts[state] += 1
        case SeenMany():
            report.counts["unchanged"] += len(event.item_ids)
        case Seen():
            report.counts["unchanged"] += 1
