"""Settings: `config.toml` of the workspace, overridden by `SAPWOOD_…` environment variables.

A plain read of TOML into a frozen dataclass would do for the file; pydantic-settings gives the environment, the types
and the messages.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from sapwood.errors import ConfigurationError


class Settings(BaseSettings):
    """Every setting with its default. Names are the keys of `config.toml`; `SAPWOOD_<NAME>` overrides."""

    model_config = SettingsConfigDict(env_prefix="SAPWOOD_", extra="forbid", frozen=True)

    timezone: str = Field("", description="IANA zone of calendar days; empty means the machine's own.")
    owner: str = Field("me", description="Whose memory this is; written into every chunk.")
    redact_personal: bool = Field(
        False, description="Also cut mainland identity numbers, bank cards and mobile numbers."
    )
    convert_workers: int = Field(2, ge=1, le=64, description="Processes that read documents.")
    convert_memory_mb: int = Field(1024, ge=128, description="Memory that one document may use, in MiB.")
    lock_wait_seconds: float = Field(15.0, ge=0, description="How long a command waits for another that writes.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment wins over the file."""
        return env_settings, init_settings


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
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        known = ", ".join(sorted(Settings.model_fields))
        raise ConfigurationError(f"{file}: {key}", str(first["msg"]), f"Known keys: {known}.") from error
