"""What a connector may talk to, and how its HTTP client waits, tries again and gives up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler

import httpx
import pytest
from tests.loopback import Loopback, Reply

from sapwood.clock import retry_after
from sapwood.plugins.network import HostGuard
from sapwood.plugins.web import TRIES, make_client
from sapwood.sdk.errors import Cancelled, ConfigError, RateLimited, TransientError


class _Service(Loopback):
    """A service that gives one prepared answer after the other, and the last one for ever."""

    def __init__(self) -> None:
        self.replies: list[Reply | None] = []
        self.seen: list[str] = []
        super().__init__(self._answer)

    def _answer(self, request: BaseHTTPRequestHandler, _: bytes) -> Reply | None:
        self.seen.append(f"{request.command} {request.path}")
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.fixture
def service() -> Iterator[_Service]:
    started = _Service()
    yield started
    started.close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(waits: list[float]) -> Iterator[httpx.Client]:
    with make_client(HostGuard(["127.0.0.1"]), spend=lambda: None, sleep=waits.append) as made:
        yield made


OK: Reply = (200, {}, b"fine")


@pytest.mark.parametrize("trouble", [(500, {}, b""), (503, {}, b""), (529, {}, b""), (429, {}, b""), None])
def test_what_may_pass_is_tried_again(
    service: _Service, client: httpx.Client, waits: list[float], trouble: Reply | None
) -> None:
    service.replies = [trouble, trouble, OK]
    assert client.get(f"{service.url}/a").text == "fine"
    assert len(service.seen) == 3 and len(waits) == 2 and all(0 <= wait <= 20 for wait in waits)


def test_a_service_that_stays_down_ends_the_run_and_names_itself(
    service: _Service, client: httpx.Client, waits: list[float]
) -> None:
    service.replies = [(502, {}, b"")]
    with pytest.raises(TransientError, match=r"127\.0\.0\.1 answers 502"):
        client.get(service.url)
    assert len(service.seen) == TRIES and len(waits) == TRIES - 1


def test_the_wait_that_a_service_asks_for_is_kept_to(
    service: _Service, client: httpx.Client, waits: list[float]
) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    service.replies = [(429, {"Retry-After": "7"}, b""), (429, {"Retry-After": soon}, b""), OK]
    assert client.get(service.url).status_code == 200
    assert waits[0] == 7.0 and 10 < waits[1] <= 20


def test_a_long_wait_is_told_to_the_host_and_not_waited_for(
    service: _Service, client: httpx.Client, waits: list[float]
) -> None:
    service.replies = [(429, {"Retry-After": "3600"}, b"")]
    with pytest.raises(RateLimited) as limited:
        client.get(service.url)
    assert (limited.value.retry_after, limited.value.bucket, waits) == (3600.0, "127.0.0.1", [])
    service.replies = [(429, {}, b"")]
    with pytest.raises(RateLimited) as limited:
        client.get(service.url)
    assert limited.value.retry_after >= 60


def test_what_may_have_changed_something_is_not_sent_twice(
    service: _Service, client: httpx.Client, waits: list[float]
) -> None:
    service.replies = [(500, {}, b"")]
    assert client.post(service.url).status_code == 500
    assert service.seen == ["POST /"]
    service.replies = [(429, {"Retry-After": "1"}, b""), OK]
    assert client.post(service.url).text == "fine"


def test_other_answers_are_the_connectors_to_read(service: _Service, client: httpx.Client) -> None:
    for status in (401, 403, 404, 304):
        service.replies = [(status, {}, b"")]
        assert client.get(service.url).status_code == status
    assert len(service.seen) == 4


def test_hosts_that_were_not_declared_are_refused_also_behind_a_redirect(
    service: _Service, client: httpx.Client
) -> None:
    with pytest.raises(ConfigError, match=r"elsewhere\.example is not one of the hosts"):
        client.get("http://elsewhere.example/")
    service.replies = [(302, {"Location": "http://elsewhere.example/"}, b"")]
    with pytest.raises(ConfigError):
        client.get(service.url, follow_redirects=True)


def test_every_request_is_counted_and_a_stop_ends_the_waiting(service: _Service) -> None:
    spent: list[int] = []

    def stop(_: float) -> None:
        raise Cancelled

    service.replies = [(503, {}, b"")]
    made = make_client(HostGuard(["127.0.0.1"]), spend=lambda: spent.append(1), sleep=stop)
    with made, pytest.raises(Cancelled):
        made.get(service.url)
    assert spent == [1]


@pytest.mark.parametrize(
    ("declared", "host", "allowed"),
    [
        ("api.example.com", "api.example.com", True), ("api.example.com", "API.example.com.", True), ("api.example.com", "example.com", False),
        ("api.example.com", "api.example.com.evil.net", False), ("*.example.com", "files.example.com", True), ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False), ("127.0.0.1", "127.0.0.1", True), ("::1", "[::1]", True),
    ],
)  # fmt: skip
def test_a_declared_host_is_that_host_or_what_its_pattern_names(declared: str, host: str, allowed: bool) -> None:
    assert HostGuard([declared]).allows(host) is allowed


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("socket.create_connection(('127.0.0.1', port))", "connected"),
        ("socket.create_connection(('localhost', port))", "localhost is not one of the hosts"),
        ("socket.socket().connect(('10.1.2.3', 80))", "10.1.2.3 is not one of the hosts"),
        ("socket.getaddrinfo('elsewhere.example', 80)", "elsewhere.example is not one of the hosts"),
        ("urllib.request.urlopen('http://elsewhere.example/')", "elsewhere.example is not one of the hosts"),
        ("socket.socketpair()", "connected"),
    ],
)  # fmt: skip
def test_whatever_library_opens_a_socket_it_is_held_to_the_declared_hosts(
    service: _Service, action: str, outcome: str
) -> None:
    code = (
        "import socket, urllib.request\nfrom sapwood.plugins.network import HostGuard\n"
        f"port = {service.url.rpartition(':')[2]}\nHostGuard(['127.0.0.1']).watch_sockets()\n{action}\nprint('connected')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert outcome in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("5", 5.0), ("0", 0.0), ("-3", 0.0), ("1.5", 1.5), ("", None), (None, None), ("soon", None), ("nan", None), ("inf", None)],
)  # fmt: skip
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds
    assert retry_after(format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)) == 0.0
