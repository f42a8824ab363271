"""The host's side of a connector's process."""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from sapwood.config import Settings
from sapwood.errors import ConfigurationError, ConnectorCrashed, PluginError
from sapwood.plugins.launch import launch
from sapwood.plugins.probing import left_out
from sapwood.plugins.protocol import encode_message, read_message, write_line
from sapwood.plugins.watch import RunLimits, Watch, write_crash_report
from sapwood.sdk import errors as sdk_errors
from sapwood.sdk.connector import CheckReport, PullRequest
from sapwood.sdk.events import Event, event_from_json
from sapwood.workspace import Workspace

__all__ = ["ConnectorProcess", "HostServices", "KvSet", "RunSettings"]

log = logging.getLogger(__name__)


class HostServices(Protocol):
    """What a connector may ask of the host during a run."""

    def known_page(self, after: int) -> tuple[str, int | None]:
        """A JSON array of KnownItem fields after a position, and the next position or None."""

    def known_item(self, item_id: str) -> tuple[Any, ...] | None:
        """One row."""

    def kv_get(self, key: str) -> Any:
        """A value of the connection."""

    def secret(self, reference: str) -> str:
        """The secret behind a reference."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Worker processes of a run, their memory in bytes, the folder for temporary files, the user's time zone (an IANA
    name; empty for the machine's own), distributions whose plugins are not loaded, what the connector's process may use, the
    folder for reports of crashes, and whether the connector runs in this very process, for its author's debugger."""

    workers: int
    memory_bytes: int
    tmp: Path
    timezone: str = ""
    left_out: tuple[str, ...] = ()
    limits: RunLimits = field(default_factory=RunLimits)
    reports: Path | None = None
    inline: bool = False

    @classmethod
    def of(cls, settings: Settings, tmp: Path, workspace: Workspace) -> RunSettings:
        """Those of the user."""
        memory = settings.convert_memory_mb * 1024 * 1024
        limits = RunLimits(
            settings.connector_memory_mb * 1024 * 1024,
            settings.connector_stall_seconds,
            settings.connector_hours * 3600,
        )
        left = tuple(sorted(left_out(workspace)))
        return cls(settings.convert_workers, memory, tmp, settings.timezone, left, limits, workspace.logs)


@dataclass(frozen=True, slots=True)
class KvSet:
    """A value to be committed with the next batch."""

    key: str
    value: Any


