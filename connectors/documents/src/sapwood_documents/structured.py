"""JSON and JSON lines as a readable outline.

A list of records (also one that is the only long list of an object) gives a segment a record, so that each is found
by itself. Values below a secret's name are cut here, while their names are still known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Any

from sapwood.sdk import Converted, ConvertError, ConvertFile, Segment
from sapwood.sdk.sources import Kind
from sapwood_documents.messages import ID_KEYS, TIME_NAME, as_message, as_segment, author_of, is_talk, moment, time_of
from sapwood_documents.reading import read_text

MAX_DEPTH = 64
MAX_LINES = 200_000
_TITLE_KEYS = ("title", "subject", "headline", "标题", "name")
_MODIFIED = ("useredited", "modified", "updated", "edited", "lastedited", "update", "mtime", "lastmod")
_CREATED = ("created", "create", "published", "date", "timestamp", "ctime", "sent")
_SECRET = re.compile(
    r"(?:^|.*)(?:api_?key|access_?key|secret_?key|private_?key|client_?secret|secret|pass(?:word|wd|phrase|code)|pwd|(?:access|refresh|id|auth|bearer|session|bot)_?token|authorization|credentials?|密码|密钥)$|^token$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"(?:^|_)(?:next|page|sync|continuation|primary|foreign|sort|cache)_?(?:token|key)$", re.IGNORECASE
)


def convert(file: ConvertFile) -> Converted:
    """An outline of the data; its own title and dates where it has them."""
    text = read_text(file)
    lines = file.extension in ("jsonl", "ndjson")
    data, warnings = _parse_lines(text) if lines else (_parse(text), ())
    budget = _Budget(file.zone)
    head, records = _records(data)
    segments: list[Segment] = []
    talk = is_talk(records, file.zone)
    if talk and isinstance(head, dict):  # the chat's name is its title
        head = {k: v for k, v in head.items() if k not in (*_TITLE_KEYS, *ID_KEYS, "type")}
    if head and (body := "\n".join(_outline(head, 0, budget))):
        segments.append(Segment("data", body))
    used: set[str] = {"data"}
    for number, record in enumerate(records):
        if budget.lines <= 0:
            break
        segments.append(_record(record, number, budget, used, talk=talk))
    owner = data if isinstance(data, dict) else {}
    return Converted(
        title=_title(owner),
        segments=tuple(s for s in segments if s.text.strip()),
        kind=Kind.CHAT if talk else Kind.DOCUMENT,
        created=_dated(owner, _CREATED, file.zone),
        modified=_dated(owner, _MODIFIED, file.zone),
        tags=_labels(owner),
        media_type="application/json",
        warnings=(*warnings, *budget.warnings()),
        truncated="the outline was cut at its line limit" if budget.lines <= 0 else "",
    )


class _Budget:
    """Lines that the outline may still have, whether something was too deep, and the zone of times that name none."""

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone
        self.lines = MAX_LINES
        self.too_deep = 0

    def warnings(self) -> tuple[str, ...]:
        """What the reader should know."""
        return (f"{self.too_deep} parts nested over {MAX_DEPTH} levels deep were left out",) if self.too_deep else ()


def _parse(text: str) -> Any:
    try:
        return json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise ConvertError(
            "damaged",
            f"is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}",
            "Correct that place.",
        ) from error
    except RecursionError as error:
        raise ConvertError(
            "damaged", "is nested too deeply to be JSON that a program wrote for reading", "Flatten it."
        ) from error
    except ValueError as error:
        raise ConvertError("damaged", f"is not readable JSON ({error})", "Correct that number.") from error


def _parse_lines(text: str) -> tuple[list[Any], tuple[str, ...]]:
    """The values of the lines; broken lines are named, unless all are broken."""
    values, broken = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            broken.append(number)
    if broken and not values:
        raise ConvertError("damaged", f"is not valid JSON lines: line {broken[0]}", "Correct that place.")
    named = ", ".join(map(str, broken[:20])) + (" …" if len(broken) > 20 else "")
    return values, (f"{len(broken)} lines are not valid JSON: {named}",) if broken else ()


def _records(data: Any) -> tuple[Any, list[Any]]:
    """What stands around the records, and the records."""
    if isinstance(data, list):
        return (
            (None, data) if len(data) > 1 and sum(isinstance(d, dict) for d in data) >= 0.8 * len(data) else (data, [])
        )
    if isinstance(data, dict):
        lists = [
            k for k, v in data.items() if isinstance(v, list) and len(v) > 1 and all(isinstance(d, dict) for d in v)
        ]
        if len(lists) == 1:
            return {k: v for k, v in data.items() if k != lists[0]} or None, data[lists[0]]
    return data, []


def _record(record: Any, number: int, budget: _Budget, used: set[str], *, talk: bool) -> Segment:
    native_id = f"r{number}"
    if isinstance(record, dict):
        given = next(
            (str(record[k]) for k in ID_KEYS if isinstance(record.get(k), str | int) and str(record[k]).strip()), ""
        )
        given = " ".join(given.split())[:200]
        native_id = given if given and given not in used else native_id
    used.add(native_id)
    if talk and (message := as_message(record, native_id, budget.zone)):
        budget.lines -= 1
        return as_segment(message, native_id, lambda others: _outline(others, 0, budget))
    author, at = (author_of(record), time_of(record, budget.zone)) if isinstance(record, dict) else ("", None)
    return Segment(native_id, "\n".join(_outline(record, 0, budget)), at, author)


def _outline(value: Any, depth: int, budget: _Budget) -> Iterator[str]:
    """Lines `- key: value`, nested by two blanks; long texts keep their line breaks, indented."""
    if depth > MAX_DEPTH:
        budget.too_deep += 1
        return
    if budget.lines <= 0:
        return
    pad = "  " * depth
    if isinstance(value, dict):
        for key, inner in value.items():
            name = " ".join(str(key).split()) or '""'
            if (
                _SECRET.match(name)
                and not _NOT_SECRET.search(name)
                and inner not in (None, "", [], {})
                and not isinstance(inner, bool)
            ):
                budget.lines -= 1
                yield f"{pad}- {name}: [REDACTED]"
            elif isinstance(inner, dict | list) and inner:
                budget.lines -= 1
                yield f"{pad}- {name}:"
                yield from _outline(inner, depth + 1, budget)
            else:
                yield from _leaf(f"{pad}- {name}: ", inner, pad, budget, key=name)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict | list) and inner:
                nested = list(_outline(inner, depth + 1, budget))
                if nested:  # the first line of a record takes the list's mark
                    yield f"{pad}- {nested[0].strip().removeprefix('- ')}"
                    yield from nested[1:]
            else:
                yield from _leaf(f"{pad}- ", inner, pad, budget)
    else:
        yield from _leaf(pad, value, pad, budget)


def _leaf(lead: str, value: Any, pad: str, budget: _Budget, key: str = "") -> Iterator[str]:
    if value is None or value in ("", [], {}):
        text = ""
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = str(value)
        if key and TIME_NAME.search(key) and not isinstance(value, str) and (when := moment(value, budget.zone)):
            text = f"{text} ({when.isoformat().replace('+00:00', 'Z')})"
    lines = text.split("\n")
    budget.lines -= len(lines)
    yield (lead + lines[0]).rstrip() if lines[0] or lead.strip() != "-" else lead.rstrip()
    for line in lines[1:]:
        yield f"{pad}  {line}".rstrip()


def _title(data: dict[str, Any], depth: int = 0) -> str:
    """A title of the object, or of an object directly below it, two levels deep."""
    own = next((data[key] for key in _TITLE_KEYS if isinstance(data.get(key), str) and len(data[key]) <= 500), "")
    inner = (_title(value, depth + 1) for value in data.values() if isinstance(value, dict)) if depth < 2 else iter(())
    return own or next(filter(None, inner), "")


def _dated(data: dict[str, Any], names: tuple[str, ...], zone: tzinfo) -> datetime | None:
    for name in names:
        for key, value in data.items():
            if re.sub(r"[^a-z]", "", str(key).lower()).startswith(name) and (when := moment(value, zone)):
                return when
    return None


def _labels(data: dict[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for key in ("tags", "labels", "keywords"):
        values = data.get(key)
        for value in values if isinstance(values, list) else ():
            name = value.get("name") if isinstance(value, dict) else value
            if isinstance(name, str) and name.strip():
                found.append(" ".join(name.split()))
    return tuple(dict.fromkeys(found))
