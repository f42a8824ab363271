"""A language model for what the rules cannot decide: asked only there, and never to anybody's harm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.memory import Memory
from sapwood.pipeline.ask_model import entities_of
from sapwood.sdk import Kind
from tests.models.test_remote import Reply, Server
from tests.pipeline.test_extract import _take_in

_GREY = "The blue one is in the shed behind the old mill."


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


@pytest.fixture
def memory(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("SAPWOOD_LANGUAGE_MODEL", "openai:m")
    monkeypatch.setenv("SAPWOOD_LANGUAGE_URL", server.url)
    with Memory(tmp_path / "ws", create=True) as opened:
        yield opened


def _answer(content: Any) -> Reply:
    text = content if isinstance(content, str) else json.dumps(content)
    return 200, {}, json.dumps({"choices": [{"message": {"content": text}}]}).encode()


def _score(memory: Memory) -> tuple[float, float | None]:
    return memory.database.row("SELECT total, llm_importance FROM mem_tree_score")  # type: ignore[return-value]


def test_only_what_is_between_the_thresholds_is_asked_and_the_answer_counts(memory: Memory, server: Server) -> None:
    server.reply = lambda path, body: _answer({"importance": 0.95, "reason": "a place to find it", "entities": [
        {"kind": "place", "text": "the old mill"}, {"kind": "person", "text": "Nobody Here"}, {"kind": "???", "text": "blue one"},
    ]})  # fmt: skip
    _take_in(
        memory,
        _GREY,
        "ok",
        "We decided that Olga Petrova pays $2,400 to the Central Bank by 2026-05-05, because the landlord asked; first call Bo Li at 555 0199, then sign.",
        kind=Kind.CHAT,
    )
    assert memory.work(drain=True) == {}
    (asked,) = server.seen
    assert (
        asked[0] == "/chat/completions" and _GREY in asked[1]["messages"][1]["content"] and asked[1]["temperature"] == 0
    )
    entities = {row[0] for row in memory.database.rows("SELECT entity_id FROM mem_tree_entity_index")}
    assert {"location:the old mill", "misc:blue one"} <= entities and "person:nobody here" not in entities
    hit = memory.search("blue shed").hits[0]
    told = memory.explain(hit.node_id)
    total, importance = memory.database.row(
        "SELECT total, llm_importance FROM mem_tree_score WHERE llm_importance NOT NULL"
    )  # type: ignore[misc]
    assert importance == told["importance"] == 0.95 and told["importance_reason"] == "a place to find it"
    assert total == pytest.approx((told["total"] * 9 + 2 * 0.95) / 11, abs=1e-5)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ((503, {}, b"loading"), "503"), ((200, {}, b"<html>"), "a web page"), (_answer("no json"), "did not answer"), (_answer("[1]"), "did not answer"),
        (_answer({"importance": 7}), "no importance"), (_answer({"entities": []}), "no importance"), (_answer({"importance": True}), "no importance"),
    ],
)  # fmt: skip
def test_a_model_that_is_down_or_answers_nonsense_is_asked_later_and_lowers_nothing(
    memory: Memory, server: Server, reply: Reply, reason: str
) -> None:
    server.reply = lambda path, body: reply
    _take_in(memory, _GREY, kind=Kind.CHAT)
    assert memory.work(drain=True) == {"extract_with_model": {"deferred": 1}}
    total, importance = _score(memory)
    (job,) = memory.jobs("deferred")[1]
    assert importance is None and total >= 0.30 and reason in job["error"] and job["attempts"] == 0
    status = memory.status()
    assert status.ok and reason in next(c.detail for c in status.checks if c.name == "deferred work")
    server.reply = lambda path, body: _answer({"importance": 0.5})
    memory.database.run("UPDATE mem_tree_jobs SET available_at_ms = 0")
    assert memory.work(drain=True) == {} and _score(memory)[1] == 0.5


def test_what_a_model_calls_unimportant_can_fall(memory: Memory, server: Server) -> None:
    server.reply = lambda path, body: _answer({"importance": 0.0, "reason": "only talk"})
    _take_in(memory, "Well, whatever you say about that thing.", kind=Kind.CHAT)
    memory.work(drain=True)
    before = memory.explain(memory.search("whatever", include_dropped=True).hits[0].node_id)
    total, importance = _score(memory)
    assert importance == 0.0 and total == pytest.approx(before["total"] * 9 / 11, abs=1e-5)


def test_a_wrong_setting_is_named(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_LANGUAGE_URL", "")
    _take_in(memory, _GREY, kind=Kind.CHAT)
    memory.work(drain=True)
    assert "language_url" in next(c.detail for c in memory.status().checks if c.name == "failed work")


def test_repeats_have_places_of_their_own_and_others_places_are_none() -> None:
    answer = {
        "entities": [
            {"kind": "Company", "text": "Ek"},
            {"kind": "org", "text": "Ek"},
            {"kind": "org", "text": "Ek"},
            "x",
            {"text": ""},
        ]
    }
    found = entities_of(answer, "Ek and Ek")
    assert [(e.kind, e.start, e.end) for e in found] == [("organization", 0, 2), ("organization", 7, 9)]
    assert entities_of({"entities": "none"}, "x") == entities_of({}, "x") == []
