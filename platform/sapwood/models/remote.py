"""Embedders behind HTTP: Ollama's own route, and the one that OpenAI-compatible servers share."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from sapwood.models.embedder import EmbedderError, EmbedderMisconfigured, EmbedderUnavailable, Vector, unit_vector

if TYPE_CHECKING:
    import httpx

__all__ = ["RemoteEmbedder", "ollama", "openai_compatible"]

_CONNECT_SECONDS, _READ_SECONDS = 5.0, 60.0
_LONGEST_ANSWER = 64 << 20
_LONGEST_WAIT = 3600.0

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
        self._url = url
        self._key = key
        self._parse = parse
        self._client: httpx.Client | None = None

    def encode(self, texts: Sequence[str], *, urgent: bool = False) -> list[Vector | None]:
        """See `Embedder`."""
        rows = self._rows(self._post({"model": self._model, "input": list(texts)}), len(texts))
        vectors = [_vector(row) for row in rows]
        if len(texts) > 1 and not any(vectors):
            raise EmbedderMisconfigured(
                self._subject, "gave nothing but zeros or no numbers at all", "Check the model."
            )
        return vectors

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @property
    def _subject(self) -> str:
        return f"the embedding model {self.signature}"

    def _post(self, body: dict[str, Any]) -> Any:
        import httpx

        if self._client is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            limits = httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
            self._client = httpx.Client(headers=headers, timeout=limits, follow_redirects=False)
        try:
            with self._client.stream("POST", self._url, json=body) as answer:
                content = bytearray()
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > _LONGEST_ANSWER:
                        raise EmbedderMisconfigured(self._subject, "its server answers without end", _CHECK_URL)
                if answer.status_code != 200:
                    raise self._refusal(answer, bytes(content[:2000]))
        except httpx.TimeoutException as error:
            raise EmbedderUnavailable(
                self._subject, f"its server did not answer in time ({type(error).__name__})"
            ) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise EmbedderMisconfigured(self._subject, f"embedding_url is no address ({error})", _CHECK_URL) from error
        except httpx.HTTPError as error:
            raise EmbedderUnavailable(
                self._subject, f"its server cannot be reached ({type(error).__name__}: {error})", "Start it, or choose another model: sapwood embed --model offline"
            ) from error  # fmt: skip
        import msgspec

        try:
            return msgspec.json.decode(bytes(content))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # NaN is no JSON; some servers write it all the same.
            what = "a web page" if content.lstrip()[:1] == b"<" else "no JSON"
            raise EmbedderMisconfigured(self._subject, f"its server answers with {what}", _CHECK_URL) from error

    def _refusal(self, answer: httpx.Response, content: bytes) -> EmbedderError:
        status = answer.status_code
        told = f"its server answers {status}: {' '.join(content.decode('utf-8', 'replace').split())[:200]}"
        if status == 429 or status >= 500 or status == 408:
            return EmbedderUnavailable(self._subject, told, retry_after=_retry_after(answer.headers.get("Retry-After")))
        steps = {
            401: "Check embedding_key.",
            403: "Check embedding_key.",
            404: "Check the model's name and embedding_url.",
        }
        return EmbedderMisconfigured(self._subject, told, steps.get(status, _CHECK_URL))

    def _rows(self, answer: Any, count: int) -> list[Any]:
        try:
            rows = self._parse(answer)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise EmbedderMisconfigured(self._subject, "its server's answer holds no vectors", _CHECK_URL) from error
        if len(rows) != count:
            raise EmbedderMisconfigured(self._subject, f"gave {len(rows)} vectors for {count} texts", _CHECK_URL)
        return rows


_CHECK_URL = "Check embedding_url and the model's name."


def _vector(row: Any) -> Vector | None:
    try:
        return unit_vector(array("f", row))
    except (TypeError, ValueError, OverflowError):
        return None


def _retry_after(value: str | None) -> float | None:
    """Seconds, given as a number or as a date; at most an hour."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 1.0), _LONGEST_WAIT)


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
