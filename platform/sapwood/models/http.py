"""Asking a model's server for JSON: what may go wrong, each by its kind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sapwood.clock import retry_after
from sapwood.errors import ConfigurationError, SapwoodError

if TYPE_CHECKING:
    import httpx

__all__ = [
    "SERVED",
    "ModelError",
    "ModelMisconfigured",
    "ModelRefused",
    "ModelServer",
    "ModelUnavailable",
    "server_url",
]

_CONNECT_SECONDS = 5.0
_LONGEST_ANSWER = 64 << 20
_LONGEST_WAIT = 3600.0


class ModelError(SapwoodError):
    """A model could not be asked, or answered nonsense."""


class ModelUnavailable(ModelError):
    """Not now: down, slow, limited. `retry_after` is in seconds, None when the model does not say."""

    def __init__(self, subject: str, cause: str, next_step: str = "", *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(subject, cause, next_step)


class ModelMisconfigured(ModelError):
    """Asking again would fail in the same way: a wrong address, key or model."""


class ModelRefused(ModelMisconfigured):
    """The server does not take this request; one text of several may be the reason, such as one that is too long."""


SERVED = ("ollama", "openai")
"""Kinds of servers, the first part of a model's full name."""

_OLLAMA_URL = "http://127.0.0.1:11434"


def server_url(setting: str, name: str, url: str) -> str:
    """The address of a model's server: the given one, or Ollama's own.

    Args:
        setting: `embedding` or `language`, to name the settings in the error.
        name: of the model, `ollama:NAME` or `openai:NAME`.

    Raises:
        ConfigurationError: there is none.
    """
    if not url and not name.startswith("ollama:"):
        raise ConfigurationError(
            f"{setting}_model = {name!r}", "needs the address of its server", f"Set {setting}_url, such as https://api.openai.com/v1."
        )  # fmt: skip
    return url or _OLLAMA_URL


class ModelServer:
    """One route of a server.

    Args:
        subject: names the model in errors.
        url: of the route.
        key: sent as a bearer token; empty for none.
        check: what to look at when the server answers nonsense.
        seconds: how long it may think.
    """

    def __init__(self, subject: str, url: str, key: str, check: str, seconds: float) -> None:
        self._subject = subject
        self._url = url
        self._key = key
        self._check = check
        self._seconds = seconds
        self._client: httpx.Client | None = None

    def post(self, body: dict[str, Any]) -> Any:
        """The JSON that the server answers.

        Raises:
            ModelUnavailable, ModelMisconfigured: see there.
        """
        import httpx

        if self._client is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            limits = httpx.Timeout(self._seconds, connect=_CONNECT_SECONDS)
            self._client = httpx.Client(headers=headers, timeout=limits, follow_redirects=False)
        deadline = time.monotonic() + self._seconds
        try:
            with self._client.stream("POST", self._url, json=body) as answer:
                content = bytearray()
                for part in answer.iter_bytes():
                    if time.monotonic() > deadline:  # the client's own limit begins anew with every byte
                        raise ModelUnavailable(
                            self._subject, f"its server did not end its answer within {self._seconds:.0f} s"
                        )
                    content += part
                    if len(content) > _LONGEST_ANSWER:
                        raise ModelMisconfigured(self._subject, "its server answers without end", self._check)
                if answer.status_code != 200:
                    raise self._refusal(answer, bytes(content[:2000]))
        except httpx.TimeoutException as error:
            raise ModelUnavailable(
                self._subject, f"its server did not answer in time ({type(error).__name__})"
            ) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ModelMisconfigured(self._subject, f"its address is none ({error})", self._check) from error
        except httpx.HTTPError as error:
            raise ModelUnavailable(
                self._subject, f"its server cannot be reached ({type(error).__name__}: {error})", "Start it, or choose another model."
            ) from error  # fmt: skip
        import msgspec

        try:
            return msgspec.json.decode(bytes(content))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # NaN is no JSON; some servers write it all the same.
            what = "a web page" if content.lstrip()[:1] == b"<" else "no JSON"
            raise ModelMisconfigured(self._subject, f"its server answers with {what}", self._check) from error

    def nonsense(self, cause: str) -> ModelMisconfigured:
        """The error for an answer that is JSON but not the one that was asked for."""
        return ModelMisconfigured(self._subject, cause, self._check)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _refusal(self, answer: httpx.Response, content: bytes) -> ModelError:
        status = answer.status_code
        told = f"its server answers {status}: {' '.join(content.decode('utf-8', 'replace').split())[:200]}"
        if status in (408, 429) or status >= 500:
            return ModelUnavailable(self._subject, told, retry_after=_wait(answer.headers.get("Retry-After")))
        if status in (400, 413, 422):
            return ModelRefused(self._subject, told, self._check)
        return ModelMisconfigured(self._subject, told, "Check its key." if status in (401, 403) else self._check)


def _wait(header: str | None) -> float | None:
    """Seconds, at least one and at most an hour; None when the server does not say."""
    seconds = retry_after(header)
    return None if seconds is None else min(max(seconds, 1.0), _LONGEST_WAIT)
