"""Settings: `config.toml` of the workspace, overridden by `SAPWOOD_…` environment variables.

msgspec gives types, limits and messages. pydantic-settings did the same and took a third of a second to import, which
every command paid.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from sapwood.errors import ConfigurationError
from sapwood.workspace import writing

PREFIX = "SAPWOOD_"


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting with its default. Names are the keys of `config.toml`; `SAPWOOD_<NAME>` overrides."""

    timezone: Annotated[str, Meta(description="IANA zone of calendar days; empty means the machine's own.")] = ""
    owner: Annotated[str, Meta(description="Whose memory this is; written into every chunk.")] = "me"
    redact_personal: Annotated[
        bool, Meta(description="Also cut mainland identity numbers, bank cards and mobile numbers.")
    ] = False
    convert_workers: Annotated[int, Meta(ge=1, le=64, description="Processes that read documents.")] = 2
    convert_memory_mb: Annotated[int, Meta(ge=128, description="Memory that one document may use, in MiB.")] = 1024
    connector_memory_mb: Annotated[
        int, Meta(ge=256, description="Memory that a connector's process may use beyond its start, in MiB.")
    ] = 2048
    connector_stall_seconds: Annotated[
        float, Meta(ge=1, description="How long a connector may say nothing before its run is ended.")
    ] = 900.0
    connector_hours: Annotated[float, Meta(gt=0, description="How long a run of a connector may take.")] = 24.0
    workers: Annotated[int, Meta(ge=1, le=64, description="Threads that do the slow work which asks no model.")] = 2
    embedding_model: Annotated[
        str, Meta(description="What makes vectors: offline, hashing, ollama:NAME, openai:NAME, or none.")
    ] = "offline"
    embedding_url: Annotated[
        str, Meta(description="Address of the model's server; Ollama's own when empty, none for openai.")
    ] = ""
    embedding_key: Annotated[
        str, Meta(description="Key of the model's server, as env:NAME, file:/path or keyring:service/user.")
    ] = ""
    embedder_idle_seconds: Annotated[
        float, Meta(ge=1, description="How long the embedder's process stays without work.")
    ] = 300.0
    language_model: Annotated[
        str,
        Meta(description="Asked where rules cannot decide whether a chunk matters: ollama:NAME, openai:NAME, or none."),
    ] = "none"
    language_url: Annotated[
        str, Meta(description="Address of its server; Ollama's own when empty, none for openai.")
    ] = ""
    language_key: Annotated[
        str, Meta(description="Key of its server, as env:NAME, file:/path or keyring:service/user.")
    ] = ""
    language_seconds: Annotated[
        float, Meta(ge=1, description="How long it may take for an answer; then its work is put off.")
    ] = 300.0
    summariser: Annotated[
        str,
        Meta(
            pattern="^(extractive|model)$",
            description="What makes summaries: extractive (chosen sentences, no model), or model (language_model tells them anew).",
        ),
    ] = "extractive"
    summary_context: Annotated[int, Meta(ge=1_000, description="Tokens that the language model can read at once.")] = (
        16_000
    )
    summary_tokens_per_day: Annotated[
        int,
        Meta(ge=0, description="Tokens, read and written, that summaries may cost a day; 0 for as many as there are."),
    ] = 1_000_000
    language_price_read: Annotated[
        float, Meta(ge=0, description="What a million tokens cost that the language model reads, for estimates.")
    ] = 0.0
    language_price_written: Annotated[float, Meta(ge=0, description="What a million tokens cost that it writes.")] = 0.0
    extractors: Annotated[
        str,
        Meta(
            description="Better extractors of names, by commas: spacy (English), lac (Chinese); each a package of its own."
        ),
    ] = ""
    forgotten_days: Annotated[
        int, Meta(ge=0, le=3650, description="How many days what was forgotten can be brought back.")
    ] = 30
    lock_wait_seconds: Annotated[float, Meta(ge=0, description="How long a command waits for another that writes.")] = (
        15.0
    )


def load_settings(file: Path) -> Settings:
    """The settings of a workspace; the defaults when it has no file.

    Raises:
        ConfigurationError: the file is no TOML, or a key or value is wrong.
    """
    given: dict[str, Any] = {}
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            str(file), f"is not TOML ({error})", "Correct that line, or move the file away."
        ) from error
    except OSError as error:
        raise ConfigurationError(str(file), f"cannot be read ({error.strerror})") from error
    settings = _checked(given, str(file), strict=True)
    overrides = {
        key: value for key in Settings.__struct_fields__ if (value := os.environ.get(PREFIX + key.upper())) is not None
    }
    if not overrides:
        return settings
    over = _checked(overrides, "the environment", strict=False)  # text there is: "4" is a number, "true" or "1" yes
    return msgspec.structs.replace(settings, **{key: getattr(over, key) for key in overrides})


def _checked(given: dict[str, Any], origin: str, *, strict: bool) -> Settings:
    try:
        return msgspec.convert(given, Settings, strict=strict)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        key = place.rstrip("`")
        if key and not strict:
            key = PREFIX + key.upper()
        known = ", ".join(Settings.__struct_fields__)
        raise ConfigurationError(f"{origin}: {key}" if key else origin, problem, f"Known keys: {known}.") from error


def save_setting(file: Path, key: str, value: str) -> None:
    """Write one text setting into `config.toml`, leaving every other line as it is.

    Raises:
        ConfigurationError: the file cannot be used.
        WorkspaceError: it cannot be written.
    """
    load_settings(file)  # a file that cannot be read is not written into
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    places = [i for i, old in enumerate(lines) if re.match(rf"\s*{re.escape(key)}\s*=", old)]
    if places:
        lines[places[0]] = line
    else:
        lines.insert(0, line)
    with writing(file):
        temporary = file.with_name(file.name + ".new")
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        temporary.chmod(0o600)
        temporary.replace(file)
