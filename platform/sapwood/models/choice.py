"""Which embedder a name stands for."""

from __future__ import annotations

from pathlib import Path

from sapwood.config import Settings
from sapwood.credentials import resolve
from sapwood.errors import ConfigurationError
from sapwood.models.embedder import Embedder
from sapwood.models.http import SERVED, server_url
from sapwood.models.local import LOCAL_MODELS, LocalEmbedder

__all__ = ["NO_MODEL", "check_name", "open_embedder"]

NO_MODEL = "none"


def check_name(name: str) -> None:
    """Refuse a name that stands for no model.

    Raises:
        ConfigurationError: it is one.
    """
    kind, _, rest = name.partition(":")
    if name not in (NO_MODEL, *LOCAL_MODELS) and not (kind in SERVED and rest):
        raise ConfigurationError(
            f"embedding_model = {name!r}", "no such model", f"Use {', '.join(LOCAL_MODELS)}, ollama:NAME, openai:NAME or {NO_MODEL}."
        )  # fmt: skip


def open_embedder(name: str, settings: Settings, folder: Path) -> Embedder:
    """The embedder of a name; nothing is loaded or asked yet.

    Args:
        name: `offline`, `hashing`, `ollama:NAME` or `openai:NAME`.
        settings: address and key of servers, and how long a process stays without work.
        folder: of the local process's socket.

    Raises:
        ConfigurationError: there is no such model, or its address or key is missing.
        ModelMisconfigured: its package is not installed.
    """
    check_name(name)
    kind, _, model = name.partition(":")
    if kind in SERVED:
        from sapwood.models.remote import ollama, openai_compatible

        url = server_url("embedding", name, settings.embedding_url)
        if kind == "ollama":
            return ollama(model, url)
        return openai_compatible(model, url, resolve(settings.embedding_key) if settings.embedding_key else "")
    return LocalEmbedder(name, folder, settings.embedder_idle_seconds)
