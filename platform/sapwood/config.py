"""Settings: `config.toml` of the workspace, overridden by `SAPWOOD_…` environment variables.

msgspec gives types, limits and messages. pydantic-settings did the same and took a third of a second to import, which
every command paid.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from sapwood.errors import ConfigurationError

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
