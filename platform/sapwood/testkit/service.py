"""A service on this machine for tests: a real HTTP server that keeps entries, pages, and fails as services do.

    class Notes(FakeService):
        def answer(self, request):
            if request.path == "/notes":
                return self.listed(request, [{"id": e.name, "text": e.text} for e in self.entries.values()])

What `answer` returns is sent as JSON; `Refused` becomes the status that it names. Everything else, such as the credential, a
limit or a cut answer, is done before and after it.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from sapwood.testkit.world import World

__all__ = ["Entry", "FakeService", "Refused", "Request"]

_BEGAN = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
_STEP = timedelta(minutes=7)
_ALL = ("list", "unauthorised", "limited", "limited once", "limited by date", "limited without a time", "down", "down once", "cut", "garbled", "one item forbidden", "empty page", "endless")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """What the service holds under a name; `created` and `changed` are aware. `is_deleted` for one of which only that is known."""

    name: str
    text: str
    created: datetime
    changed: datetime
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A request as `answer` sees it: method, path, parameters of the query, body, headers in lower case."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    headers: dict[str, str]


class Refused(Exception):
    """Answer with this status."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers


class FakeService(World):
    """Subclass it and write `answer`; use it as a context manager.

    Attributes:
        url: where it listens, on this machine alone.
        entries: by name, in the order in which they were added.
        tombstones: entries that were deleted, for services that tell so.
        requests: every request that came.
        variable: the environment variable that holds the credential while the service runs.
    """

    page_size = 100
    secret = "kit-canary-7f3a91c2d8e5"  # noqa: S105 — it opens nothing
    variable = "SAPWOOD_KIT_SECRET"

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.tombstones: dict[str, Entry] = {}
        self.requests: list[Request] = []
        self.url = ""
        self._now = _BEGAN
        self._number = 0
        self._fault = ""
        self._server: ThreadingHTTPServer | None = None

    # -- for the author -----------------------------------------------------------------------------------------------

    def answer(self, request: Request) -> Any:
        """JSON, or raise `Refused`."""
        raise NotImplementedError("write the answers of your service")

    def is_authorised(self, request: Request) -> bool:
        """Whether the request bears the credential: `Authorization: Bearer …`. Override it for another way."""
        return request.headers.get("authorization") == f"Bearer {self.secret}"

    def page(self, request: Request, entries: Sequence[Any], cursor: str = "cursor") -> tuple[list[Any], str]:
        """The entries that a request asks for, and the cursor of the next page, empty at the end. The parameter `cursor` says where to
        begin."""
        first = request.query.get(cursor, "")
        at = int(first.removesuffix("e") or 0) if first.removesuffix("e").isdigit() or not first else 0
        if self._fault == "list" and at:
            raise Refused(500)
        if self._fault == "empty page" and not first.endswith("e"):
            return [], f"{at}e"
        if self._fault == "endless":
            return list(entries[: self.page_size]), "1"
        size = self.page_size if self._fault != "list" else 2
        found, after = list(entries[at : at + size]), at + size
        return found, str(after) if after < len(entries) else ""

    def readable(self, name: str) -> Entry:
        """The entry of a name, for a request that asks for one alone.

        Raises:
            Refused: it is not there (404), or may not be read (403).
        """
        if name not in self.entries:
            raise Refused(404)
        self.asked_for_one = True
        if self._fault == "one item forbidden" and name == next(iter(self.entries)):
            raise Refused(403)
        return self.entries[name]

    asked_for_one = False

    # -- for the kit --------------------------------------------------------------------------------------------------

    def add(self, text: str) -> str:
        """See `World`."""
        self._now += _STEP
        return self.add_in_the_same_moment(text)

    def add_in_the_same_moment(self, text: str) -> str:
        """See `World`."""
        self._number += 1
        name = f"e{self._number}"
        self.entries[name] = Entry(name, text, self._now, self._now)
        return name

    def edit(self, name: str, text: str) -> None:
        """See `World`."""
        self._now += _STEP
        self.entries[name] = replace(self.entries[name], text=text, changed=self._now)

    def delete(self, name: str) -> None:
        """See `World`."""
        self._now += _STEP
        self.tombstones[name] = replace(self.entries.pop(name), text="", changed=self._now, is_deleted=True)

    @contextmanager
    def fault(self, kind: str) -> Iterator[None]:
        """See `World`."""
        if kind not in _ALL or (kind == "one item forbidden" and not self.asked_for_one):
            raise NotImplementedError(kind)
        self._fault = kind
        try:
            yield
        finally:
            self._fault = ""

    def __enter__(self) -> Self:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service._handle(self)

            do_POST = do_PUT = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        os.environ[self.variable] = self.secret
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        os.environ.pop(self.variable, None)
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(handler.command, parts.path, dict(parse_qsl(parts.query)), body, headers)
        self.requests.append(request)
        with suppress(BrokenPipeError, ConnectionResetError):
            try:
                self._refuse(request)
                content = json.dumps(self.answer(request), ensure_ascii=False).encode()
                self._send(handler, 200, content, {})
            except Refused as refused:
                self._send(handler, refused.status, b"{}", refused.headers)

    def _refuse(self, request: Request) -> None:
        kind = self._fault
        if kind in ("limited once", "limited by date", "limited without a time", "down once"):
            self._fault = ""
        soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
        waits = {"limited": {"Retry-After": "120"}, "limited once": {"Retry-After": "0"}, "limited by date": {"Retry-After": soon}, "limited without a time": {}}  # fmt: skip
        if kind in waits:
            raise Refused(429, **waits[kind])
        if kind in ("down", "down once"):
            raise Refused(500)
        if kind == "unauthorised" or not self.is_authorised(request):
            raise Refused(401)

    def _send(self, handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str]) -> None:
        if self._fault == "garbled":
            content = b"<html>" + content[: len(content) // 2]
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json; charset=utf-8")
        handler.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if self._fault == "cut":
            handler.wfile.write(content[: len(content) // 2])
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.wfile.write(content)
