"""Starting a connector's process.

Apart from its use in `plugins.process` and light to import: a command that will need a connector starts it first, and
the two then load their modules side by side.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sapwood.errors import WorkspaceError
from sapwood.workspace import writing

__all__ = ["Launched", "launch", "stand_by"]


@dataclass(frozen=True, slots=True)
class Launched:
    """A process that has loaded, or is loading, one connector and waits for its start message.

    `noise` receives what it and its libraries print.
    """

    process: subprocess.Popen[bytes]
    noise: IO[bytes]


_standing_by: dict[str, Launched] = {}


def stand_by(key: str, tmp: Path) -> None:
    """Start the process of a connector for the next `launch` of it. It ends with this process if it is not used.

    Does nothing where `tmp` cannot be used, as in a new workspace: `launch` then says what is wrong, if it still is.
    """
    if key not in _standing_by and tmp.is_dir():
        with suppress(WorkspaceError):
            _standing_by[key] = _start(key, tmp)


def launch(key: str, tmp: Path) -> Launched:
    """The process that stands by for this connector, or a new one. `tmp`: the folder for what it prints.

    Raises:
        WorkspaceError: nothing can be written there.
    """
    return _standing_by.pop(key, None) or _start(key, tmp)


def _start(key: str, tmp: Path) -> Launched:
    with writing(tmp):
        noise = tempfile.TemporaryFile(dir=tmp)  # noqa: SIM115 — closed by whoever uses the process
    process = subprocess.Popen(
        [sys.executable, "-m", "sapwood.plugins.child", key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=noise,
        bufsize=1 << 16,
        start_new_session=True,  # Ctrl-C reaches the host alone, which then asks the connector to stop
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"},
    )
    return Launched(process, noise)
