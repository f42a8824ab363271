"""Settings out of config.toml and the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.config import Settings, load_settings
from sapwood.errors import ConfigurationError


def test_a_workspace_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "config.toml") == Settings()


def test_the_environment_wins_over_the_file_and_is_read_as_numbers_and_truths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('timezone = "Asia/Shanghai"\nconvert_workers = 3\nlock_wait_seconds = 2\n', encoding="utf-8")
    monkeypatch.setenv("SAPWOOD_CONVERT_WORKERS", "4")
    monkeypatch.setenv("SAPWOOD_REDACT_PERSONAL", "true")
    settings = load_settings(file)
    assert settings.timezone == "Asia/Shanghai"
    assert settings.convert_workers == 4
    assert settings.redact_personal is True
    assert settings.lock_wait_seconds == 2.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("convert_worker = 3\n", ("convert_worker", "Known keys: timezone,")),
        ("convert_workers = 0\n", ("config.toml: convert_workers", ">= 1")),
        ('convert_workers = "4"\n', ("config.toml: convert_workers", "int")),
        ("owner = [1]\n", ("config.toml: owner", "str")),
        ("owner = \n", ("config.toml", "is not TOML", "line 1")),
    ],
)
def test_a_wrong_setting_is_named_with_its_place_and_reason(tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load_settings(file)
    assert [part for part in said if part not in str(caught.value)] == []


def test_a_wrong_variable_is_named_as_the_environment_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_LOCK_WAIT_SECONDS", "soon")
    with pytest.raises(ConfigurationError, match="the environment: SAPWOOD_LOCK_WAIT_SECONDS"):
        load_settings(tmp_path / "config.toml")


def test_the_page_of_settings_names_every_key() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert [key for key in Settings.__struct_fields__ if f"| `{key}` |" not in page] == []
