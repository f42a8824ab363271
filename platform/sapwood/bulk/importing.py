"""`sapwood import`: each folder is a connection of the folder connector; a single file is read through its folder's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any

from sapwood.bulk.host import ReadingHost
from sapwood.config import Settings
from sapwood.errors import ConfigurationError
from sapwood.ingest.edits import how_to_settle
from sapwood.plugins.choices import require_enabled
from sapwood.plugins.process import ConnectorProcess, RunSettings
from sapwood.sdk.connector import PullRequest
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.store.items import ItemStore
from sapwood.sync.connections import Connection, load_connections, save_connection
from sapwood.sync.run import Observer, Run, RunReport
from sapwood.text.redact import Redaction
from sapwood.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What a person asked for.

    `passwords` are references; `include` and `exclude` patterns are kept with the connection.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    passwords: tuple[str, ...] = ()
    confirm_deletes: bool = False
    retry_failed: bool = False


@dataclass(slots=True)
class FileReport:
    """One file of an import: stored, unchanged, skipped or failed, and the items that came out of it."""

    path: str
    status: str
    reason: str = ""
    next_step: str = ""
    items: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "path": self.path, "status": self.status, "reason": self.reason, "next_step": self.next_step, "items": self.items, "warnings": self.warnings
        }  # fmt: skip


@dataclass(slots=True)
class ImportReport:
    """The end of an import. `status` is the worst of its runs."""

    status: str = "done"
    messages: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("stored", "unchanged", "removed", "skipped", "failed"), 0)
    )
    files: list[FileReport] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    held_deletes: int = 0
    waiting_edits: list[str] = field(default_factory=list)
    vault: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "status": self.status, "messages": self.messages, "counts": self.counts, "files": [f.to_json() for f in self.files],
            "removed": self.removed, "held_deletes": self.held_deletes, "waiting_edits": self.waiting_edits, "vault": self.vault, "report": self.note, "seconds": round(self.seconds, 3),
        }  # fmt: skip


def import_path(
    workspace: Workspace,
    database: Database,
    settings: Settings,
    zone: tzinfo,
    path: Path,
    options: ImportOptions,
    observer: Observer | None,
    started: Callable[[Run], None],
    meanwhile: Iterable[None] = (),
) -> RunReport:
    """Run the connection of a folder, or of the folder that holds a file. `started` is told of the run, to cancel it;
    `meanwhile` see `ConnectorProcess.pull`.

    Raises:
        ConfigurationError: the path is not there; PluginError: the folder connector is missing or broken.
    """
    root, only = wanted(path)
    if root == workspace.root or workspace.root in root.parents:
        raise ConfigurationError(
            str(path), "lies in the workspace itself", "Import the folder in which the originals lie."
        )
    require_enabled(workspace, "folder")
    run_settings = RunSettings.of(settings, workspace.tmp, workspace)
    connection = folder_connection(workspace, root, options, run_settings)
    run = Run(
        workspace, database, connection, run_settings, zone=zone, owner=settings.owner, personal=settings.redact_personal,
        confirm_deletes=options.confirm_deletes, observer=observer,
    )  # fmt: skip
    started(run)
    request = PullRequest(containers=only, retry_failed=options.retry_failed, may_be_empty=options.confirm_deletes)
    return run.execute(request, meanwhile)


def wanted(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder to be read, and the one file in it that was asked for, if it was a file.

    Raises:
        ConfigurationError: there is nothing at the path.
    """
    if not path.exists():
        raise ConfigurationError(
            str(path), "there is no such file or folder", "Check the spelling, and that its disk is connected."
        )
    return (path.absolute(), ()) if path.is_dir() else (path.parent.absolute(), (path.name,))


def folder_config(workspace: Workspace, root: Path, options: ImportOptions) -> tuple[Connection | None, dict[str, Any]]:
    """The connection that a folder has, and its configuration with the options that are given put over those kept."""
    held = next((c for c in load_connections(workspace, "folder") if c.config.get("root") == str(root)), None)
    config: dict[str, Any] = {"root": str(root)} if held is None else dict(held.config)
    for name in ("include", "exclude", "passwords"):
        if given := list(getattr(options, name)):
            config[name] = given
    return held, config


def folder_connection(workspace: Workspace, root: Path, options: ImportOptions, settings: RunSettings) -> Connection:
    """The connection of a folder, made when it is new."""
    held, config = folder_config(workspace, root, options)
    if held is not None and config == held.config:
        return held
    with ConnectorProcess("folder", config, "", settings) as process:
        report = process.check(ReadingHost())
    account = held.account if held else report.account
    connection = Connection("folder", held.name if held else account, account, config)
    save_connection(workspace, connection)
    return connection


