"""What a worker with nothing to do costs: memory of all its processes, and CPU over a minute, five minutes after its last job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def _family(folder: Path, root: int) -> list[int]:
    """The process, its descendants, and the workspace's embedder."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family = {root}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    for pid in parents:
        try:
            if (
                str(folder) in Path(f"/proc/{pid}/cmdline").read_text()
                and "models.server" in Path(f"/proc/{pid}/cmdline").read_text()
            ):
                family.add(pid)
        except OSError:
            continue
    return sorted(family)


def _rss(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def run(wait: float = 310.0, watch: float = 60.0) -> dict[str, float]:
    """MiB (shared pages counted once), number of processes, and share of a core."""
    with tempfile.TemporaryDirectory() as place:
        folder, workspace = Path(place) / "files", Path(place) / "ws"
        folder.mkdir()
        for number in range(20):
            (folder / f"{number}.md").write_text(f"Anna Ek pays {number} EUR to 张伟 in Berlin.\n", encoding="utf-8")
        environment = {**os.environ, "SAPWOOD_EMBEDDING_MODEL": "offline"}
        command = [sys.executable, "-m", "sapwood"]
        subprocess.run(
            [*command, "import", str(folder), "--workspace", str(workspace)],
            check=True,
            capture_output=True,
            env=environment,
        )
        work = subprocess.Popen([*command, "work", "--workspace", str(workspace)], env=environment)
        try:
            time.sleep(wait)
            family = _family(workspace, work.pid)
            before = sum(map(_ticks, family))
            time.sleep(watch)
            core = (sum(map(_ticks, family)) - before) / _TICKS / watch
            alive = [pid for pid in family if Path(f"/proc/{pid}").exists()]
            return {"mib": sum(map(_rss, alive)), "processes": len(alive), "core": core}
        finally:
            work.terminate()
            work.wait()


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
