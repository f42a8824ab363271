"""JSON lines between the host and a connector's process.

Child to parent: `{"plugins": …}` once the connector is loaded, then `{"event": …}`, `{"ask": …, "id": n}`,
`{"log": [level, text]}`, `{"result": …}` and `{"error": …}`; the last two end the run.
Parent to child: one `{"start": …}`, then `{"answer": n, "value": …}` or `{"answer": n, "error": …}`, and `{"cancel": true}`. The answer to
`known` is followed by a line with the rows themselves, which the child reads as `KnownItem`s at once.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

MAX_LINE = 64 * 1024 * 1024

encode_message = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def write_message(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write one message as a line; see `write_line`."""
    write_line(stream, encode_message(message))


def write_line(stream: BinaryIO, text: str) -> None:
    """Write one line of JSON and flush it.

    Raises:
        ValueError: the line would be longer than 64 MiB.
    """
    line = text.encode("utf-8", "surrogatepass")
    if len(line) > MAX_LINE:
        raise ValueError(f"a message of {len(line)} bytes is longer than the {MAX_LINE} that a line may have")
    stream.write(line + b"\n")
    stream.flush()


def read_line(stream: BinaryIO) -> bytes | None:
    """The next line, None at the end of the stream.

    Raises:
        ValueError: it is longer than 64 MiB.
    """
    line = stream.readline(MAX_LINE + 2)
    if len(line) > MAX_LINE + 1:
        raise ValueError(f"a line is longer than {MAX_LINE} bytes")
    return line or None


def read_message(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message, None at the end of the stream.

    Raises:
        ValueError: the line is no JSON object, or longer than 64 MiB.
    """
    line = read_line(stream)
    if line is None:
        return None
    message = json.loads(line.decode("utf-8", "surrogatepass"))
    if not isinstance(message, dict):
        raise ValueError("a line is no JSON object")
    return message
