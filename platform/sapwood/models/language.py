"""Language models that a person may choose: asked one question at a time, for JSON or a text, at temperature 0."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sapwood.config import Settings
from sapwood.credentials import resolve
from sapwood.errors import ConfigurationError
from sapwood.models.http import SERVED, ModelServer, server_url

__all__ = ["LanguageModel", "Said", "open_language_model"]

_CHECK = "Check language_model and language_url."


@dataclass(frozen=True, slots=True)
class Said:
    """What a model wrote, and how many tokens it read and wrote by its own count, None where it does not say; `is_cut_off` when
    it was not at its end."""

    text: str
    tokens_read: int | None
    tokens_written: int | None
    is_cut_off: bool = False


class LanguageModel:
    """A chat model behind Ollama's `/api/chat` or an OpenAI-compatible `/chat/completions`.

    Args:
        kind: `ollama` or `openai`.
        model: the server's name for it.
        url: of the server.
        key: bearer token; empty for none.
        seconds: how long an answer may take.
    """

    def __init__(self, kind: str, model: str, url: str, key: str, seconds: float) -> None:
        self.name = f"{kind}:{model}"
        self._kind = kind
        self._model = model
        route = "/api/chat" if kind == "ollama" else "/chat/completions"
        self._server = ModelServer(f"the language model {self.name}", url.rstrip("/") + route, key, _CHECK, seconds)

    def ask(self, instruction: str, text: str) -> dict[str, Any]:
        """The JSON object that the model answers.

        Raises:
            ModelUnavailable: it is down or busy.
            ModelMisconfigured: it answers nonsense.
        """
        ollama = self._kind == "ollama"
        said = self._say(
            instruction, text, {"format": "json"} if ollama else {"response_format": {"type": "json_object"}}
        )
        try:
            found = json.loads(said.text)
        except ValueError as error:
            raise self._server.nonsense("did not answer with the JSON that it was asked for") from error
        if not isinstance(found, dict):
            raise self._server.nonsense("did not answer with the JSON object that it was asked for")
        return found

    def tell(self, instruction: str, text: str, most_tokens: int, context: int) -> Said:
        """What the model writes, at most about so many tokens, and what that cost; `context` is how many it is to hold at once.

        Raises:
            ModelUnavailable, ModelMisconfigured: as for `ask`.
        """
        ollama = self._kind == "ollama"
        return self._say(
            instruction,
            text,
            {"options": {"num_predict": most_tokens, "num_ctx": context}} if ollama else {"max_tokens": most_tokens},
        )

    def _say(self, instruction: str, text: str, extra: dict[str, Any]) -> Said:
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        body: dict[str, Any] = {"model": self._model, "messages": messages, "stream": False, **extra}
        if self._kind == "ollama":
            body["options"] = {"temperature": 0, **extra.get("options", {})}
        else:
            body["temperature"] = 0
        answer = self._server.post(body)
        try:
            message = answer["message"] if self._kind == "ollama" else answer["choices"][0]["message"]
            said = message["content"]
        except (KeyError, TypeError, IndexError) as error:
            raise self._server.nonsense("did not answer with a message") from error
        if not isinstance(said, str):
            raise self._server.nonsense("did not answer with a text")
        usage = answer if self._kind == "ollama" else answer.get("usage") or {}
        read, written = (
            _count(usage, name)
            for name in (("prompt_eval_count", "prompt_tokens"), ("eval_count", "completion_tokens"))
        )
        reason = answer.get("done_reason") if self._kind == "ollama" else answer["choices"][0].get("finish_reason")
        return Said(said, read, written, reason == "length")

    def close(self) -> None:
        """Close the connections."""
        self._server.close()


def _count(usage: Any, names: tuple[str, str]) -> int | None:
    found = next((usage[name] for name in names if isinstance(usage, dict) and name in usage), None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def open_language_model(settings: Settings) -> LanguageModel | None:
    """The model of the settings; None when none is chosen.

    Raises:
        ConfigurationError: its name, address or key is wrong.
    """
    name = settings.language_model
    if name == "none":
        return None
    kind, _, model = name.partition(":")
    if kind not in SERVED or not model:
        raise ConfigurationError(f"language_model = {name!r}", "no such model", "Use ollama:NAME, openai:NAME or none.")
    url = server_url("language", name, settings.language_url)
    key = resolve(settings.language_key) if settings.language_key else ""
    return LanguageModel(kind, model, url, key, settings.language_seconds)
