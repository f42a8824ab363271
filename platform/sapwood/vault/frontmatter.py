"""YAML front matter: written by hand for speed and stable bytes, read by PyYAML because people edit it."""

from __future__ import annotations

import json
import re
from typing import Any

from sapwood.text.markdown import split_front_matter

# A plain scalar that no YAML reader takes for anything but this text.
_PLAIN = re.compile(
    r"[A-Za-z\u3400-\u9fff][\w./+@=%~()\u3400-\u9fff -]*(?<! )$|[A-Za-z][\w./+@=%~-]*(?::[\w./+@=%~-]+)+$"
)
_WORDS = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n", "~", "nan", "inf"])


def scalar(value: Any) -> str:
    """One YAML scalar that parses to exactly this value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    if len(text) < 200 and _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


def compose(fields: dict[str, Any]) -> str:
    """The block with its two `---` lines; keys in the given order, lists one entry a line."""
    lines = ["---"]
    for key, value in fields.items():
        if isinstance(value, list | tuple):
            lines.append(f"{key}:" if value else f"{key}: []")
            lines += [f"  - {scalar(entry)}" for entry in value]
        elif isinstance(value, dict):
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
        else:
            lines.append(f"{key}: {scalar(value)}")
    lines.append("---\n")
    return "\n".join(lines)


def parse(text: str) -> tuple[dict[str, Any] | None, str]:
    """The fields and the body. None when there is no front matter, or it is no YAML mapping: a damaged file."""
    block, body = split_front_matter(text)
    if block is None:
        return None, text
    import yaml

    try:
        fields = yaml.load(block, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError):
        return None, body
    return (fields, body) if isinstance(fields, dict) else (None, body)
