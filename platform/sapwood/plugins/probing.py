"""Which plugins can be loaded: each is tried in a process of its own, once for each version of it.

What loads is loaded again in the processes that work; what ends its process, hangs or eats memory is left out there, and named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sapwood.errors import WorkspaceError
from sapwood.plugins.choices import disabled
from sapwood.plugins.installed import PluginInfo, list_plugins
from sapwood.workspace import Workspace, write_atomically

__all__ = ["Probed", "known_to_be_left_out", "left_out", "probe"]

_SECONDS = 15.0
_FAILURE_LASTS = 600.0  # seconds; what was missing may have been installed meanwhile


@dataclass(frozen=True, slots=True)
class Probed:
    """What a plugin said of itself. `problem` is empty when it can be used; `seconds` is how long its import took; `connectors` are
    objects with key, title, api, capabilities, hosts (None when they depend on the configuration) and the schema of the configuration."""

    problem: str = ""
    seconds: float = 0.0
    reads_files: bool = False
    connectors: tuple[dict[str, Any], ...] = ()


def probe(infos: Iterable[PluginInfo]) -> dict[PluginInfo, Probed]:
    """Load each plugin in a process of its own, all at the same time. Those with a problem are not tried."""
    found = {info: Probed(info.problem) for info in infos}
    running = {info: _start(info) for info in found if not info.problem}
    deadline = time.monotonic() + _SECONDS
    for info, process in running.items():
        found[info] = _outcome(process, deadline)
    return found


def left_out(workspace: Workspace | None) -> dict[str, str]:
    """Distributions whose plugins cannot or shall not be used, each with the reason. Those that have not been tried in this version are tried;
    what came of it is kept in the workspace, if there is one."""
    names, file = {info: _name(info) for info in list_plugins()}, _file(workspace)
    kept = _read(file)
    wanted = [info for info, name in names.items() if not info.problem and not _is_fresh(kept.get(name))]
    if wanted:
        kept |= {names[info]: {"at": time.time(), **asdict(probed)} for info, probed in probe(wanted).items()}
        if file is not None:
            with suppress(WorkspaceError):  # a disk that refuses costs the next command another try
                write_atomically(
                    file, json.dumps({n: kept[n] for n in names.values() if n in kept}, ensure_ascii=False)
                )
    return _problems(names, kept, workspace)


def known_to_be_left_out(workspace: Workspace) -> dict[str, str]:
    """As `left_out`, by what is known already: nothing is tried."""
    return _problems({info: _name(info) for info in list_plugins()}, _read(_file(workspace)), workspace)


def _problems(
    names: dict[PluginInfo, str], kept: dict[str, dict[str, Any]], workspace: Workspace | None
) -> dict[str, str]:
    switched_off = disabled(workspace) if workspace is not None else set()
    found: dict[str, str] = {}
    for info, name in names.items():
        problem = info.problem or kept.get(name, {}).get("problem", "")
        if problem or info.key in switched_off:
            found[info.distribution] = problem or "is disabled"
    return found


def _file(workspace: Workspace | None) -> Path | None:
    return workspace.memory_tree / "plugins.json" if workspace is not None and workspace.memory_tree.is_dir() else None


def _start(info: PluginInfo) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sapwood.plugins.probe", info.key, info.distribution],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _outcome(process: subprocess.Popen[bytes], deadline: float) -> Probed:
    try:
        said, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 9)
        process.communicate()
        return Probed(f"does not end its loading within {_SECONDS:.0f} s")
    try:
        told = json.loads(said)
        return Probed(**{**told, "connectors": tuple(told.get("connectors", ()))})
    except (ValueError, TypeError):
        code = process.returncode
        return Probed(f"ends the process that loads it ({f'signal {-code}' if code < 0 else f'exit code {code}'})")


def _name(info: PluginInfo) -> str:
    """Another one for each version, and for each change of an editable install."""
    stamp = 0
    with suppress(ImportError, ValueError, OSError):
        spec = find_spec(info.package)
        stamp = os.stat(spec.origin).st_mtime_ns if spec and spec.origin else 0
    return f"{info.distribution}=={info.version} {info.key} {info.module} {stamp} {sys.version_info[:2]}"


def _is_fresh(row: dict[str, Any] | None) -> bool:
    return row is not None and (not row["problem"] or 0 <= time.time() - row["at"] < _FAILURE_LASTS)


def _read(file: Path | None) -> dict[str, dict[str, Any]]:
    with suppress(OSError, ValueError):
        if file is not None and isinstance(data := json.loads(file.read_text(encoding="utf-8")), dict):
            return data
    return {}
