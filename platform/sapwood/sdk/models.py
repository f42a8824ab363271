"""The pydantic models at the plugin's edge: configuration and checkpoint."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = ["CheckpointModel", "ConnectorConfig", "SecretReference"]

_SCHEMES = ("env:", "file:", "keyring:")


def _reference(value: str) -> str:
    if not value.startswith(_SCHEMES) or len(value.split(":", 1)[1].strip()) == 0:
        raise ValueError("a secret is given as a reference: env:NAME, file:/path or keyring:service/user")
    return value


SecretReference = Annotated[str, AfterValidator(_reference), Field(json_schema_extra={"format": "secret-reference"})]
"""A field for a secret: holds `env:NAME`, `file:PATH` or `keyring:SERVICE/USER`, never the secret."""


class ConnectorConfig(BaseModel):
    """Base of a connector's configuration. Unknown fields are errors, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class CheckpointModel(BaseModel):
    """Base of a connector's checkpoint: small JSON. Raise `schema_version` when the meaning of a field changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1

    @classmethod
    def present_version(cls) -> int:
        """The `schema_version` that is written now."""
        return int(cls.model_fields["schema_version"].default)

    @classmethod
    def upgrade(cls, state: dict[str, Any]) -> dict[str, Any]:
        """Turn the state of an older `schema_version` into the present form.

        Raises:
            ValueError: that version is not known; the run stops with this message and starts nothing from zero.
        """
        raise ValueError(
            f"checkpoint version {state.get('schema_version')} is not known; run `sapwood resync` to list all anew"
        )
