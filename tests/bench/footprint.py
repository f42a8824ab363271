"""Peak memory of the importing process over many files. Its parsers and its connector are processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import texts


def _peak_mb(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except (OSError, ValueError):
        pass
    return 0.0


def run(files: int = 10_000) -> dict[str, float]:
    """MiB of resident memory at its highest."""
    made = texts.Writer(3)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "files"
        for number in range(files):
            inner = folder / f"d{number % 100}"
            inner.mkdir(parents=True, exist_ok=True)
            (inner / f"{number}.md").write_text(made.document(number).text, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "sapwood", "import", str(folder), "--workspace", str(Path(place) / "ws"), "--json"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, _peak_mb(process.pid))
            time.sleep(0.1)
    return {"files": files, "peak_mib": peak}


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
