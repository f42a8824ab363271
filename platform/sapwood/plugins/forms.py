"""The configuration of a connector as a form: its fields out of the JSON Schema of its model, and values out of texts.

The model itself is only known in the connector's own process, which has the last word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sapwood.errors import ConfigurationError

__all__ = ["Field", "fields_of", "parse_settings", "parse_value", "validated"]

_SECRET = "secret-reference"  # noqa: S105 — the format by which `SecretReference` is known
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_REFERENCE = "env:NAME, file:/path or keyring:service/user"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its type in JSON Schema (`string`, `integer`, `number`, `boolean`, `array`, `object`), what may stand there, and whether it
    holds a reference to a secret."""

    name: str
    kind: str
    title: str
    description: str
    is_required: bool
    default: Any
    choices: tuple[Any, ...]
    is_secret: bool

    @property
    def accepts(self) -> str:
        """The values that may stand there, for people."""
        if self.choices:
            return " or ".join(map(str, self.choices))
        if self.is_secret:
            return f"{'references to secrets, parted by commas' if self.kind == 'array' else 'a reference to a secret'}: {_REFERENCE}"
        return {
            "boolean": "true or false", "integer": "a whole number", "number": "a number", "array": "one value, or several parted by commas",
            "object": "a JSON object",
        }.get(self.kind, "a text")  # fmt: skip


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """The fields of a model's schema, in its order."""
    needed = schema.get("required", [])
    found: list[Field] = []
    for name, described in schema.get("properties", {}).items():
        inner = _resolved(described, schema)
        choices = tuple(inner.get("enum", ())) or ((inner["const"],) if "const" in inner else ())
        items = _resolved(inner.get("items", {}), schema)
        found.append(
            Field(
                name, str(inner.get("type", "string")), str(described.get("title") or inner.get("title") or name),
                str(described.get("description") or inner.get("description") or ""), name in needed, described.get("default"), choices,
                _SECRET in (inner.get("format"), items.get("format")),
            )
        )  # fmt: skip
    return found


def parse_settings(key: str, settings: Iterable[str], fields: list[Field]) -> dict[str, Any]:
    """The values of `field=value` texts, in the types of their fields.

    Raises:
        ConfigurationError: a text has no `=`, names no field, or its value cannot stand there.
    """
    known = {field.name: field for field in fields}
    found: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise ConfigurationError(f"--set {text}", "names no value", f"Write it as {name or 'field'}=value.")
        if name not in known:
            raise ConfigurationError(
                f"--set {name}", f"{key} has no such field", f"It has: {', '.join(known) or 'none'}."
            )
        found[name] = parse_value(known[name], value)
    return found


def parse_value(field: Field, text: str) -> Any:
    """A value out of what a person typed.

    Raises:
        ConfigurationError: it cannot stand in this field.
    """
    wrong = ConfigurationError(f"{field.name} = {'…' if field.is_secret else text!r}", "cannot stand there", f"Accepted: {field.accepts}.")  # fmt: skip
    text = text.strip()
    try:
        match field.kind:
            case "boolean":
                if text.lower() not in _YES + _NO:
                    raise wrong
                return text.lower() in _YES
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "array":
                return (
                    json.loads(text)
                    if text.startswith("[")
                    else [part.strip() for part in text.split(",") if part.strip()]
                )
            case "object":
                value = json.loads(text)
                if not isinstance(value, dict):
                    raise wrong
                return value
    except ValueError as error:
        raise wrong from error
    if field.choices and text not in map(str, field.choices):
        raise wrong
    if field.is_secret and not text.startswith(("env:", "file:", "keyring:")):
        raise wrong
    return text


def _resolved(described: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A field's schema without its references and without `or null`."""
    reference = described.get("$ref") or next(
        (part["$ref"] for part in described.get("allOf", ()) if "$ref" in part), ""
    )
    if reference:
        return dict(schema.get("$defs", {}).get(str(reference).rpartition("/")[2], {}))
    options = [option for option in described.get("anyOf", ()) if option.get("type") != "null"]
    return _resolved(options[0], schema) if options else described


def validated(spec: Any, given: Mapping[str, Any]) -> Any:
    """The configuration of a connector out of its values, for the process that has loaded it.

    Raises:
        ConfigError: fields are wrong; names each with what is wrong, and the options that set it.
    """
    from pydantic import ValidationError

    from sapwood.sdk.errors import ConfigError

    try:
        return spec.config_model.model_validate(given)
    except ValidationError as error:
        wrong = {".".join(str(part) for part in one["loc"]) or "configuration": _said(one) for one in error.errors()}
        told = "; ".join(f"{field}: {problem}" for field, problem in wrong.items())
        hint = (
            "Set it with --set "
            + " --set ".join(f"{name}=…" for name in dict.fromkeys(field.partition(".")[0] for field in wrong))
            + f"; `sapwood connectors show {spec.key}` says what may stand there."
        )
        raise ConfigError(
            f"{spec.key}: {told}.", field=next(iter(wrong)), hint=hint
        ) from None  # the values stay untold


def _said(error: Any) -> str:
    """What is wrong with a field, without its value."""
    if error["type"] == "missing":
        return "is required"
    if error["type"] == "extra_forbidden":
        return "is no field of this connector"
    return str(error["msg"]).removeprefix("Value error, ").rstrip(".")
