"""Ending a connector's process that says nothing for too long, or works for too long; and what is kept of one that crashed."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sapwood import __version__
from sapwood.plugins.installed import list_plugins
from sapwood.text.redact import Redaction
from sapwood.workspace import FILE_MODE

__all__ = ["RunLimits", "Watch", "write_crash_report"]

_KEPT_REPORTS = 20


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What a connector's process may use: address space in bytes beyond that of its start, seconds in which it must say something while
    the host waits for it, and seconds in all."""

    memory_bytes: int = 2 << 30
    stall_seconds: float = 900.0
    wall_seconds: float = 86_400.0


class Watch:
    """Calls `end` once when the process is silent or at work for too long; `reason` then says why."""

    def __init__(self, limits: RunLimits, end: Callable[[], None]) -> None:
        self._limits = limits
        self._end = end
        self._began = 0.0
        self._waiting_since: float | None = None
        self._over = threading.Event()
        self.reason = ""

    def start(self) -> None:
        """The run begins."""
        self._began = time.monotonic()
        threading.Thread(target=self._look, daemon=True, name="watch").start()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While the host waits for the next message: time in which the host itself is busy is not the connector's."""
        self._waiting_since = time.monotonic()
        try:
            yield
        finally:
            self._waiting_since = None

    def stop(self) -> None:
        """The run has ended."""
        self._over.set()

    def _look(self) -> None:
        step = min(1.0, self._limits.stall_seconds / 4, self._limits.wall_seconds / 4)
        while not self._over.wait(step):
            now, since = time.monotonic(), self._waiting_since
            if since is not None and now - since > self._limits.stall_seconds:
                self.reason = f"has said nothing for {self._limits.stall_seconds:.0f} s"
            elif now - self._began > self._limits.wall_seconds:
                self.reason = f"has worked for more than {_span(self._limits.wall_seconds)}"
            if self.reason:
                self._end()
                return


def write_crash_report(folder: Path | None, key: str, facts: dict[str, Any]) -> Path | None:
    """A redacted JSON file with what is known of a crash; None when there is no place for it. The newest twenty are kept."""
    if folder is None or not folder.is_dir():
        return None
    info = next((info for info in list_plugins() if info.key == key), None)
    told = {
        "connector": key, "distribution": info.distribution if info else "", "version": info.version if info else "", "sapwood": __version__,
        "python": platform.python_version(), "system": platform.platform(), "at": datetime.now(UTC).isoformat(timespec="seconds"), **facts,
    }  # fmt: skip
    redaction = Redaction()
    text = json.dumps(
        {name: redaction.message(value) if isinstance(value, str) else value for name, value in told.items()},
        ensure_ascii=False,
        indent=2,
    )
    stem = f"crash-{datetime.now(UTC):%Y-%m-%d-%H%M%S}"
    for number in range(_KEPT_REPORTS):
        file = folder / f"{stem}{f'-{number}' if number else ''}-{key}.json"
        try:
            descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
        except FileExistsError:
            continue
        except OSError:
            return None
        with suppress(OSError):
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text + "\n")
            for old in sorted(folder.glob("crash-*.json"), key=lambda f: f.stat().st_mtime_ns)[:-_KEPT_REPORTS]:
                old.unlink(missing_ok=True)
            return file
        return None
    return None


def _span(seconds: float) -> str:
    return f"{seconds / 3600:.0f} h" if seconds >= 7200 else f"{seconds:.0f} s"
