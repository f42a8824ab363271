"""Files to Markdown in worker processes with limits on time and memory.

Parsers are plugins and documents are untrusted, so neither may stop or fill the host: a worker that takes too long or
dies is replaced, and its file is reported.
"""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any

from sapwood.errors import PluginError
from sapwood.plugins.loader import list_plugins, load_plugin
from sapwood.sdk.convert import Converted, ConvertError, ConvertFile

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from pebble import ProcessPool

__all__ = ["ConverterPool", "die_with_parent"]

_PR_SET_PDEATHSIG = 1
_RECYCLE_AFTER = 2000  # files a worker reads before it is replaced; parsers leak


def die_with_parent() -> None:
    """Ask the kernel (Linux) to end this process when its parent is gone, however it went."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_memory(extra_bytes: int) -> None:
    try:
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        used = 256 * 1024 * 1024
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = used + extra_bytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _prepare_worker(memory_bytes: int) -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _limit_memory(memory_bytes)


_Converter = Callable[..., Converted | None]
_found: list[tuple[str, _Converter]] = []


def _converters() -> list[tuple[str, _Converter]]:
    """Distribution and implementation of every `convert` hook, in the order in which they are asked."""
    if not _found:
        ranked: list[tuple[int, str, str, _Converter]] = []
        for info in list_plugins():
            try:
                plugin = load_plugin(info)
            except PluginError:
                continue  # shown by `sapwood doctor`; other plugins go on
            ranked += [
                (place, info.key, info.distribution, function) for place, function in plugin.implementations("convert")
            ]
        _found.extend((distribution, function) for _, _, distribution, function in sorted(ranked, key=lambda r: r[:2]))
    return _found


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


@functools.cache
def _context() -> BaseContext:
    """Workers are forked from a process of one thread that has loaded this module once, and nothing of a plugin's."""
    import multiprocessing

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


class ConverterPool:
    """A pool of converter processes, started on first use.

    Args:
        workers: how many processes.
        memory_bytes: address space that each may add to its own after start.
    """

    def __init__(self, workers: int, memory_bytes: int) -> None:
        self._workers = workers
        self._memory_bytes = memory_bytes
        self._pool: ProcessPool | None = None

    def convert(self, file: ConvertFile) -> Converted | ConvertError | None:
        """Read one file; None when no plugin reads such files."""
        return self._result(self._submit(file), file)

    def convert_all(
        self, files: Iterable[ConvertFile]
    ) -> Iterator[tuple[ConvertFile, Converted | ConvertError | None]]:
        """Read many, in order, a few ahead of the consumer."""
        self._start()  # the workers import their parsers while the first file is still drawn
        ahead = self._workers * 4
        running: deque[tuple[ConvertFile, Any]] = deque()
        for file in files:
            running.append((file, self._submit(file)))
            if len(running) >= ahead:
                first, future = running.popleft()
                yield first, self._result(future, first)
        while running:
            first, future = running.popleft()
            yield first, self._result(future, first)

    def close(self) -> None:
        """End the workers at once."""
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]
            self._pool.join()
            self._pool = None

    def _start(self) -> ProcessPool:
        if self._pool is None:
            from pebble import ProcessPool

            self._pool = ProcessPool(
                max_workers=self._workers,
                max_tasks=_RECYCLE_AFTER,
                initializer=_prepare_worker,
                initargs=[self._memory_bytes],
                context=_context(),
            )
            for _ in range(self._workers):
                self._pool.schedule(_warm_up)
        return self._pool

    def _submit(self, file: ConvertFile) -> Any:
        return self._start().schedule(_convert, args=[file], timeout=file.limits.time_for(file.size))

    def _result(self, future: Any, file: ConvertFile) -> Converted | ConvertError | None:
        from pebble import ProcessExpired

        try:
            found: Converted | ConvertError | None = future.result()
            return found
        except FutureTimeoutError:
            seconds = file.limits.time_for(file.size)
            return ConvertError(
                "timeout",
                f"took longer than {seconds:.0f} s to read",
                "Try it alone, or raise convert.seconds.",
                retryable=True,
            )
        except ProcessExpired as error:
            return ConvertError(
                "crashed",
                f"ended the program that read it (exit code {error.exitcode})",
                "Open it in its own program and save it again.",
                retryable=True,
            )
        except Exception as error:
            return _as_convert_error(error)
