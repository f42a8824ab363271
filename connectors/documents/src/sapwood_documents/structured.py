"""JSON and JSON lines as a readable outline.

A list of records (also one that is the only long list of an object) gives a segment a record, so that each is found
by itself. Values below a secret's name are cut here, while their names are still known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sapwood.sdk import Converted, ConvertError, ConvertFile, Segment
from sapwood.sdk.sources import Kind
from sapwood_documents.reading import read_text

MAX_DEPTH = 64
MAX_LINES = 200_000
_ID_KEYS = ("id", "_id", "uuid", "dia_id", "message_id", "msg_id", "ts", "key", "guid")
_TEXT_KEYS = ("text", "content", "message", "body", "msg")
_AUTHOR_KEYS = ("speaker", "author", "sender", "from", "user_name", "username", "user", "name")
_TIME_NAME = re.compile(
    r"(?:time|date|created|updated|edited|modified|timestamp|_at$|At$|(?:^|_)ts(?:$|_)|epoch|usec)", re.IGNORECASE
)
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
    budget = _Budget()
    head, records = _records(data)
    segments: list[Segment] = []
    if head is not None and (body := "\n".join(_outline(head, 0, budget))):
        segments.append(Segment("data", body))
    used: set[str] = {"data"}
    talk = head is None and _is_talk(records)
    for number, record in enumerate(records):
        if budget.lines <= 0:
            break
        segments.append(_record(record, number, budget, used, talk=talk))
    owner = data if isinstance(data, dict) else {}
    return Converted(
        title=_title(owner),
        segments=tuple(s for s in segments if s.text.strip()),
        kind=Kind.CHAT if talk else Kind.DOCUMENT,
        created=_dated(owner, _CREATED),
        modified=_dated(owner, _MODIFIED),
        tags=_labels(owner),
        media_type="application/json",
        warnings=(*warnings, *budget.warnings()),
        truncated="the outline was cut at its line limit" if budget.lines <= 0 else "",
    )


class _Budget:
    """Lines that the outline may still have, and whether something was too deep."""

    def __init__(self) -> None:
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


def _is_talk(records: list[Any]) -> bool:
    """True when every record is a dated message: a text, an author, a time."""
    return bool(records) and all(
        isinstance(r, dict)
        and any(isinstance(r.get(k), str) for k in _TEXT_KEYS)
        and any(isinstance(r.get(k), str) for k in _AUTHOR_KEYS)
        and any(_TIME_NAME.search(str(k)) and _time(v) for k, v in r.items())
        for r in records
    )


def _record(record: Any, number: int, budget: _Budget, used: set[str], *, talk: bool) -> Segment:
    native_id, author, at = f"r{number}", "", None
    if isinstance(record, dict):
        given = next(
            (str(record[k]) for k in _ID_KEYS if isinstance(record.get(k), str | int) and str(record[k]).strip()), ""
        )
        given = " ".join(given.split())[:200]
        native_id = given if given and given not in used else native_id
        author = next((" ".join(record[k].split())[:80] for k in _AUTHOR_KEYS if isinstance(record.get(k), str)), "")
        at = next((m for k, v in record.items() if _TIME_NAME.search(str(k)) and (m := _time(v))), None)
    used.add(native_id)
    if talk:  # id, author and time stand in the message's heading and row; every other field follows its text
        text_key = next(k for k in _TEXT_KEYS if isinstance(record.get(k), str))
        said = {
            text_key,
            *(k for k in _ID_KEYS if str(record.get(k)) == native_id),
            *(k for k in _AUTHOR_KEYS if record.get(k) == author),
        }
        rest = {
            k: v
            for k, v in record.items()
            if k not in said and not (_TIME_NAME.search(str(k)) and _time(v) == at) and v not in (None, "", [], {})
        }
        budget.lines -= 1
        return Segment(native_id, "\n".join([record[text_key], *_outline(rest, 0, budget)]), at, author)
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
        if key and _TIME_NAME.search(key) and (moment := _time(value)) and not isinstance(value, str):
            text = f"{text} ({moment.isoformat().replace('+00:00', 'Z')})"
    lines = text.split("\n")
    budget.lines -= len(lines)
    yield (lead + lines[0]).rstrip() if lines[0] or lead.strip() != "-" else lead.rstrip()
    for line in lines[1:]:
        yield f"{pad}  {line}".rstrip()


def _time(value: Any) -> datetime | None:
    """A moment out of seconds, milliseconds or microseconds since 1970 (between 1990 and 2100), or ISO 8601 with a zone."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"\d{10}(?:\.\d+)?|\d{13}|\d{16}", text):
            return _time(float(text) if "." in text else int(text))
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        return moment if moment.tzinfo else None
    if not isinstance(value, int | float):
        return None
    for scale in (1, 1_000, 1_000_000):
        if 631_152_000 <= value / scale < 4_102_444_800:
            return datetime.fromtimestamp(value / scale, UTC)
    return None


def _title(data: dict[str, Any], depth: int = 0) -> str:
    """A title of the object, or of an object directly below it, two levels deep."""
    own = next((data[key] for key in _TITLE_KEYS if isinstance(data.get(key), str) and len(data[key]) <= 500), "")
    inner = (_title(value, depth + 1) for value in data.values() if isinstance(value, dict)) if depth < 2 else iter(())
    return own or next(filter(None, inner), "")


def _dated(data: dict[str, Any], names: tuple[str, ...]) -> datetime | None:
    for name in names:
        for key, value in data.items():
            if re.sub(r"[^a-z]", "", str(key).lower()).startswith(name) and (moment := _time(value)):
                return moment
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
