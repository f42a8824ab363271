"""What a person or a program types, and what it is answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Result

Sapwood = Callable[..., Result]


def test_a_query_may_begin_with_a_hyphen(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("call it with -verbose and read on\n", encoding="utf-8")
    sapwood("import", str(folder))
    assert sapwood("search", "-verbose", "--json").json["total"] == 1
    assert sapwood("search", "-x", "--json").json["total"] == 0
    assert sapwood("search", "words", "--limt", "3", "--json").code == 2


def test_a_usage_error_is_an_object_on_stdout_when_json_is_asked_for(sapwood: Sapwood) -> None:
    wrong = sapwood("search", "words", "--unit", "page", "--json")
    assert wrong.code == 2
    assert "'page' is not one of" in wrong.json["error"]
    assert sapwood("search", "words", "--unit", "page").out == ""
