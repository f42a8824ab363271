"""What a broken uninstall has left of a distribution: its metadata folder, and the modules that nothing else claims."""

from __future__ import annotations

import shutil
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from sapwood.plugins.installed import first_package
from sapwood.sdk import hooks

__all__ = ["remove_remains"]


def remove_remains(distribution: str) -> None:
    """Remove it file by file; only inside of the folder in which it is installed."""
    for found in list(metadata.distributions(name=distribution)):
        folder = Path(str(found.locate_file(""))).resolve()
        info = getattr(found, "_path", None)
        if not isinstance(info, Path):
            continue
        for name in _own_modules(found, folder):
            _remove(folder / name, folder)
            _remove(folder / f"{name}.py", folder)
        _remove(info, folder)


def _own_modules(found: metadata.Distribution, folder: Path) -> list[str]:
    """Top-level modules of its plugins that no other distribution's record names."""
    mine = {first_package(entry.value) for entry in found.entry_points.select(group=hooks.ENTRY_POINT_GROUP)}
    for other in metadata.distributions(path=[str(folder)]):
        if getattr(other, "_path", None) != getattr(found, "_path", None):
            mine -= {file.parts[0].removesuffix(".py") for file in other.files or () if file.parts}
    return sorted(mine)


def _remove(path: Path, folder: Path) -> None:
    if folder not in path.resolve().parents:
        return
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