class ConnectorProcess:
    """One run of one connector in a process of its own. Use as a context manager; leaving it ends the process."""

    def __init__(self, key: str, config: dict[str, Any], account: str, settings: RunSettings) -> None:
        self._key = key
        self._start = {
            "config": config,
            "account": account,
            "workers": settings.workers,
            "memory_bytes": settings.memory_bytes,
            "tmp": str(settings.tmp),
            "timezone": settings.timezone,
            "left_out": settings.left_out,
            "own_memory_bytes": settings.limits.memory_bytes,
        }
        self._reports = settings.reports
        self._watch = Watch(settings.limits, self._kill)
        self._last: dict[str, Any] = {}
        self._tmp = str(settings.tmp)
        self._process: subprocess.Popen[bytes] | None = None
        self._noise: IO[bytes] | None = None
        self.cancelled_early = False

    def __enter__(self) -> ConnectorProcess:
        launched = launch(self._key, Path(self._tmp))
        self._process, self._noise = launched.process, launched.noise
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        process = self._running()
        self._watch.stop()
        self._kill()
        process.wait()
        for stream in (process.stdin, process.stdout, self._noise):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass

    def _kill(self) -> None:
        """End the process and its group: its parsers and all else that it started. Until it is waited for, its number is nobody else's."""
        process = self._running()
        if process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def plugins(self, meanwhile: Iterable[None] = ()) -> str:
        """Wait until the connector has loaded; distributions and versions of the plugins that its process sees.

        To be asked before `check` or `pull`. `meanwhile` see `pull`.

        Raises:
            ConnectorCrashed, PluginError: it has ended, or does not speak the protocol.
        """
        message = self._read(iter(meanwhile))
        if message is None:
            raise self._crashed()
        return str(message.get("plugins", ""))

    def check(self, services: HostServices) -> CheckReport:
        """Ask the connector whether it can be reached.

        Raises:
            ConnectorError, PluginError: as the connector says; ConnectorCrashed when it says nothing.
        """
        self._send({"start": {**self._start, "action": "check", "request": None}})
        for message in self._messages(services, iter(())):
            if "result" in message:
                result = message["result"]
                return CheckReport(result["account"], result["title"], tuple(result["notes"]))
        raise self._crashed()

    def pull(
        self, request: PullRequest, services: HostServices, meanwhile: Iterable[None] = ()
    ) -> Iterator[Event | KvSet]:
        """Start the connector, and give its events as they come. Ends when the connector is done.

        The connector works from the moment of this call, not from the first event that is taken.

        Args:
            request: what to pull.
            services: what it may ask for.
            meanwhile: short steps of the host's own work, taken while nothing of the connector's waits to be read; all of
                them before the first event.

        Raises:
            ConnectorError, PluginError: as the connector says; ConnectorCrashed when its process ends without a word.
        """
        self._send({"start": {**self._start, "action": "pull", "request": request.to_json()}})
        return self._events(services, iter(meanwhile))

    def _events(self, services: HostServices, meanwhile: Iterator[None]) -> Iterator[Event | KvSet]:
        for message in self._messages(services, meanwhile):
            for _ in meanwhile:
                pass
            if "event" in message:
                self._last = message
                try:
                    yield event_from_json(message)
                except (ValueError, TypeError, KeyError) as error:
                    raise PluginError(
                        f"the connector {self._key}",
                        f"sent an event that breaks the contract ({error})",
                        "Report this to its author.",
                    ) from error
            elif "kv" in message:
                yield KvSet(message["kv"], message["value"])
            elif "result" in message:
                self.cancelled_early = bool(message["result"].get("cancelled"))
                return
        raise self._crashed()

    def cancel(self) -> None:
        """Ask the connector to stop soon."""
        self._send({"cancel": True})

    def _read(self, meanwhile: Iterator[None]) -> dict[str, Any] | None:
        stream = self._running().stdout
        assert stream is not None
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        while not poll.poll(0) and next(meanwhile, self) is None:
            pass
        try:
            with self._watch.waiting():
                return read_message(stream)  # type: ignore[arg-type]
        except ValueError as error:
            raise PluginError(
                f"the connector {self._key}", f"broke the protocol ({error})", "Report this to its author."
            ) from error

    def _messages(self, services: HostServices, meanwhile: Iterator[None]) -> Iterator[dict[str, Any]]:
        while True:
            message = self._read(meanwhile)
            if message is None:
                return
            if message.get("ask") == "known":
                rows, after = services.known_page(message["after"])
                answer = encode_message({"answer": message["id"], "value": after, "rows": True})
                self._send_line(
                    f"{answer}\n{rows}"
                )  # in one go: a cancellation from another thread must not come between
            elif "ask" in message:
                self._send(self._answer(message, services))
            elif "plugins" in message or "alive" in message:
                pass  # the host did not ask, or only wants to hear something
            elif "log" in message:
                log.log(getattr(logging, message["log"][0], logging.INFO), "%s: %s", self._key, message["log"][1])
            elif "error" in message and "event" not in message:
                raise self._error(message["error"])
            else:
                yield message

    def _answer(self, message: dict[str, Any], services: HostServices) -> dict[str, Any]:
        number = message["id"]
        try:
            match message["ask"]:
                case "known_item":
                    return {"answer": number, "value": services.known_item(message["item_id"])}
                case "kv_get":
                    return {"answer": number, "value": services.kv_get(message["key"])}
                case "secret":
                    return {"answer": number, "value": services.secret(message["reference"])}
                case other:
                    return {"answer": number, "error": f"the host does not know the question {other!r}"}
        except ConfigurationError as error:
            return {"answer": number, "error": str(error)}

    def _error(self, data: dict[str, Any]) -> Exception:
        kind = data.get("type", "")
        if kind == "crash":
            log.error("%s: %s", self._key, data.get("traceback", ""))
            return self._crash(f"stopped with {data['message']}", data.get("traceback", ""))
        if kind == "PluginError":
            return PluginError(
                f"the connector {self._key}", str(data["message"]).rstrip("."), str(data.get("hint", ""))
            )
        message, hint = str(data["message"]), str(data.get("hint", ""))
        match kind:
            case "AuthError":
                return sdk_errors.AuthError(message, kind=data["kind"], hint=hint)
            case "ConfigError":
                return sdk_errors.ConfigError(message, field=data.get("field", ""), hint=hint)
            case "RateLimited":
                return sdk_errors.RateLimited(
                    message, retry_after=data["retry_after"], bucket=data.get("bucket", ""), hint=hint
                )
            case "CursorExpired":
                return sdk_errors.CursorExpired(data["scope"], message, hint=hint)
            case "ListError":
                return sdk_errors.ListError(data["scope"], message, hint=hint)
            case "BadItem":
                return sdk_errors.BadItem(data["item_id"], message, hint=hint)
            case "Cancelled":
                return sdk_errors.Cancelled(message)
            case "TransientError":
                return sdk_errors.TransientError(message, hint=hint)
            case "Unsupported":
                return sdk_errors.Unsupported(message, hint=hint)
            case _:
                return sdk_errors.ConnectorError(message, hint=hint)

    def _crashed(self) -> ConnectorCrashed:
        process = self._running()
        code = process.wait()
        said = ""
        if self._noise:
            self._noise.seek(0, os.SEEK_END)
            self._noise.seek(max(0, self._noise.tell() - 2000))
            said = self._noise.read().decode("utf-8", "replace").strip()
        if self._watch.reason:
            return self._crash(f"{self._watch.reason} and was ended", said)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        last = f", its last words: {said.splitlines()[-1][:300]}" if said else ""
        return self._crash(f"ended before it was done ({how}{last})", said)

    def _crash(self, cause: str, said: str) -> ConnectorCrashed:
        """The error, with where the report of it lies."""
        event = {name: value for name, value in self._last.items() if name in ("event", "item_id", "scope")}
        place = write_crash_report(self._reports, self._key, {"cause": cause, "last_event": event, "said": said})
        told = f" The report {place.parent.name}/{place.name} of the workspace can go to its author." if place else ""
        return ConnectorCrashed(f"the connector {self._key}", cause, f"What was committed stays; run it again.{told}")

    def _send(self, message: dict[str, Any]) -> None:
        self._send_line(encode_message(message))

    def _send_line(self, line: str) -> None:
        stream = self._running().stdin
        assert stream is not None
        try:
            write_line(stream, line)  # type: ignore[arg-type]
        except BrokenPipeError:
            pass  # its end is noticed where its output is read

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "use ConnectorProcess as a context manager"
        return self._process
