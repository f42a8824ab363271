"""The guarded loader: listing imports nothing, a broken plugin names itself."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from tests.plugins.conftest import install_plugin

from sapwood.errors import PluginError
from sapwood.plugins.installed import PluginInfo, list_plugins
from sapwood.plugins.loader import connector_spec, load_plugin


def test_the_installed_plugins_are_listed_without_importing_them() -> None:
    code = "import sys; from sapwood.plugins.installed import list_plugins; print([p.key for p in list_plugins()]); print([m for m in sys.modules if m.startswith('sapwood_')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert out == ["['documents', 'folder']", "[]"]


def test_two_distributions_with_one_key_are_an_error_that_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(tmp_path, "first-one", "twin", "twin_a", "")
    install_plugin(tmp_path, "second-one", "twin", "twin_b", "")
    monkeypatch.syspath_prepend(str(tmp_path))
    twins = [p for p in list_plugins() if p.key == "twin"]
    assert len(twins) == 2 and all("first-one and second-one" in p.problem for p in twins)
    with pytest.raises(PluginError, match="first-one and second-one"):
        load_plugin(twins[0])
    assert {"documents", "folder"} <= {p.key for p in list_plugins() if not p.problem}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('boom')", "RuntimeError: boom"),
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("from sapwood.sdk import hookimpl\n@hookimpl\ndef no_such_hook(): pass", "no_such_hook"),
        ("from sapwood.sdk import hookimpl\n@hookimpl\ndef convert(file, extra): pass", "extra"),
    ],
)
def test_a_broken_plugin_is_named_with_the_command_that_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    name = f"broken-{abs(hash(body))}"
    install_plugin(tmp_path, name, "broken", name.replace("-", "_"), body)
    monkeypatch.syspath_prepend(str(tmp_path))
    info = next(p for p in list_plugins() if p.key == "broken")
    with pytest.raises(PluginError, match=said) as caught:
        load_plugin(info)
    assert f"sapwood connectors uninstall {name}" in str(caught.value)


def test_an_unknown_key_says_what_is_installed() -> None:
    with pytest.raises(PluginError, match=r"installed: documents, folder.*sapwood connectors install nowhere"):
        connector_spec("nowhere")


def test_a_connector_for_a_newer_api_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "from sapwood.sdk import hookimpl, ConnectorSpec, ConnectorConfig, CheckpointModel\n"
        "@hookimpl\n"
        "def connectors():\n"
        "    return [ConnectorSpec('future', 'F', '1.9', ConnectorConfig, CheckpointModel, lambda c: c)]\n"
    )
    install_plugin(tmp_path, "from-the-future", "future", "from_the_future", body)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PluginError, match=r"needs plugin API 1\.9"):
        connector_spec("future")


def test_a_hook_that_fails_names_its_plugin() -> None:
    info = next(p for p in list_plugins() if p.key == "documents")
    assert isinstance(info, PluginInfo)
    with pytest.raises(PluginError, match="failed in its hook convert"):
        load_plugin(info).call("convert", file=None)


def test_every_connector_declares_its_entry_point_under_its_folders_name() -> None:
    keys = {entry.name: entry.value for entry in metadata.entry_points(group="sapwood.connectors")}
    root = Path(__file__).parents[2] / "connectors"
    assert {folder.name for folder in root.iterdir() if folder.is_dir()} == set(keys)
