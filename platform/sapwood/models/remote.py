"""Embedders behind HTTP: Ollama's own route, and the one that OpenAI-compatible servers share."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from sapwood.models.embedder import Vector, unit_vector
from sapwood.models.http import ModelServer

__all__ = ["RemoteEmbedder", "ollama", "openai_compatible"]

_SECONDS = 60.0
_CHECK = "Check embedding_model and embedding_url."

Parse = Callable[[Any], list[Any]]


class RemoteEmbedder:
    """A model that a server runs. Nothing is sent anywhere but to `url`.

    Args:
        kind: `ollama` or `openai`, the first part of the model's full name.
        model: the server's name for it.
        url: of the route.
        key: sent as a bearer token; empty for none.
        parse: takes the lists of numbers out of the answer, in the order of the texts.
    """

    def __init__(self, kind: str, model: str, url: str, key: str, parse: Parse) -> None:
        self.signature = f"{kind}:{model}"
        self._model = model
        self._parse = parse
        self._server = ModelServer(f"the embedding model {self.signature}", url, key, _CHECK, _SECONDS)

    def encode(self, texts: Sequence[str], *, urgent: bool = False) -> list[Vector | None]:
        """See `Embedder`."""
        answer = self._server.post({"model": self._model, "input": list(texts)})
        try:
            rows = self._parse(answer)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise self._server.nonsense("its server's answer holds no vectors") from error
        if len(rows) != len(texts):
            raise self._server.nonsense(f"gave {len(rows)} vectors for {len(texts)} texts")
        vectors = [_vector(row) for row in rows]
        if len(texts) > 1 and not any(vectors):
            raise self._server.nonsense("gave nothing but zeros or no numbers at all")
        return vectors

    def close(self) -> None:
        """Close the connections."""
        self._server.close()


def _vector(row: Any) -> Vector | None:
    try:
        return unit_vector(array("f", row))
    except (TypeError, ValueError, OverflowError):
        return None


def ollama(model: str, url: str) -> RemoteEmbedder:
    """Ollama's `/api/embed`, which takes many texts at once."""
    return RemoteEmbedder(
        "ollama", model, url.rstrip("/") + "/api/embed", "", lambda answer: list(answer["embeddings"])
    )


def openai_compatible(model: str, url: str, key: str) -> RemoteEmbedder:
    """`POST {url}/embeddings` of OpenAI and of the servers that speak like it (vLLM, LM Studio, llama.cpp)."""

    def parse(answer: Any) -> list[Any]:
        return [entry["embedding"] for entry in sorted(answer["data"], key=lambda entry: entry["index"])]

    return RemoteEmbedder("openai", model, url.rstrip("/") + "/embeddings", key, parse)
