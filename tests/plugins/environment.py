"""An environment of its own in which a test installs plugins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.conftest import Result


class Environment:
    """A virtual environment that sees this one's packages, so that Sapwood is in it."""

    def __init__(self, place: Path, workspace: Path, with_uv: bool) -> None:
        venv.create(place, with_pip=not with_uv, symlinks=True)
        self.python = place / "bin" / "python"
        site = subprocess.run([self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
        parents = [path for path in sys.path if "site-packages" in path or path.endswith(("/platform", "/src"))]
        Path(site, "parents.pth").write_text("\n".join([sysconfig.get_path("purelib"), *parents]), encoding="utf-8")
        self._workspace = workspace
        tools = [str(Path(shutil.which("uv") or "").parent)] if with_uv else []
        self._env = {**os.environ, "PATH": os.pathsep.join([*tools, "/usr/bin", "/bin"])}

    def __call__(self, *arguments: str, env: dict[str, str] | None = None) -> Result:
        done = subprocess.run(
            [self.python, "-m", "sapwood", *arguments, "--workspace", str(self._workspace)],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**self._env, **(env or {})}, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)
