"""Plugins installed for a test: a folder as pip would leave it."""

from __future__ import annotations

from pathlib import Path


def install_plugin(
    site: Path, name: str, key: str, module: str, body: str, version: str = "1.0", api: str = ""
) -> None:
    """Write a distribution with one module and one entry point into `site`."""
    site.mkdir(exist_ok=True)
    (site / f"{module}.py").write_text(body, encoding="utf-8")
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    declared = f"[sapwood.api]\n{api} = {module}\n" if api else ""
    (info / "entry_points.txt").write_text(f"[sapwood.connectors]\n{key} = {module}\n{declared}", encoding="utf-8")
