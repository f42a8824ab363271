"""The template's packages work at once, from their wheels, and so does what the tutorial shows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.conftest import Result
from tests.plugins.environment import Environment

from sapwood.errors import ConfigurationError
from sapwood.plugins.template import AUTHS, KINDS, NewConnector, keep_template, render

Sapwood = Callable[..., Result]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["Mein Wetter", "天气", "2day", "class", "none-of", "a" * 50, "", "Weather", "../x"])
def test_a_name_that_is_no_key_is_refused_with_one_that_is(name: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        NewConnector(name)
    proposed = re.search(r"connectors new (\w+)", str(refused.value))
    assert proposed and NewConnector(proposed[1])


def test_a_folder_that_is_there_is_left_alone(sapwood: Sapwood, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept.txt").write_text("kept", encoding="utf-8")
    result = sapwood("connectors", "new", "weather", "--into", str(tmp_path / "mine"))
    assert result.code == 1 and "is there already" in result.err and "--into" in result.err
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["kept.txt"]


def test_all_that_can_be_asked_for_is_rendered_as_tidy_python(tmp_path: Path) -> None:
    for kind in KINDS:
        for auth in AUTHS:
            key = f"x_{kind}_{auth}"
            files = render(NewConnector(key, "天气 Weather", kind, auth, "Ada"), tmp_path / key)
            assert Path(f"src/sapwood_{key}/connector.py") in files and Path(".copier-answers.yml") in files
            for file in files:
                text = (tmp_path / key / file).read_text(encoding="utf-8")
                assert "{%" not in text and "{{ " not in text.replace("${{ ", ""), file
    for command in (
        ["check", "--isolated", "--line-length", "120"],
        ["format", "--check", "--isolated", "--line-length", "120"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_the_template_is_kept_as_a_repository_with_a_tag_for_each_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "ws" / "plugins" / "template"
    for version in ("1.0", "1.0", "1.1"):
        monkeypatch.setattr("sapwood.__version__", version)
        assert keep_template(place) == place
    log = subprocess.run(["git", "log", "--format=%s"], cwd=place, capture_output=True, text=True, check=True).stdout
    assert log.splitlines() == ["The template of Sapwood v1.1", "The template of Sapwood v1.0"]
    assert subprocess.run(["git", "tag"], cwd=place, capture_output=True, text=True, check=True).stdout.split() == ["v1.0", "v1.1"]  # fmt: skip
    assert (tmp_path / "ws").stat().st_mode & 0o777 == 0o700
    render(NewConnector("weather"), tmp_path / "w", place)
    answers = yaml.safe_load((tmp_path / "w" / ".copier-answers.yml").read_text(encoding="utf-8"))
    assert (answers["_commit"], answers["_src_path"], answers["key"]) == ("v1.1", str(place), "weather")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "auth"), [("document", "token"), ("chat", "oauth"), ("email", "none")])
def test_a_new_package_passes_the_kit_from_its_wheel(sapwood: Sapwood, tmp_path: Path, kind: str, auth: str) -> None:
    made = sapwood("connectors", "new", "weather", "--kind", kind, "--auth", auth, "--into", str(tmp_path / "w"))
    assert made.code == 0, made.err
    tried = sapwood("connectors", "test", str(tmp_path / "w"), "--json")
    assert tried.code == 0, tried.out + tried.err
    outcomes = {row["check"]: row["outcome"] for row in tried.json["checks"]}
    assert "failed" not in outcomes.values() and tried.json["passed"] == tried.json["tried"] > 50
    assert {outcome for check, outcome in outcomes.items() if check.startswith("package.")} == {"passed"}


@pytest.mark.slow
def test_what_fails_is_named_and_ends_with_another_code(sapwood: Sapwood, tmp_path: Path) -> None:
    render(NewConnector("weather"), tmp_path / "w")
    source = tmp_path / "w" / "src" / "sapwood_weather" / "connector.py"
    source.write_text(
        source.read_text(encoding="utf-8").replace("f\"{scope}:{entry['id']}\"", 'f"{scope}:{entry}"'), encoding="utf-8"
    )
    tried = sapwood("connectors", "test", str(tmp_path / "w"), "-k", "edit or stays_small", "--json")
    assert tried.code == 3
    assert [row["check"] for row in tried.json["checks"] if row["outcome"] == "failed"] == ["incremental.brings_an_edit_under_the_same_id"]  # fmt: skip


@pytest.mark.slow
def test_an_author_goes_from_nothing_to_a_hit_and_the_list_shows_the_proof(tmp_path: Path, workspace: Path) -> None:
    run = Environment(tmp_path / "env", workspace, with_uv=False)
    folder = tmp_path / "sapwood-weather"
    assert run("connectors", "new", "weather", "--into", str(folder)).code == 0
    assert run("connectors", "test", str(folder), "-k", "package", "--json").code == 0
    assert run("connectors", "install", str(folder), "--yes").code == 0
    service = subprocess.Popen(
        [run.python, str(folder / "tests" / "service.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert service.stdout and service.stdin
        variable, _, secret = service.stdout.readline().removeprefix("export ").strip().partition("=")
        arguments = service.stdout.readline().split()[1:]
        connected = run(*arguments, env={variable: secret})
        assert connected.code == 0 and "3 stored" in connected.out, connected
        hit = run("search", "heron", "--json").json["hits"][0]
        assert hit["item_id"] == "weather:u1:e1" and hit["source_ref"].endswith("/entries/e1")
        again = run("sync", "--json", env={variable: secret})
        assert again.json["runs"][0]["counts"]["unchanged"] == 3
        without = run("sync", "weather")
        assert without.code == 1 and variable in without.out, "the missing secret is named"
    finally:
        service.communicate("\n", timeout=20)
    assert secret not in "".join(f.read_text(errors="replace") for f in workspace.rglob("*") if f.is_file())


@pytest.mark.slow
def test_the_two_files_of_the_tutorial_bring_their_items(tmp_path: Path, workspace: Path) -> None:
    blocks = re.findall(r"```(toml|python)\n(.*?)```", (ROOT / "docs/authors/tutorial.md").read_text(encoding="utf-8"), re.DOTALL)  # fmt: skip
    folder = tmp_path / "sapwood-quotes"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(next(text for kind, text in blocks if kind == "toml"), encoding="utf-8")
    module = next(text for kind, text in blocks if kind == "python")
    (folder / "sapwood_quotes.py").write_text(module, encoding="utf-8")
    run = Environment(tmp_path / "env", workspace, with_uv=False)
    assert run("connectors", "install", str(folder), "--yes").code == 0
    assert run("connect", "quotes").code == 0
    assert run("search", "heron", "--json").json["hits"][0]["item_id"] == "quotes:built-in:heron"
    shorter = "\n".join(line for line in module.splitlines() if "QUOTES = " not in line)
    (folder / "sapwood_quotes.py").write_text(
        shorter.replace("class Quotes", 'QUOTES = {"smith": "Sold."}\n\n\nclass Quotes'), encoding="utf-8"
    )
    assert run("connectors", "install", str(folder), "--yes").code == 0
    assert run("sync", "--json").json["runs"][0]["removed"] == ["quotes:built-in:heron"]


def test_a_folder_without_tests_is_told_what_it_lacks(sapwood: Sapwood, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    result = sapwood("connectors", "test", str(tmp_path))
    assert result.code == 1 and "has no folder tests/" in result.err and "ConnectorTests" in result.err
    assert sapwood("connectors", "test", str(tmp_path / "nowhere")).code == 1
