"""Embedders behind HTTP, against a loopback server that answers, limits, fails and lies."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from sapwood.config import Settings
from sapwood.errors import ConfigurationError
from sapwood.models.choice import open_embedder
from sapwood.models.http import ModelMisconfigured, ModelUnavailable
from tests.loopback import Loopback, Reply


class Server(Loopback):
    """A model's server: `reply` makes the answer out of a request's path and body."""

    def __init__(self) -> None:
        self.reply: Callable[[str, dict[str, Any]], Reply] = lambda path, body: (500, {}, b"")
        self.seen: list[tuple[str, dict[str, Any], str]] = []
        super().__init__(self._answer)

    def _answer(self, request: BaseHTTPRequestHandler, content: bytes) -> Reply:
        body = json.loads(content)
        self.seen.append((request.path, body, request.headers.get("Authorization", "")))
        return self.reply(request.path, body)


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


def _json(value: Any, status: int = 200) -> Reply:
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _openai(server: Server, tmp_path: Path, **settings: Any) -> Any:
    return open_embedder("openai:some-model", Settings(embedding_url=f"{server.url}/v1", **settings), tmp_path)


def test_openai_compatible_servers_are_asked_by_batch_and_answers_are_put_in_order(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "k-1")

    def reply(path: str, body: dict[str, Any]) -> Reply:
        rows = [{"index": i, "embedding": [float(len(text)), 0.0]} for i, text in enumerate(body["input"])]
        return _json({"data": rows[::-1]})

    server.reply = reply
    embedder = _openai(server, tmp_path, embedding_key="env:THE_KEY")
    vectors = embedder.encode(["a", "bb"])
    assert [list(array("f", vector)) for vector in vectors] == [[1.0, 0.0], [1.0, 0.0]]
    assert server.seen == [("/v1/embeddings", {"model": "some-model", "input": ["a", "bb"]}, "Bearer k-1")]
    assert embedder.signature == "openai:some-model"


def test_ollama_is_asked_on_its_own_route(server: Server, tmp_path: Path) -> None:
    server.reply = lambda path, body: _json({"embeddings": [[0.0, 2.0] for _ in body["input"]]})
    embedder = open_embedder("ollama:bge-m3", Settings(embedding_url=server.url), tmp_path)
    assert list(array("f", embedder.encode(["x"])[0] or b"")) == [0.0, 1.0]
    assert server.seen[0][:2] == ("/api/embed", {"model": "bge-m3", "input": ["x"]})


@pytest.mark.parametrize(
    ("reply", "retry_after"),
    [
        ((503, {}, b"starting"), None), ((429, {"Retry-After": "7"}, b""), 7.0), ((429, {"Retry-After": "99999"}, b""), 3600.0),
        ((429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b""), 1.0), ((429, {"Retry-After": "soon"}, b""), None),
    ],
)  # fmt: skip
def test_a_server_that_is_busy_is_asked_again_later(
    server: Server, tmp_path: Path, reply: Reply, retry_after: float | None
) -> None:
    server.reply = lambda path, body: reply
    with pytest.raises(ModelUnavailable) as told:
        _openai(server, tmp_path).encode(["x"])
    assert told.value.retry_after == retry_after


def test_a_server_that_is_down_or_slow_is_unavailable(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.models.remote._SECONDS", 0.3)
    hold = threading.Event()
    server.reply = lambda path, body: (hold.wait(5), (200, {}, b""))[1]
    with pytest.raises(ModelUnavailable, match="in time"):
        _openai(server, tmp_path).encode(["x"])
    hold.set()
    down = open_embedder("openai:m", Settings(embedding_url="http://127.0.0.1:9/v1"), tmp_path)
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        down.encode(["x"])


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ((401, {}, b"no"), "401"), ((404, {}, b"model not found"), "404"), ((302, {"Location": "/login"}, b""), "302"),
        ((200, {"Content-Type": "text/html"}, b"<!doctype html><p>Log in"), "a web page"), ((200, {}, b'{"data": [{"index": 0, "embedding": [NaN]}]}'), "no JSON"),
        (_json({"error": "x"}), "no vectors"), (_json({"data": []}), "0 vectors for 2 texts"),
        (_json({"data": [{"index": i, "embedding": [0.0, 0.0]} for i in range(2)]}), "nothing but zeros"),
        (_json({"data": [{"index": i, "embedding": [None, "a"]} for i in range(2)]}), "nothing but zeros"),
    ],
)  # fmt: skip
def test_nonsense_is_told_and_not_asked_again(server: Server, tmp_path: Path, reply: Reply, cause: str) -> None:
    server.reply = lambda path, body: reply
    with pytest.raises(ModelMisconfigured, match=cause):
        _openai(server, tmp_path).encode(["x", "y"])
    assert len(server.seen) == 1


def test_one_text_without_a_vector_does_not_spoil_its_batch(server: Server, tmp_path: Path) -> None:
    rows = [{"index": 0, "embedding": [0.0, 0.0]}, {"index": 1, "embedding": [1.0, 0.0]}]
    server.reply = lambda path, body: _json({"data": rows})
    nothing, vector = _openai(server, tmp_path).encode(["x", "y"])
    assert nothing is None and vector is not None


@pytest.mark.parametrize("name", ["", "ollama:", "gpt", "openai", "offline:x"])
def test_a_name_of_no_model_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such model"):
        open_embedder(name, Settings(), tmp_path)


def test_an_openai_model_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="embedding_url"):
        open_embedder("openai:m", Settings(), tmp_path)
