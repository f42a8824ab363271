"""Functions in worker processes with limits on time and memory.

What reads documents, or searches what stands in them, is fed with untrusted text and may be a plugin: it must not be able
to stop or fill the host. A worker that takes too long or dies is replaced, and the caller is told what became of its task.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from pebble import ProcessPool

log = logging.getLogger(__name__)

__all__ = ["LimitedPool", "TaskCrashed", "TaskTimeout", "die_with_parent", "limit_memory"]

_PR_SET_PDEATHSIG = 1
_PATIENCE_SECONDS = 10.0  # a worker that has been told to end takes a tenth of a second
_BACKGROUND = 10  # niceness of what nobody waits for
_RECYCLE_AFTER = 2000  # tasks of a worker before it is replaced; parsers leak


class TaskTimeout(Exception):
    """The task took longer than it may, and its worker was ended."""


class TaskCrashed(Exception):
    """The task ended its worker; `exitcode` as the system gave it."""

    def __init__(self, exitcode: int) -> None:
        self.exitcode = exitcode
        super().__init__(f"ended its process (exit code {exitcode})")


def die_with_parent() -> None:
    """Ask the kernel (Linux) to end this process when its parent is gone, however it went."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def limit_memory(extra_bytes: int) -> None:
    """Let this process use that much address space more than it has now."""
    try:
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        used = 256 * 1024 * 1024
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = used + extra_bytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _prepare_worker(memory_bytes: int, niceness: int, prepare: Callable[[], None] | None) -> None:
    die_with_parent()
    os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    limit_memory(memory_bytes)
    if prepare is not None:
        prepare()


@functools.cache
def _context() -> BaseContext:
    """Workers are forked from a process of one thread that has loaded the platform's part once, and nothing of a plugin's."""
    import multiprocessing

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sapwood.plugins.converting"])
    return context


def _end(pool: ProcessPool) -> None:
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()


class LimitedPool:
    """Worker processes, started on first use.

    Args:
        workers: how many.
        memory_bytes: address space that each may add to its own after start.
        warm_up: called as the first tasks, once for each worker; which of them gets it is not said.
        background: nobody waits for the tasks; whatever else runs on the machine goes first.
        prepare: called in every worker before any task, also in those that come later in the place of others. It must not fail.
    """

    def __init__(
        self,
        workers: int,
        memory_bytes: int,
        warm_up: Callable[[], None],
        *,
        background: bool = False,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._workers = workers
        self._memory_bytes = memory_bytes
        self._warm_up = warm_up
        self._prepare = prepare
        self._niceness = _BACKGROUND if background else 0
        self._pool: ProcessPool | None = None
        self._lock = threading.Lock()

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        return self._workers

    def start(self) -> ProcessPool:
        """Start the workers, so that they are warm by the first task."""
        with self._lock:
            if self._pool is None:
                from pebble import ProcessPool

                self._pool = ProcessPool(
                    max_workers=self._workers,
                    max_tasks=_RECYCLE_AFTER,
                    initializer=_prepare_worker,
                    initargs=[self._memory_bytes, self._niceness, self._prepare],
                    context=_context(),
                )
                for _ in range(self._workers):
                    self._pool.schedule(self._warm_up)
            return self._pool

    def submit(self, function: Callable[..., Any], arguments: list[Any], seconds: float) -> Any:
        """Run `function(*arguments)` in a worker; give what comes back to `result`."""
        return self.start().schedule(function, args=arguments, timeout=seconds)

    @staticmethod
    def result(task: Any) -> Any:
        """Wait for a task; what its function returned or raised.

        Raises:
            TaskTimeout, TaskCrashed: see there.
        """
        from pebble import ProcessExpired

        try:
            return task.result()
        except FutureTimeoutError as error:
            raise TaskTimeout from error
        except ProcessExpired as error:
            raise TaskCrashed(int(error.exitcode or 0)) from error

    def close(self) -> None:
        """End the workers at once. The next task starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            # The library's own time-out does not count once a pool is stopped; nobody waits for a worker that hangs while it starts.
            ending = threading.Thread(target=_end, args=(pool,), name="pool-end", daemon=True)
            ending.start()
            ending.join(_PATIENCE_SECONDS)
            if ending.is_alive():
                log.warning("a worker process does not end by itself; it ends with this one")
            gc.collect()  # its semaphores are cycles, and the system's tracker complains of those that a quick exit leaves
