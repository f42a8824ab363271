"""`make demo`: import the folder `demo/files` and ask questions about it. Needs no network and no model."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
WORKSPACE = HERE.parent / "demo-workspace"
QUESTIONS = (
    "Who keeps the rollback build ready?",
    "when was the declination bearing replaced",
    "deposit for the workshop",
    "红烧肉要炖多久",
    "龍安寺",  # asked in Traditional characters, written in Simplified ones
    "押金",
    "gh-02",
)


def sapwood(*arguments: str) -> int:
    """Run a command as a person would, and show it."""
    print(f"\n$ sapwood {' '.join(arguments)}", flush=True)
    return subprocess.call([sys.executable, "-m", "sapwood", *arguments, "--workspace", str(WORKSPACE)])


def main() -> int:
    """Import, search, prove; non-zero when anything fails."""
    if WORKSPACE.exists():
        shutil.rmtree(WORKSPACE)
    failed = sapwood("import", str(HERE / "files"))
    for question in QUESTIONS:
        failed |= sapwood("search", question, "--limit", "2")
    failed |= sapwood("doctor")
    print(f"\nThe vault is {WORKSPACE / 'wiki'}: open it in Obsidian or any editor.")
    print(
        "Its password line was cut out before anything was stored: grep -r winter-Harbour demo-workspace finds nothing."
    )
    return failed


if __name__ == "__main__":
    sys.exit(main())
