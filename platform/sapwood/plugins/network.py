"""Keeping a connector's process to the hosts that its connector declares: against mistakes, not against malice."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Iterable
from typing import Any

from sapwood.sdk.errors import ConfigError

__all__ = ["HostGuard"]


class HostGuard:
    """Which hosts may be talked to.

    Args:
        hosts: names or addresses; `*.example.com` is every host below `example.com`, and not that one itself.
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        self.hosts = tuple(host.lower().rstrip(".") for host in hosts)
        self._addresses: set[str] = set()

    def allows(self, host: str) -> bool:
        """True for a declared host, or one that a declared pattern names."""
        name = host.lower().rstrip(".").strip("[]")
        return any(
            name.endswith(pattern[1:]) and len(name) > len(pattern) - 1 if pattern.startswith("*.") else name == pattern
            for pattern in self.hosts
        )

    def require(self, host: str) -> None:
        """Go on only with a host that may be talked to.

        Raises:
            ConfigError: it was not declared.
        """
        if not self.allows(host):
            raise ConfigError(
                f"{host} is not one of the hosts that this connector declares: {', '.join(self.hosts) or 'none'}",
                hint="If it should be, that is for the connector's author to mend.",
            )

    def watch_sockets(self) -> None:
        """From now on names are looked up and connections opened for these hosts alone, in this process, whatever library asks. Sockets
        of this machine's file system stay free."""
        resolve = socket.getaddrinfo

        def guarded(host: Any, *arguments: Any, **options: Any) -> Any:
            name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
            if name is not None and not self._is_known_address(name):
                self.require(str(name))
            found = resolve(host, *arguments, **options)
            self._addresses.update(str(entry[4][0]) for entry in found)
            return found

        socket.getaddrinfo = guarded
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("socket.connect", "socket.sendto"):
            return
        address = arguments[1]
        if isinstance(address, tuple) and address and not self._is_known_address(str(address[0])):
            self.require(str(address[0]))

    def _is_known_address(self, host: str) -> bool:
        """True for an address to which a declared name has led."""
        try:
            return str(ipaddress.ip_address(host)) in self._addresses
        except ValueError:
            return False
