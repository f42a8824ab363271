"""Messages between a command and the embedder's process: four bytes of length, then MessagePack."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

__all__ = ["LOCK_NAME", "SOCKET_NAME", "Answer", "Request", "receive", "send", "socket_path"]

SOCKET_NAME, LOCK_NAME = "embedder.sock", "embedder.lock"
_LONGEST = 1 << 28
_LONGEST_ADDRESS = 100  # bytes that the system allows for a socket's path, about


class Request(msgspec.Struct, frozen=True):
    """Texts for a model; urgent ones go before those that are not."""

    model: str
    texts: list[str]
    urgent: bool = False


class Answer(msgspec.Struct, frozen=True):
    """`vectors`: `dims` float32 numbers for each text, little-endian; or an error for a person."""

    vectors: bytes = b""
    dims: int = 0
    error: str = ""


_Message = TypeVar("_Message", Request, Answer)


def send(connection: socket.socket, message: Request | Answer) -> None:
    """Write a message.

    Raises:
        OSError: the other side is gone.
    """
    body = msgspec.msgpack.encode(message)
    connection.sendall(len(body).to_bytes(4, "big") + body)


def receive(connection: socket.socket, kind: type[_Message]) -> _Message | None:
    """Read a message; None when the other side has closed.

    Raises:
        OSError: the other side is gone, or a time limit was reached.
        ValueError: it is no message of this kind.
    """
    head = _exactly(connection, 4)
    if head is None:
        return None
    length = int.from_bytes(head, "big")
    if length > _LONGEST:
        raise ValueError(f"a message of {length} bytes")
    body = _exactly(connection, length)
    return None if body is None else msgspec.msgpack.decode(body, type=kind)


def _exactly(connection: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(min(1 << 20, length - len(parts)))
        if not part:
            return None
        parts += part
    return bytes(parts)


def socket_path(folder: Path, folder_handle: int) -> str:
    """Where the socket lies, by a name that is short enough: a long path is walked by way of the open folder."""
    path = str(folder / SOCKET_NAME)
    if len(os.fsencode(path)) > _LONGEST_ADDRESS and sys.platform == "linux":
        return f"/proc/self/fd/{folder_handle}/{SOCKET_NAME}"
    return path
