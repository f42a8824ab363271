"""`sapwood import`: live progress, a clean stop, a report at the end."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import click

from sapwood.bulk.importing import ImportOptions, ImportReport
from sapwood.cli.console import COULD_NOT_RUN, DONE, DONE_WITH_FAILURES, INTERRUPTED, print_json, say
from sapwood.sync.run import Run

_REDRAW = 0.2  # seconds between two lines of progress
_SHOWN = 15


class Progress:
    """One line that is drawn over and over on a terminal; nothing elsewhere."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._counts: Counter[str] = Counter()
        self._started = time.monotonic()
        self._drawn = 0.0
        self._width = 0

    def outcome(self, state: str, label: str) -> None:
        """See `sync.run.Observer`."""
        self._counts[state] += 1

    def progress(self, done: int, total: int | None, label: str, unit: str) -> None:
        """See `sync.run.Observer`."""
        now = time.monotonic()
        if not self._live or now - self._drawn < _REDRAW:
            return
        self._drawn = now
        elapsed = max(now - self._started, 0.001)
        files = sum(self._counts.values())
        share = f"{done / total:4.0%} " if total else ""
        eta = f", {_duration(elapsed * (total - done) / done)} left" if total and done else ""
        failed = f", {self._counts['failed']} failed" if self._counts["failed"] else ""
        line = f"{share}{files} files, {done / 1e6:,.1f} MB, {files / elapsed:.0f} files/s{eta}{failed}  {label}"
        line = line[:100]
        click.echo("\r" + line + " " * max(0, self._width - len(line)), nl=False, err=True)
        self._width = len(line)

    def close(self) -> None:
        """Wipe the line."""
        if self._live and self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Stopper:
    """First Ctrl-C asks the run to stop, a second one ends the program."""

    def __init__(self) -> None:
        self.stopped = False
        self._run: Run | None = None

    def watch(self, run: Run) -> None:
        self._run = run
        if self.stopped:
            run.cancel()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        if self._run is not None:
            # A handler may interrupt a write to the connector; the message is sent from a thread that waits for it.
            threading.Thread(target=self._run.cancel, daemon=True).start()


def run_import(
    memory: Callable[[], Any], paths: list[Path], include: tuple[str, ...], exclude: tuple[str, ...], passwords: tuple[str, ...], *,
    confirm_deletes: bool, retry_failed: bool, dry_run: bool, wait: bool, as_json: bool,
) -> int:  # fmt: skip
    """Run the import and show its report; the exit code."""
    options = ImportOptions(include, exclude, passwords, confirm_deletes, retry_failed)
    progress = Progress(live=sys.stderr.isatty() and not dry_run)
    stopper = Stopper()
    with memory() as opened:
        if dry_run:
            report: ImportReport = opened.preview_import(paths, options)
        else:
            before = [signal.signal(number, stopper) for number in (signal.SIGINT, signal.SIGTERM)]
            try:
                report = opened.import_paths(
                    paths, options, observer=progress, started=stopper.watch, stopped=lambda: stopper.stopped, list_unchanged=as_json,
                    on_wait=lambda: click.echo("Waiting for another Sapwood that is writing …", err=True),
                )  # fmt: skip
                if wait and not stopper.stopped:
                    progress.close()
                    opened.work(drain=True, stopped=lambda: stopper.stopped)
            finally:
                for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
                    signal.signal(number, handler)
                progress.close()
    if as_json:
        print_json(report.to_json())
    else:
        _show(report)
    if report.status == "cancelled" or stopper.stopped:
        return INTERRUPTED
    if report.status == "failed":
        return COULD_NOT_RUN
    waits = report.held_deletes or report.waiting_edits
    return DONE_WITH_FAILURES if report.counts["failed"] or report.status == "partial" or waits else DONE


def _show(report: ImportReport) -> None:
    for state, colour in (("failed", "red"), ("skipped", "yellow")):
        chosen = [f for f in report.files if f.status == state]
        for file in chosen[:_SHOWN]:
            click.secho(f"{state:8s}", fg=colour, nl=False)
            say(f"{file.path}: {file.reason}." + (f" {file.next_step}" if file.next_step else ""))
        if len(chosen) > _SHOWN:
            say(f"        … and {len(chosen) - _SHOWN} more {state}; the report names them all.")
    for file in [f for f in report.files if f.warnings and f.status == "stored"][:_SHOWN]:
        click.secho("note    ", fg="yellow", nl=False)
        say(f"{file.path}: {'; '.join(file.warnings)}")
    for path in report.vault.get("edited", [])[:_SHOWN]:
        say(f"edited by you and taken in: {path}")
    for path, reason in report.vault.get("restored", [])[:_SHOWN]:
        say(f"restored: {path} ({reason})")
    for message in report.messages:
        click.secho(message, fg="yellow")
    counts = ", ".join(f"{number} {state}" for state, number in report.counts.items())
    verb = "Would be: " if report.status == "preview" else ""
    say(f"{verb}{counts}. {report.seconds:.1f} s" if not verb else f"{verb}{counts}.")
    if report.note:
        say(f"Report: {report.note}")
    if report.status == "cancelled":
        say("Stopped. What was committed stays; run the import again to go on.")
