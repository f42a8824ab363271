"""Plugins come and go: listed without being loaded, tried by themselves, installed and removed in a real environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result
from tests.plugins.conftest import install_plugin
from tests.plugins.environment import Environment

Sapwood = Callable[..., Result]
HOOK = "from sapwood.sdk import hookimpl\n"
BROKEN = {
    "raises": ("raise RuntimeError('boom')", "RuntimeError: boom"),
    "leaves": ("import os; os._exit(7)", "exit code 7"),
    "eats": ("x = []\nwhile True: x.append(bytearray(1 << 24))", "MemoryError"),
    "wrong": (HOOK + "@hookimpl\ndef connectors(): return 5", "gives int where a list belongs"),
    "hook": (HOOK + "@hookimpl\ndef connectors(): raise KeyError('lost')", "KeyError: 'lost'"),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed plugins that every process of the test sees."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(place))
    return place


def _listed(sapwood: Sapwood, command: str = "list") -> dict[str, dict[str, Any]]:
    result = sapwood("connectors", command, "--json")
    return {f"{p['key']} {p['distribution']}": p for p in result.json["plugins"]}


def test_what_metadata_tell_is_listed_without_loading_anything(sapwood: Sapwood, site: Path) -> None:
    for key, (body, _) in BROKEN.items():
        install_plugin(site, f"sapwood-{key}", key, f"broken_{key}", body)
    install_plugin(site, "sapwood-half", "half", "half_gone", HOOK)
    (site / "half_gone.py").unlink()
    install_plugin(site, "sapwood-bare", "bare", "bare_of_metadata", HOOK)
    (site / "sapwood_bare-1.0.dist-info" / "METADATA").unlink()
    for version in ("1.0", "2.0"):
        install_plugin(site, "sapwood-twice", "twice", "twice_there", HOOK, version)
    install_plugin(site, "acme-folder", "folder", "acme_folder", HOOK)
    install_plugin(site, "sapwood-newer", "newer", "newer_one", HOOK, api="1.7")
    states = _listed(sapwood)
    assert {name.split()[0] for name, s in states.items() if s["state"] == "ready"} == {"documents", *BROKEN}
    assert "files are missing" in states["half sapwood-half"]["reason"]
    assert "half uninstalled" in states["bare sapwood_bare"]["reason"]
    assert "1.0 and 2.0" in states["twice sapwood-twice"]["reason"]
    assert "acme-folder and sapwood-folder" in states["folder acme-folder"]["reason"] == states["folder sapwood-folder"]["reason"]  # fmt: skip
    assert "API 1.7" in states["newer sapwood-newer"]["reason"] and states["newer sapwood-newer"]["api"] == "1.7"
    for name, state in states.items():
        if state["state"] == "broken":
            assert f"sapwood connectors uninstall {name.split()[1]}" in state["next_step"] or "Update Sapwood" in state["next_step"] or "sapwood-folder" in state["next_step"], state  # fmt: skip


def test_every_command_works_beside_broken_plugins_and_each_is_named(
    sapwood: Sapwood, site: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.plugins.probing._SECONDS", 15.0)
    for key, (body, _) in BROKEN.items():
        install_plugin(site, f"sapwood-{key}", key, f"broken_{key}", body)
    (folder / "a.md").write_text("The heron stood near the mill.", encoding="utf-8")
    assert sapwood("import", str(folder)).code == 0
    assert sapwood("search", "heron", "--json").json["total"] == 1
    status = sapwood("status", "--json").json["checks"]
    assert {c["name"] for c in status if not c["ok"]} == {f"plugin sapwood-{key}" for key in BROKEN}
    told = _listed(sapwood, "doctor")
    for key, (_, reason) in BROKEN.items():
        state = told[f"{key} sapwood-{key}"]
        assert state["state"] == "broken" and reason in state["reason"], state
        assert f"sapwood connectors uninstall sapwood-{key}" in state["next_step"]
    assert {p["key"] for p in told.values() if p["state"] == "ready"} == {"documents", "folder"}


def test_a_plugin_that_does_not_end_its_loading_holds_up_one_import_once(
    sapwood: Sapwood, site: Path, folder: Path
) -> None:
    install_plugin(site, "sapwood-loops", "loops", "loops_for_ever", "while True: pass")
    (folder / "a.md").write_text("The heron stood near the mill.", encoding="utf-8")
    assert sapwood("import", str(folder)).code == 0
    (folder / "b.md").write_text("The otter swam below the mill.", encoding="utf-8")
    again = sapwood("import", str(folder), "--json")
    assert again.code == 0 and again.json["seconds"] < 12
    assert any("does not end its loading" in c["detail"] for c in sapwood("status", "--json").json["checks"])


def test_a_plugin_that_is_switched_off_is_not_used_until_it_is_switched_on(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("The heron stood near the mill.", encoding="utf-8")
    assert "disabled" in sapwood("connectors", "disable", "folder").out
    refused = sapwood("import", str(folder))
    assert refused.code == 1 and "sapwood connectors enable folder" in refused.err
    sapwood("connectors", "enable", "folder")
    assert sapwood("connectors", "disable", "documents").code == 0
    assert [f["status"] for f in sapwood("import", str(folder), "--json").json["files"]] == ["skipped"]
    sapwood("connectors", "enable", "documents")
    assert sapwood("import", str(folder), "--retry-failed").code == 0
    assert sapwood("search", "heron", "--json").json["total"] == 1


def test_an_unknown_name_says_what_there_is(sapwood: Sapwood) -> None:
    result = sapwood("connectors", "show", "nowhere")
    assert result.code == 1 and "documents, folder" in result.err
    shown = sapwood("connectors", "show", "folder", "--json").json["plugins"][0]
    assert shown["connectors"][0]["schema"]["required"] == ["root"] and shown["connectors"][0]["hosts"] == []


# -- a real environment -----------------------------------------------------------------------------------------------

PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "sapwood-heron"
version = "{version}"
description = "Herons from everywhere."
dependencies = ["sapwood>=0.1"]
[project.entry-points."sapwood.connectors"]
heron = "sapwood_heron"
[project.entry-points."sapwood.api"]
"{api}" = "sapwood_heron"
[project.entry-points."sapwood.hosts"]
"api.heron.example" = "sapwood_heron"
"""
MODULE = """from sapwood.sdk import API_VERSION, CheckpointModel, CheckReport, ConnectorConfig, ConnectorSpec, hookimpl
open({mark!r}, "a").write("loaded\\n")
class Config(ConnectorConfig):
    pond: str = "north"
class Heron:
    def check(self, ctx): return CheckReport("one")
    def pull(self, ctx, request): yield from ()
@hookimpl
def connectors():
    return [ConnectorSpec("heron", "Herons", API_VERSION, Config, CheckpointModel, lambda config: Heron(), hosts=lambda config: ("api.heron.example",))]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "heron"
    (place / "sapwood_heron").mkdir(parents=True)
    (place / "pyproject.toml").write_text(PROJECT.format(version="1.2", api="1.0"), encoding="utf-8")
    (place / "sapwood_heron" / "__init__.py").write_text(MODULE.format(mark=str(tmp_path / "loaded")), encoding="utf-8")
    return place


def _wheel(project: Path) -> Path:
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", str(project)], check=True, capture_output=True)  # fmt: skip
    return next((project / "dist").glob("*.whl"))


@pytest.mark.parametrize("with_uv", [True, False], ids=["uv", "pip"])
def test_a_wheel_is_shown_installed_used_frozen_removed_and_restored(
    project: Path, tmp_path: Path, workspace: Path, with_uv: bool
) -> None:
    if with_uv and not shutil.which("uv", path=os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)])):
        pytest.skip("uv is not there")
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)])
    run, wheel = Environment(tmp_path / "env", workspace, with_uv), _wheel(project)
    asked = run("connectors", "install", str(wheel))
    assert asked.code == 2 and "talks to: api.heron.example" in asked.out and "--yes" in asked.err
    assert not (tmp_path / "loaded").exists(), "looking at a plugin runs nothing of it"
    assert "heron" not in {p["key"] for p in run("connectors", "list", "--json").json["plugins"]}
    installed = run("connectors", "install", str(wheel), "--yes")
    assert installed.code == 0 and "heron  ready" in installed.out, installed
    shown = run("connectors", "show", "heron").out
    assert "talks to api.heron.example" in shown and "pond" in shown
    shutil.rmtree(project)
    lines = run("connectors", "freeze", "--json").json["requirements"]
    assert any(line.startswith("sapwood-heron @ ") and str(workspace) in line for line in lines)
    assert run("connectors", "uninstall", "heron").out == "Removed: sapwood-heron 1.2.\n"
    assert "heron" not in {p["key"] for p in run("connectors", "list", "--json").json["plugins"]}


def test_after_an_upgrade_of_the_host_its_plugins_come_back(project: Path, tmp_path: Path, workspace: Path) -> None:
    wheel = _wheel(project)
    before = Environment(tmp_path / "before", workspace, with_uv=False)
    assert before("connectors", "install", str(wheel), "--yes").code == 0
    connection = workspace / "connections" / "heron"
    connection.mkdir(parents=True)
    (connection / "pond.toml").write_text('name = "pond"\naccount = "one"\n[config]\n', encoding="utf-8")
    shutil.rmtree(project)
    after = Environment(tmp_path / "after", workspace, with_uv=False)
    (missing,) = [p for p in after("connectors", "list", "--json").json["plugins"] if p["state"] == "missing"]
    assert (missing["key"], missing["connections"]) == ("heron", ["pond"]) and "restore" in missing["next_step"]
    assert "sapwood-heron: installed" in after("connectors", "restore").out
    assert "heron  ready" in after("connectors", "list").out
    assert "sapwood-heron: is there" in after("connectors", "restore").out


def test_what_is_no_plugin_or_too_new_or_claims_anothers_key_is_refused(
    project: Path, tmp_path: Path, workspace: Path
) -> None:
    run = Environment(tmp_path / "env", workspace, with_uv=False)
    plan = (project / "pyproject.toml").read_text(encoding="utf-8")
    for change, reason in (
        (("sapwood.connectors", "somebody.else"), "is no plugin of Sapwood's"),
        (('"1.0" = ', '"1.9" = '), "needs plugin API 1.9"),
        (('heron = "sapwood_heron"', 'folder = "sapwood_heron"'), "which sapwood-folder has"),
    ):
        (project / "pyproject.toml").write_text(plan.replace(*change), encoding="utf-8")
        shutil.rmtree(project / "dist", ignore_errors=True)
        refused = run("connectors", "install", str(_wheel(project)), "--yes")
        assert refused.code == 1 and reason in refused.err, refused
    for nothing in (str(tmp_path), "no such/thing", "x.whl"):
        assert run("connectors", "install", nothing, "--yes").code == 1
    assert {p["key"] for p in json.loads(run("connectors", "list", "--json").out)["plugins"]} == {"documents", "folder"}


def test_what_is_half_gone_or_there_twice_can_be_removed(tmp_path: Path, workspace: Path) -> None:
    run = Environment(tmp_path / "env", workspace, with_uv=False)
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    install_plugin(site, "sapwood-bare", "bare", "bare_of_metadata", HOOK)
    (site / "sapwood_bare-1.0.dist-info" / "METADATA").unlink()
    for version in ("1.0", "2.0"):
        install_plugin(site, "sapwood-twice", "twice", "twice_there", HOOK, version)
    for name in ("sapwood_bare", "sapwood-twice"):
        removed = run("connectors", "uninstall", name)
        assert removed.code == 0, removed
    assert not list(site.glob("*bare*")) and not list(site.glob("*twice*"))
