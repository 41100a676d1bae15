"""Block the network while a test replays: sockets of any library may only connect to this machine."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

LOOPBACK = "loopback"
"""Name for this machine among the allowed hosts."""


class NetworkBlocked(BaseException):
    """A test tried to use the network; not an ``Exception``, so that HTTP clients do not retry or hide it."""


@contextmanager
def network_blocked(allowed: Sequence[str], remedy: str) -> Generator[list[str]]:
    """Block all hosts that are not allowed; yields the list of blocked attempts, which grows.

    :param allowed: names or addresses, where ``*`` matches any text, and :data:`LOOPBACK`
    """
    guard = _Guard(allowed, remedy)
    _hook_sockets()
    _guards.append(guard)
    try:
        yield guard.refused
    finally:
        _guards.remove(guard)


@dataclass(slots=True, eq=False)
class _Guard:
    allowed: Sequence[str]
    remedy: str
    refused: list[str] = field(default_factory=list)
    resolved: set[str] = field(default_factory=set)
    """Allowed names that were looked up, and their addresses."""

    def check_socket_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        match event, arguments:
            case "socket.getaddrinfo" | "socket.gethostbyname" | "socket.gethostbyaddr", (host, *_):
                name = host.decode() if isinstance(host, bytes) else str(host or "")
                if _parse_ip(name) or name in self.resolved:  # an address needs no DNS query
                    return
                self._check_host("look up", name)
                self.resolved.add(name)
                # The hook gets this look-up too, and lets it pass, since the name is in ``resolved`` by now.
                with suppress(OSError):
                    self.resolved |= {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
            case "socket.connect" | "socket.sendto" | "socket.sendmsg", (sock, (host, *_)):
                if sock.family in {socket.AF_INET, socket.AF_INET6}:
                    try:
                        self._check_host("connect to", str(host))
                    except NetworkBlocked:
                        sock.close()  # clients close it only after an OSError
                        raise
            case _:
                pass

    def _check_host(self, act: str, host: str) -> None:
        patterns = (pattern.lower() for pattern in self.allowed)
        named = not host or host in self.resolved or any(fnmatchcase(host.lower(), one) for one in patterns)
        if not named and not (LOOPBACK in self.allowed and _is_loopback(host)):
            self.refused.append(f"{act} {host}")
            raise NetworkBlocked(
                f"there is no network in a replay, but this test wants to {act} {host}.\n{self.remedy}"
            )


_guards: list[_Guard] = []


@cache
def _hook_sockets() -> None:
    """Pass the events of all sockets to the guards. Once, since Python cannot remove an audit hook."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _guards and event.startswith("socket."):
            _guards[-1].check_socket_event(event, arguments)

    sys.addaudithook(hook)


def _is_loopback(host: str) -> bool:
    address = _parse_ip(host)
    return address.is_loopback if address else host.lower() == "localhost"


def _parse_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