def overlaps(workspace: Workspace, path: Path) -> list[str]:
    """A sentence for each other imported folder that lies in this one, or in which this one lies."""
    root, _ = wanted(path)
    others = (Path(c.config.get("root", "")) for c in load_connections(workspace, "folder"))
    return [
        f"{root} and {other} overlap, and both are imported: files that lie in both are stored twice. Keep one of them."
        for other in others
        if other != root and (root in other.parents or other in root.parents)
    ]


def add_run(report: ImportReport, run: RunReport, database: Database, *, list_unchanged: bool) -> None:
    """Put a run into the report: every file once."""
    worst = ("done", "partial", "cancelled", "failed")
    report.status = max(report.status, run.status, key=worst.index)
    if run.message:
        report.messages.append(run.message)
    if run.held:
        report.held_deletes += run.held
        report.messages.append(
            f"{run.held} stored items were not found any more. That is so many that nothing was removed: "
            "check the folder, then run the import again with --confirm-deletes."
        )
    if run.forgotten:
        report.messages.append(
            f"{run.forgotten} {'item was' if run.forgotten == 1 else 'items were'} not taken in: you had them forgotten (`sapwood forget --list`)."
        )
    for outcome in run.outcomes:
        items = (
            [{"item_id": outcome.item_id, "title": outcome.title, "chunks": outcome.chunks}]
            if outcome.state == "stored"
            else []
        )
        report.files.append(
            FileReport(outcome.locator, outcome.state, outcome.reason, outcome.next_step, items, list(outcome.warnings))
        )
    report.removed += run.removed
    for state in report.counts:
        report.counts[state] += run.counts[state]
    happened = any(run.counts[state] for state in ("stored", "removed")) or run.message or run.held
    if run.unchanged and (list_unchanged or happened):
        written = {f.path for f in report.files}
        for item_id, locator, title, chunks in ConnectionStore(database).stored_items(run.connection_id):
            if locator not in written:
                report.files.append(
                    FileReport(locator, "unchanged", items=[{"item_id": item_id, "title": title, "chunks": chunks}])
                )
    report.files.sort(key=lambda f: f.path)


def add_waiting(report: ImportReport, database: Database, before: set[str]) -> None:
    """Name the edits that wait since this import because their source changed; `before` are those that waited already."""
    for chunk_id, item_id, _, _ in ItemStore(database).conflicts():
        if chunk_id not in before:
            report.waiting_edits.append(chunk_id)
            report.messages.append(
                f"The source of {item_id} changed text that you had edited; the source's text is shown and your edit waits. "
                f"Decide with: {how_to_settle(chunk_id)}"
            )


def report_note(report: ImportReport, paths: list[str], redaction: Redaction, when: str) -> str:
    """The report as a Markdown note for the vault."""
    counts = ", ".join(f"{number} {state}" for state, number in report.counts.items())
    lines = [
        "---",
        f"title: Import of {when}",
        "tags: [sapwood/report]",
        "---",
        f"# Import of {when}",
        "",
        f"{counts}. Status: {report.status}.",
        "",
    ]
    lines += ["Folders: " + ", ".join(f"`{redaction.reference(path)}`" for path in paths), ""]
    lines += [f"> {message}\n" for message in report.messages]
    if report.counts["unchanged"] and not any(f.status == "unchanged" for f in report.files):
        lines += [
            "Nothing changed. The last report in which something was stored or removed names the unchanged files.",
            "",
        ]
    for state, heading in (
        ("failed", "Failed"),
        ("skipped", "Skipped"),
        ("stored", "Stored"),
        ("unchanged", "Unchanged"),
    ):
        chosen = [f for f in report.files if f.status == state]
        if not chosen:
            continue
        lines += [f"## {heading} ({len(chosen)})", ""]
        for file in chosen:
            text = f"- `{file.path}`"
            if file.reason:
                text += f": {file.reason}."
            if file.next_step:
                text += f" {file.next_step}"
            if file.warnings:
                text += " — " + "; ".join(file.warnings)
            lines.append(text)
        lines.append("")
    if report.removed:
        lines += [f"## Removed ({len(report.removed)})", "", *(f"- `{item_id}`" for item_id in report.removed), ""]
    return "\n".join(lines)
