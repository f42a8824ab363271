"""Language models that a person may choose: asked one question at a time, for JSON, at temperature 0."""

from __future__ import annotations

import json
from typing import Any

from sapwood.config import Settings
from sapwood.credentials import resolve
from sapwood.errors import ConfigurationError
from sapwood.models.http import SERVED, ModelServer, server_url

__all__ = ["LanguageModel", "open_language_model"]

_SECONDS = 300.0  # a local model on a slow machine
_CHECK = "Check language_model and language_url."


class LanguageModel:
    """A chat model behind Ollama's `/api/chat` or an OpenAI-compatible `/chat/completions`.

    Args:
        kind: `ollama` or `openai`.
        model: the server's name for it.
        url: of the server.
        key: bearer token; empty for none.
    """

    def __init__(self, kind: str, model: str, url: str, key: str) -> None:
        self.name = f"{kind}:{model}"
        self._kind = kind
        self._model = model
        route = "/api/chat" if kind == "ollama" else "/chat/completions"
        self._server = ModelServer(f"the language model {self.name}", url.rstrip("/") + route, key, _CHECK, _SECONDS)

    def ask(self, instruction: str, text: str) -> dict[str, Any]:
        """The JSON object that the model answers.

        Raises:
            ModelUnavailable: it is down or busy.
            ModelMisconfigured: it answers nonsense.
        """
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        body: dict[str, Any] = {"model": self._model, "messages": messages, "stream": False}
        if self._kind == "ollama":
            body |= {"format": "json", "options": {"temperature": 0}}
        else:
            body |= {"response_format": {"type": "json_object"}, "temperature": 0}
        answer = self._server.post(body)
        try:
            message = answer["message"] if self._kind == "ollama" else answer["choices"][0]["message"]
            found = json.loads(message["content"])
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise self._server.nonsense("did not answer with the JSON that it was asked for") from error
        if not isinstance(found, dict):
            raise self._server.nonsense("did not answer with the JSON object that it was asked for")
        return found

    def close(self) -> None:
        """Close the connections."""
        self._server.close()


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
    return LanguageModel(kind, model, url, resolve(settings.language_key) if settings.language_key else "")
