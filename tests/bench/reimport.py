"""What an unchanged file costs on the next import, beside a bare walk with stat.

The marginal cost is the difference between two sizes of folder, so that the cost of starting up falls out.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _import(folder: Path, workspace: Path) -> tuple[float, float]:
    """CPU seconds of all processes, and wall seconds."""
    before, began = _children_cpu(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "sapwood", "import", str(folder), "--workspace", str(workspace)],
        check=True,
        capture_output=True,
    )
    return _children_cpu() - before, time.perf_counter() - began


def _walk(folder: Path) -> float:
    began = time.process_time()
    for place, _, names in os.walk(folder):
        for name in names:
            os.stat(os.path.join(place, name))
    return time.process_time() - began


def run(small: int = 10_000, large: int = 100_000) -> dict[str, float]:
    """Microseconds a file of both, in CPU and in time, their ratios, and the wall time of the large unchanged run."""
    spent: dict[int, tuple[float, float]] = {}
    walked: dict[int, float] = {}
    for count in (small, large):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "files"
            for number in range(count):
                inner = folder / f"d{number % 50}"
                if number < 50:
                    inner.mkdir(parents=True)
                (inner / f"{number}.txt").write_text(f"text number {number}\n", encoding="utf-8")
            _import(folder, Path(place) / "ws")
            runs = [_import(folder, Path(place) / "ws") for _ in range(4)]
            spent[count] = min(cpu for cpu, _ in runs), min(wall for _, wall in runs)
            walked[count] = min(_walk(folder) for _ in range(5))
    files = large - small
    cpu, wall = ((spent[large][i] - spent[small][i]) / files * 1e6 for i in (0, 1))
    bare = (walked[large] - walked[small]) / files * 1e6
    return {
        "files": large, "ours_us": cpu, "wall_us": wall, "walk_us": bare, "cpu_ratio": cpu / bare, "wall_ratio": wall / bare,
        "wall_s": spent[large][1],
    }  # fmt: skip


if __name__ == "__main__":
    print(run())
