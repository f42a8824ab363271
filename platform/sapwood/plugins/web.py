"""The HTTP client that a connector is given: it waits and tries again as the service asks, within the connection's budget."""

from __future__ import annotations

import functools
import random
import ssl
from collections.abc import Callable, Iterator

import httpx

from sapwood.clock import retry_after
from sapwood.plugins.network import HostGuard
from sapwood.sdk.errors import RateLimited, TransientError

__all__ = ["LONGEST_WAIT", "TRIES", "make_client"]

TRIES = 5
LONGEST_WAIT = 30.0  # seconds that are waited inside of a run; the host is told of longer ones
_BASE, _CAP = 0.5, 20.0  # of the exponential back-off, in seconds
_SECONDS = 30.0
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_BUSY = frozenset({408, 425, 500, 502, 503, 504, 529})


def make_client(
    guard: HostGuard,
    *,
    spend: Callable[[], None],
    sleep: Callable[[float], None],
    transport: httpx.BaseTransport | None = None,
) -> httpx.Client:
    """A client with retries, Retry-After, budget and the host allow-list.

    Args:
        guard: which hosts may be talked to; redirects are held to it too.
        spend: called before every request; raises when there is no budget left.
        sleep: waits some seconds, and raises when the run is to stop.
        transport: in place of the network, for tests.
    """
    inner = transport or httpx.HTTPTransport(verify=_certificates())
    return httpx.Client(timeout=_SECONDS, transport=_Retrying(inner, guard, spend, sleep))


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Reading them costs more than a request to this machine; one process needs them once."""
    return httpx.create_ssl_context()


class _Body(httpx.SyncByteStream):
    """The rest of an answer; one that breaks off is the service's failure, not the connector's."""

    def __init__(self, inner: httpx.SyncByteStream, host: str) -> None:
        self._inner = inner
        self._host = host

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._inner
        except httpx.TransportError as error:
            raise TransientError(
                f"the answer of {self._host} breaks off ({error})", hint="It is tried again with the next run."
            ) from error

    def close(self) -> None:
        self._inner.close()


class _Retrying(httpx.BaseTransport):
    def __init__(
        self, inner: httpx.BaseTransport, guard: HostGuard, spend: Callable[[], None], sleep: Callable[[float], None]
    ) -> None:
        self._inner = inner
        self._guard = guard
        self._spend = spend
        self._sleep = sleep

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Five tries at most. 429 is waited for, or told to the host as `RateLimited`; a service that stays down is a `TransientError`.
        What may have changed something is only sent again when the service says that it did not take it (429)."""
        self._guard.require(request.url.host)
        repeatable = request.method in _REPEATABLE
        for number in range(1, TRIES + 1):
            self._spend()
            trouble = ""
            wait: float | None = None
            try:
                response = self._inner.handle_request(request)
            except httpx.TransportError as error:
                trouble = f"{type(error).__name__}: {error}".rstrip(": ")
                again = repeatable or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            else:
                if response.status_code != 429 and response.status_code not in _BUSY:
                    assert isinstance(response.stream, httpx.SyncByteStream)
                    response.stream = _Body(response.stream, request.url.host)
                    return response
                wait = retry_after(response.headers.get("Retry-After"))
                if response.status_code == 429 and wait is not None and wait > LONGEST_WAIT:
                    response.close()
                    raise RateLimited(
                        f"{request.url.host} asks to wait {wait:.0f} s", retry_after=wait, bucket=request.url.host
                    )
                again = repeatable or response.status_code == 429
                trouble = f"answers {response.status_code}"
                if not again:
                    return response  # what to make of it is for the connector to say
                response.close()
                if response.status_code == 429 and number == TRIES:
                    raise RateLimited(
                        f"{request.url.host} goes on limiting",
                        retry_after=max(wait or 0.0, 60.0),
                        bucket=request.url.host,
                    )
            if not again or number == TRIES:
                break
            back_off = random.uniform(0, min(_CAP, _BASE * 2**number))  # noqa: S311 — spreads tries, hides nothing
            self._sleep(min(wait, LONGEST_WAIT) if wait is not None else back_off)
        raise TransientError(f"{request.url.host} {trouble}", hint="It is tried again with the next run.")

    def close(self) -> None:
        """Close what is below."""
        self._inner.close()
