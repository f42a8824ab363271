"""Summaries by a language model: taken where their input bears them out, left alone otherwise, never lost."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Result
from tests.models.test_remote import Reply, Server, server
from tests.trees.test_growth import _write_notes

from sapwood.memory import Memory
from sapwood.store.model_use import ModelUseStore
from sapwood.store.tree_checks import tree_faults
from sapwood.text.languages import language_of
from sapwood.trees.support import objections, unsupported

Sapwood = Callable[..., Result]
Answer = Callable[[str], Reply | str]
__all__ = ["server"]


class _Model:
    """A loopback server in the shape of OpenAI's; `answer` makes a text, or a whole reply, of the question."""

    def __init__(self, server: Server) -> None:
        self.answer: Answer = tell
        self.asked: list[dict[str, Any]] = []
        server.reply = self._reply
        self.env = {
            "SAPWOOD_EMBEDDING_MODEL": "none", "SAPWOOD_WORKERS": "1", "SAPWOOD_SUMMARISER": "model", "SAPWOOD_LANGUAGE_MODEL": "openai:small",
            "SAPWOOD_LANGUAGE_URL": f"{server.url}/v1",
        }  # fmt: skip

    def _reply(self, path: str, body: dict[str, Any]) -> Reply:
        if body.get("response_format"):  # what a chunk matters; not what is tested here
            return _said('{"entities": [], "importance": 0.9, "reason": "x"}')
        self.asked.append(body)
        answer = self.answer(body["messages"][1]["content"])
        return _said(answer) if isinstance(answer, str) else answer


def _said(text: str) -> Reply:
    data = {
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(data).encode()


def tell(question: str) -> str:
    """An honest model: a sentence of each part, in the middle of a remark of its own."""
    told = []
    for block in re.split(r"\n\n(?=\[\d+\] )", question):
        number, _, text = block.partition("] ")
        sentence = next(
            s
            for s in re.split(r"(?<=[.])\s", " ".join(text.split()))
            if "repair" in s or "inspected" in s or "cost" in s
        )
        told.append(f"It says {number}] that {sentence}")
    return "\n".join(told)


@pytest.fixture
def model(server: Server) -> _Model:
    return _Model(server)


def _grow(sapwood: Sapwood, folder: Path, model: _Model, **env: str) -> Result:
    _write_notes(folder, 12)
    result = sapwood("import", str(folder), "--wait", env={**model.env, **env})
    assert result.code == 0, result.err
    return result


def _rows(workspace: Path, sql: str) -> list[tuple[Any, ...]]:
    with Memory(workspace) as memory:
        assert {n: c for n, c in tree_faults(memory.database).items() if c} == {}
        return memory.database.rows(sql)


def _status(sapwood: Sapwood, model: _Model) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in sapwood("status", "--json", env=model.env).json["checks"]}


def test_a_models_words_are_taken_cited_and_recorded(
    sapwood: Sapwood, folder: Path, workspace: Path, model: _Model
) -> None:
    _grow(sapwood, folder, model)
    (row,) = _rows(
        workspace, "SELECT summariser, content, content_path FROM mem_tree_summaries WHERE tree_kind = 'source'"
    )
    assert row[0] == "openai:small" and row[1].startswith("It says that") and row[1].endswith("[10]")
    assert all(f"[{n}]" in row[1] for n in range(1, 11))
    file = (workspace / "wiki" / row[2]).read_text(encoding="utf-8")
    assert "summariser: openai:small" in file and file.rstrip().endswith("|10]]")
    assert "in English" in model.asked[0]["messages"][0]["content"] and model.asked[0]["temperature"] == 0
    check = _status(sapwood, model)["summaries by a model"]
    assert check["facts"]["made"] == {"openai:small": 1} and check["facts"]["tokens_read"] == 100 * len(model.asked)
    assert sapwood("doctor", env=model.env).code == 0
    assert sapwood("rebuild", env=model.env).code == 0 and sapwood("work", "--drain", env=model.env).code == 0
    assert _rows(workspace, "SELECT summariser, content FROM mem_tree_summaries WHERE tree_kind = 'source'") == [
        row[:2]
    ]


