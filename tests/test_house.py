"""How the repository is built: floors, packages, what starts fast."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def _tracked() -> list[Path]:
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in out.split("\0") if name]


def test_platform_is_no_package() -> None:
    """With an __init__.py it would shadow the standard library's module of that name."""
    assert not (ROOT / "platform" / "__init__.py").exists()
    subprocess.run([sys.executable, "-c", "import uuid, platform; platform.system()"], cwd=ROOT, check=True)


def test_no_lock_file_carries_addresses_of_an_index() -> None:
    assert not [f for f in _tracked() if f.name == "uv.lock"]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock and "--index-url" not in lock
    pins = [line for line in lock.splitlines() if re.match(r"[a-z0-9]", line)]
    assert pins and all("==" in line for line in pins)
    assert lock.count("--hash=sha256:") >= len(pins)


def test_modules_stay_small() -> None:
    long = {
        str(f.relative_to(ROOT)): n
        for f in _tracked()
        if f.suffix == ".py" and (n := len(f.read_text(encoding="utf-8").splitlines())) > 600
    }
    assert not long


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, sapwood.cli.app; print([m for m in ('apsw', 'pydantic', 'tiktoken', 'opencc', 'httpx', 'docx', 'pebble') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def _floors(tree: Path) -> subprocess.CompletedProcess[str]:
    paths = [str(tree / "platform"), str(tree / "connectors/folder/src"), str(tree / "connectors/documents/src")]
    code = "import sys; sys.path[:0] = sys.argv[1:]; from importlinter.cli import lint_imports_command; lint_imports_command(args=['--no-cache'])"
    return subprocess.run([sys.executable, "-c", code, *paths], cwd=tree, capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources."""
    for name in ("platform", "connectors"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_floors_hold(tree: Path) -> None:
    done = _floors(tree)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("platform/sapwood/text/names.py", "import sapwood.store.database"),
        ("platform/sapwood/store/items.py", "import sapwood.ingest.commit"),
        ("platform/sapwood/recall/search.py", "import sapwood.memory"),
        ("platform/sapwood/sdk/errors.py", "import sapwood.clock"),
        ("connectors/folder/src/sapwood_folder/walk.py", "import sapwood.text.names"),
    ],
)
def test_an_import_from_a_higher_floor_is_caught(tree: Path, file: str, line: str) -> None:
    source = tree / file
    text = source.read_text(encoding="utf-8")
    source.write_text(
        text.replace("from __future__ import annotations\n", f"from __future__ import annotations\n\n{line}\n", 1),
        encoding="utf-8",
    )
    assert _floors(tree).returncode != 0


def test_the_readme_names_its_two_commands() -> None:
    for name in ("README.md", "README.zh.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "make demo" in text and "make test" in text


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate


def test_links_between_pages_lead_somewhere() -> None:
    assert not _generator().broken_links()


def test_the_generated_reference_is_that_of_this_code() -> None:
    generate = _generator()
    made = {"cli": generate.command_reference(), "settings": generate.settings_reference(), "sdk": generate.sdk_reference(), "kit": generate.kit_reference()}  # fmt: skip
    for name, text in made.items():
        held = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        assert held == text, f"docs/reference/{name}.md is old: run `make docs`"
