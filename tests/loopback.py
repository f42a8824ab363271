"""A real HTTP server on this machine alone, whose answers a test decides."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = tuple[int, dict[str, str], bytes]
Answer = Callable[[BaseHTTPRequestHandler, bytes], Reply | None]


class Loopback:
    """Answers GET and POST by what `answer` makes of a request and its body; None cuts the connection. A header `pause` is not sent: it
    says how many seconds lie between two bytes."""

    def __init__(self, answer: Answer) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reply = answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))
                if reply is None:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, headers, content = reply
                pause = float(headers.get("pause", 0))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    if name != "pause":
                        self.send_header(name, value)
                self.end_headers()
                with suppress(BrokenPipeError, ConnectionResetError):
                    for at in range(0, len(content), 1 if pause else max(1, len(content))):
                        self.wfile.write(content[at : at + 1] if pause else content)
                        time.sleep(pause)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """No more answers."""
        self._server.shutdown()
        self._server.server_close()
