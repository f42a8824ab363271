"""Processes killed at any moment while trees grow: the same trees as without."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Result, let_rest
from tests.trees.test_days import _week
from tests.trees.test_growth import SUBJECTS, _faults, _note, _trees, _write_notes

ENV = {"SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1", "SAPWOOD_TIMEZONE": "UTC"}


def _let_work(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a process has used so much of a processor, so that it comes as far on a machine that has other work; or has ended."""
    ticks = seconds * os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        used = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        if sum(map(int, used)) >= ticks:
            return
        time.sleep(0.02)


def test_killed_work_grows_the_same_trees(
    sapwood: Callable[..., Result], folder: Path, workspace: Path, tmp_path: Path
) -> None:
    _write_notes(folder, 12)
    _week(folder)
    (folder / "long.md").write_text(
        "\n\n".join(f"## {s} {n}\n\n{_note(s, n) * 40}" for n in range(3) for s in SUBJECTS), encoding="utf-8"
    )
    let_rest(folder)
    assert sapwood("import", str(folder), "--wait", env=ENV).code == 0
    whole = _trees(workspace)
    broken = tmp_path / "broken"
    random_ = random.Random(11)
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-m", "sapwood", "import", str(folder), "--wait", "--workspace", str(broken)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **ENV},
        )  # fmt: skip
        _let_work(process, random_.uniform(0.4, 2.2))
        process.kill()
        process.wait()
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "import", str(folder), "--wait", "--workspace", str(broken)], capture_output=True, env={**os.environ, **ENV}, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert _trees(broken) == whole and _faults(broken) == {}
    notes = [
        {str(path.relative_to(place)) for path in (place / "wiki").rglob("*.md") if "reports" not in path.parts}
        for place in (workspace, broken)
    ]
    assert notes[0] == notes[1]
