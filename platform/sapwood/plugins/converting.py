"""Files to Markdown in worker processes with limits on time and memory."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from itertools import takewhile
from typing import Any

from sapwood.errors import PluginError
from sapwood.plugins.installed import list_plugins
from sapwood.plugins.limited_pool import LimitedPool, TaskCrashed, TaskTimeout
from sapwood.plugins.loader import load_plugin
from sapwood.sdk.convert import Converted, ConvertError, ConvertFile
from sapwood.sdk.errors import Unsupported

__all__ = ["ConverterPool"]

_Converter = Callable[..., Converted | None]
_found: list[tuple[str, _Converter]] = []
_left_out: list[str] = []


def _converters() -> list[tuple[str, _Converter]]:
    """Distribution and implementation of every `convert` hook, in the order in which they are asked."""
    if not _found:
        ranked: list[tuple[int, str, str, _Converter]] = []
        for info in list_plugins():
            if info.distribution in _left_out:
                continue
            try:
                plugin = load_plugin(info)
            except PluginError:
                continue  # shown by `sapwood doctor`; other plugins go on
            ranked += [
                (place, info.key, info.distribution, function) for place, function in plugin.implementations("convert")
            ]
        _found.extend((distribution, function) for _, _, distribution, function in sorted(ranked, key=lambda r: r[:2]))
    return _found


def _leave_out(distributions: tuple[str, ...]) -> None:
    _left_out[:] = distributions


def _warm_up() -> None:
    _converters()


def _convert(file: ConvertFile) -> Converted | ConvertError | None:
    """In the worker: the first converter that takes the file. Errors are values, so that they keep their fields."""
    try:
        for distribution, converter in _converters():
            found = converter(file=file)
            if found is not None:
                if not isinstance(found, Converted):
                    return ConvertError("plugin", f"the converter of {distribution} gave {type(found).__name__}")
                return found
    except PluginError as error:
        return _as_convert_error(error.__cause__ or error)
    return None


def _as_convert_error(error: BaseException) -> ConvertError:
    if isinstance(error, ConvertError):
        return error
    if isinstance(error, MemoryError):
        return ConvertError(
            "memory", "needs more memory than a document may use", "Split the file, or raise convert.memory_mb."
        )
    if isinstance(error, RecursionError):
        return ConvertError("damaged", "is nested too deeply", "Open it in its own program and save it again.")
    if isinstance(error, FileNotFoundError):
        return ConvertError(
            "vanished", "was gone before it could be read", "It is looked for again on the next run.", retryable=True
        )
    if isinstance(error, PermissionError):
        return ConvertError("unreadable", "may not be read by this user", "Change its permissions.", retryable=True)
    if isinstance(error, OSError):
        return ConvertError(
            "unreadable", f"cannot be read ({error.strerror or error})", "Check the disk.", retryable=True
        )
    return ConvertError(
        "damaged",
        f"cannot be read ({type(error).__name__}: {_first_line(error)})",
        "Open it in its own program and save it again.",
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]


class ConverterPool:
    """A pool of converter processes, started on first use.

    Args:
        workers: how many processes.
        memory_bytes: address space that each may add to its own after start.
        zone: the user's, for times without one.
        left_out: distributions whose plugins are not loaded, since they would end or hold up every worker.
    """

    def __init__(self, workers: int, memory_bytes: int, zone: tzinfo = UTC, left_out: tuple[str, ...] = ()) -> None:
        self._pool = LimitedPool(workers, memory_bytes, _warm_up, prepare=functools.partial(_leave_out, left_out))
        self._zone = zone

    def convert(self, file: ConvertFile) -> Converted | ConvertError | None:
        """Read one file; None when no plugin reads such files."""
        return self._result(self._submit(file), file)

    def read(self, file: ConvertFile) -> Converted:
        """Read one file.

        Raises:
            ConvertError: it cannot be read; Unsupported: no plugin reads such files.
        """
        found = self.convert(file)
        if found is None:
            raise Unsupported(f"no installed plugin reads {file.name}")
        if isinstance(found, ConvertError):
            raise found
        return found

    def convert_all(
        self, files: Iterable[ConvertFile], stopped: Callable[[], bool]
    ) -> Iterator[tuple[ConvertFile, Converted | ConvertError | None]]:
        """Read many, in order, a few ahead of the consumer; no further ones once `stopped` says so."""
        self._pool.start()  # the workers import their parsers while the first file is still drawn
        ahead = self._pool.workers * 4
        running: deque[tuple[ConvertFile, Any]] = deque()
        for file in takewhile(lambda _: not stopped(), files):
            running.append((file, self._submit(file)))
            if len(running) >= ahead:
                first, task = running.popleft()
                yield first, self._result(task, first)
        while running:
            first, task = running.popleft()
            yield first, self._result(task, first)

    def close(self) -> None:
        """End the workers at once."""
        self._pool.close()

    def _submit(self, file: ConvertFile) -> Any:
        return self._pool.submit(_convert, [replace(file, zone=self._zone)], file.limits.time_for(file.size))

    def _result(self, task: Any, file: ConvertFile) -> Converted | ConvertError | None:
        try:
            found: Converted | ConvertError | None = self._pool.result(task)
            return found
        except TaskTimeout:
            seconds = file.limits.time_for(file.size)
            return ConvertError(
                "timeout",
                f"took longer than {seconds:.0f} s to read",
                "Try it alone, or raise convert.seconds.",
                retryable=True,
            )
        except TaskCrashed as error:
            return ConvertError(
                "crashed",
                f"ended the program that read it (exit code {error.exitcode})",
                "Open it in its own program and save it again.",
                retryable=True,
            )
        except Exception as error:
            return _as_convert_error(error)
