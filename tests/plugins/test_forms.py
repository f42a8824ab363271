"""A connector's configuration: asked for by its schema, given as texts, and what is wrong with it said by field."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field as Described
from tests.conftest import Result

from sapwood.errors import ConfigurationError
from sapwood.plugins.forms import fields_of, parse_settings
from sapwood.sdk import ConnectorConfig, SecretReference

Sapwood = Callable[..., Result]


class _Depth(StrEnum):
    ALL = "all"
    RECENT = "recent"


class _Config(ConnectorConfig):
    token: SecretReference = Described(description="Token of the bot.")
    channels: tuple[str, ...] = ()
    keys: tuple[SecretReference, ...] = ()
    days: int | None = None
    rate: float = 1.5
    archived: bool = False
    depth: _Depth = _Depth.ALL
    region: Literal["cn", "com"] = "com"
    headers: dict[str, str] = Described(default_factory=dict)


FIELDS = fields_of(_Config.model_json_schema())


def test_the_fields_of_a_model_are_those_of_its_form() -> None:
    told = {f.name: (f.kind, f.is_required, f.is_secret, f.choices) for f in FIELDS}
    assert told == {
        "token": ("string", True, True, ()), "channels": ("array", False, False, ()), "keys": ("array", False, True, ()), "days": ("integer", False, False, ()),
        "rate": ("number", False, False, ()), "archived": ("boolean", False, False, ()), "depth": ("string", False, False, ("all", "recent")),
        "region": ("string", False, False, ("cn", "com")), "headers": ("object", False, False, ()),
    }  # fmt: skip
    assert FIELDS[0].description == "Token of the bot." and "env:NAME" in FIELDS[0].accepts


def test_texts_become_values_of_their_fields_types() -> None:
    given = [
        "token=env:T=1",
        "channels=general, 通用",
        'keys=["env:A"]',
        "days=30",
        "rate=2",
        "archived=yes",
        "depth=recent",
        'headers={"a": "b"}',
    ]
    found = parse_settings("slack", given, FIELDS)
    assert _Config(**found) == _Config(
        token="env:T=1", channels=("general", "通用"), keys=("env:A",), days=30, rate=2.0, archived=True, depth=_Depth.RECENT, headers={"a": "b"}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("token", "names no value"), ("nothing=1", "It has: token, channels"), ("days=soon", "a whole number"), ("archived=perhaps", "true or false"),
        ("depth=deep", "all or recent"), ("headers=[1]", "a JSON object"), ("headers={", "a JSON object"), ("token=xoxb-123-secret", "a reference to a secret"),
    ],
)  # fmt: skip
def test_what_cannot_stand_there_is_named_with_what_can(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as wrong:
        parse_settings("slack", [text], FIELDS)
    assert "xoxb" not in str(wrong.value), "a secret that was typed where a reference belongs is not shown"


def test_a_configuration_is_checked_by_the_connector_itself(sapwood: Sapwood, folder: Path) -> None:
    def check(*settings: str) -> Any:
        return sapwood("connectors", "check", "folder", *(part for text in settings for part in ("--set", text)))

    fine = check(f"root={folder}")
    assert fine.code == 0 and fine.out.startswith("Reached files (files-")
    missing = check()
    assert missing.code == 1 and "root: is required. Set it with --set root=…" in missing.err
    several = check(f"root={folder}", "max_file_mb=0", "max_text_mb=-1")
    assert "max_file_mb: " in several.err and "max_text_mb: " in several.err and "--set max_file_mb=… --set max_text_mb=…" in several.err  # fmt: skip
    nowhere = check(f"root={folder}/nowhere")
    assert "nowhere is not a folder. Give the path" in nowhere.err
    assert sapwood("connectors", "schema", "folder").json["properties"]["root"]["type"] == "string"
    assert "only reads files for others" in sapwood("connectors", "schema", "documents").err