ESSAY = "The pump was inspected and repaired, and this is good. " * 400 + "[1]"
BAD: dict[str, tuple[Answer, str]] = {
    "an essay": (lambda q: ESSAY, "longer than it may be"),
    "a refusal": (lambda q: "I am sorry, but I cannot help with that.", "cites nothing"),
    "nothing": (lambda q: "  ", "says nothing"),
    "another language": (lambda q: "Die Pumpe wurde von der Firma geprüft und es ist nicht klar, was mit den Kosten wird. [1]", "another language"),
    "chinese": (lambda q: "水泵已经检查过了，费用需要再看一看，大家都没有意见。[1]", "another language"),
    "an invented name": (lambda q: "The pump was inspected by Anna Berg and by Roderick Zimmer. [1]", "Roderick"),
    "an invented number": (lambda q: "The repair of the pump costs 77,123 euros and takes two weeks. [1]", "77,123"),
    "a refusal of the server": (lambda q: (400, {}, b'{"error": "too long"}'), "answers 400"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_taken_leaves_the_chosen_sentences_and_says_why(
    sapwood: Sapwood, folder: Path, workspace: Path, model: _Model, case: str
) -> None:
    model.answer, why = BAD[case]
    _grow(sapwood, folder, model)
    rows = _rows(workspace, "SELECT summariser, rejected, content FROM mem_tree_summaries WHERE tree_kind = 'source'")
    assert [(row[0], why in row[1]) for row in rows] == [("extractive", True)], rows
    assert "**Pump**" in rows[0][2]
    asked = len(model.asked)
    assert (
        sapwood("work", "--drain", env=model.env).code == 0 and len(model.asked) == asked
    )  # it is not asked again by itself
    status = _status(sapwood, model)["summaries by a model"]
    assert why in status["detail"] and status["facts"]["made"] == {"extractive": len(status["facts"]["rejected"])}
    model.answer = tell
    assert sapwood("summarise", "--redo", "extractive", env=model.env).code == 0
    assert sapwood("work", "--drain", env=model.env).code == 0
    assert {row[0] for row in _rows(workspace, "SELECT summariser FROM mem_tree_summaries")} == {"openai:small"}


def _late(question: str) -> Reply:
    time.sleep(6)
    return _said(tell(question))


WAITS: dict[str, Answer] = {
    "slow": _late,
    "answering by drops": lambda q: (200, {"pause": "0.01"}, _said(tell(q))[2]),
    "down": lambda q: (503, {}, b"starting"),
    "limited": lambda q: (429, {"Retry-After": "120"}, b"slow down"),
    "a web page": lambda q: (200, {"Content-Type": "text/html"}, b"<html>Sign in</html>"),
    "no message": lambda q: (200, {}, b'{"choices": []}'),
    "a wrong key": lambda q: (401, {}, b"no"),
}


@pytest.mark.parametrize("case", WAITS)
def test_a_model_that_is_down_or_answers_nonsense_defers_and_nothing_is_lost(
    sapwood: Sapwood, folder: Path, workspace: Path, model: _Model, case: str
) -> None:
    plain = {**model.env, "SAPWOOD_SUMMARISER": "extractive", "SAPWOOD_LANGUAGE_MODEL": "none"}
    _write_notes(folder, 12)
    assert sapwood("import", str(folder), "--wait", env=plain).code == 0
    before = (
        _rows(workspace, "SELECT id, score, content FROM mem_tree_summaries ORDER BY id"),
        _rows(workspace, "SELECT * FROM mem_tree_score ORDER BY 1"),
    )
    model.answer = WAITS[case]
    model.env["SAPWOOD_LANGUAGE_SECONDS"] = "3" if case in ("slow", "answering by drops") else "60"
    assert sapwood("summarise", "--redo", "extractive", env=model.env).code == 0
    assert sapwood("work", "--drain", env=model.env).code == 0
    after = (
        _rows(workspace, "SELECT id, score, content FROM mem_tree_summaries ORDER BY id"),
        _rows(workspace, "SELECT * FROM mem_tree_score ORDER BY 1"),
    )
    assert after == before and len(model.asked) == 1
    deferred = _status(sapwood, model)["deferred work"]
    assert deferred["facts"]["jobs"] == 1 and "openai:small" in deferred["detail"]
    model.answer = tell
    with Memory(workspace) as memory, memory.database.transaction():
        memory.database.run("UPDATE mem_tree_jobs SET available_at_ms = 0, status = 'ready'")
    assert sapwood("work", "--drain", env=model.env).code == 0
    assert {row[0] for row in _rows(workspace, "SELECT summariser FROM mem_tree_summaries")} == {"openai:small"}


def test_a_day_has_its_cap_and_a_dry_run_its_price(
    sapwood: Sapwood, folder: Path, workspace: Path, model: _Model
) -> None:
    _grow(sapwood, folder, model, SAPWOOD_SUMMARY_TOKENS_PER_DAY="50")
    assert (
        model.asked == [] and "more than the 50 of a day" in _status(sapwood, model)["summaries by a model"]["detail"]
    )
    prices = {"SAPWOOD_LANGUAGE_PRICE_READ": "2", "SAPWOOD_LANGUAGE_PRICE_WRITTEN": "8"}
    assert sapwood("summarise", "--redo", "extractive", env=model.env).code == 0
    found = sapwood("summarise", "--dry-run", "--json", env={**model.env, **prices}).json
    assert found["summaries"] >= 1 and found["tokens_read"] > 200 and model.asked == []
    assert found["cost"] == pytest.approx(
        (2 * found["tokens_read"] + 8 * found["tokens_written"]) / 1_000_000, abs=1e-4
    )
    with Memory(workspace) as memory, memory.database.transaction():
        ModelUseStore(memory.database).add(datetime.now().date().isoformat(), "openai:small", 5_900, 0)
    capped = {**model.env, "SAPWOOD_SUMMARY_TOKENS_PER_DAY": "6000"}
    assert sapwood("work", "--drain", env=capped).code == 0 and model.asked == []
    assert "the 6000 tokens that summaries may cost a day" in _status(sapwood, model)["deferred work"]["detail"]
    assert (
        sapwood("summarise", "--redo", "extractive", env=model.env).code == 0
    )  # not before tomorrow, unless somebody asks
    assert sapwood("work", "--drain", env=model.env).code == 0 and model.asked


def test_an_answer_that_was_cut_off_is_not_taken(
    sapwood: Sapwood, folder: Path, workspace: Path, model: _Model
) -> None:
    text = json.dumps(
        {"choices": [{"message": {"content": "The pump was inspected and [1]"}, "finish_reason": "length"}]}
    )
    model.answer = lambda question: (200, {}, text.encode())
    _grow(sapwood, folder, model)
    assert "did not come to an end" in _status(sapwood, model)["summaries by a model"]["detail"]


def test_a_models_summaries_are_made_by_choice_of_sentences_again(
    sapwood: Sapwood, folder: Path, workspace: Path, model: _Model
) -> None:
    _grow(sapwood, folder, model)
    plain = {**model.env, "SAPWOOD_SUMMARISER": "extractive"}
    assert sapwood("summarise", "--redo", "model", env=plain).code == 0
    assert sapwood("work", "--drain", env=plain).code == 0
    rows = _rows(workspace, "SELECT summariser, content FROM mem_tree_summaries WHERE tree_kind = 'source'")
    assert [row[0] for row in rows] == ["extractive"] and "**Pump**" in rows[0][1]
    assert sapwood("doctor", env=plain).code == 0
    refused = sapwood("summarise", "--redo", "extractive", env=plain)
    assert refused.code != 0 and "asks no model" in refused.err


def test_names_and_numbers_are_compared_by_what_they_are() -> None:
    source = "Anna Berg pays 1,000 euros on 2026-05-03 for the pump. 王强 went to Shenzhen 3 times."
    assert unsupported("Anna Berg's pump costs 1000 euros; on 3 May 2026? No: 2026.", source) == []
    assert unsupported("Berg paid. Shenzhen is far, says 王强.", source) == []
    assert unsupported("She met Karl in 2027.", source) == ["Karl", "2027"]
    assert unsupported("Roderick repaired the pump: Šimon paid, 由Roderick负责.", source) == ["Roderick", "Šimon"]
    assert unsupported("The pump costs 1 euro, or two million euros, or 三百万元.", source) != []
    assert unsupported("会议上，Anna同意支付。Pump repairs go on.", source) == []
    assert (
        unsupported(
            "Die Pumpe kostet 1.000 Euro.",
            "Anna zahlt für die Pumpe und den Deckel nicht mehr als 1.000 Euro, und das ist gut.",
        )
        == []
    )
    assert unsupported("张伟去了北京。", source) != []
    assert objections("Anna Berg pays 1,000 euros. [1]", [source], 100) == ""
    assert "cites nothing" in objections("Anna Berg pays 1,000 euros. [4]", [source], 100)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The rent of the flat is higher than it was in the year before, and that is not good.", "en"),
        ("Die Miete der Wohnung ist höher als im Jahr davor, und das ist nicht gut für uns.", "de"),
        ("Le loyer de l'appartement est plus cher que dans les années passées pour nous.", "fr"),
        ("房租比去年高，这对我们不好。", "zh"), ("家賃は去年より高くなりました。", "ja"), ("집세가 작년보다 비쌉니다.", "ko"),
        ("张伟 asked for the budget：预算还没有批下来，请大家等一等。", "zh"), ("Pump 3", ""),
    ],
)  # fmt: skip
def test_a_language_is_told_by_its_signs_and_small_words(text: str, language: str) -> None:
    assert language_of(text) == language
