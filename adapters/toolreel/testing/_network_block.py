"""Block the network while a test replays: sockets of any library may only connect to this machine."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import Any, Final
from unittest.mock import patch

LOOPBACK: Final = "loopback"
"""Name for this machine among the allowed hosts."""

_LOOKUPS: Final = ("getaddrinfo", "gethostbyaddr", "gethostbyname", "gethostbyname_ex")
_SENDING_METHODS: Final = ("connect", "connect_ex", "sendto", "sendmsg")


class NetworkBlocked(BaseException):
    """A test tried to use the network; not an ``Exception``, so that HTTP clients do not retry or hide it."""


@contextmanager
def network_blocked(allowed: Sequence[str], remedy: str) -> Generator[list[str]]:
    """Block all hosts that are not allowed; yields the list of blocked attempts, which grows.

    :param allowed: names or addresses, where ``*`` matches any text, and :data:`LOOPBACK`
    """
    guard = _Guard(allowed, remedy)
    logging.getLogger("asyncio").addFilter(_is_not_duplicate)
    with ExitStack() as stack:
        for name in _LOOKUPS:
            guarded = guard.lookup(getattr(socket, name))
            stack.enter_context(patch.object(socket, name, guarded))
        for name in _SENDING_METHODS:
            if hasattr(socket.socket, name):  # Windows has no sendmsg
                guarded = guard.contact(name, getattr(socket.socket, name))
                stack.enter_context(patch.object(socket.socket, name, guarded))
        yield guard.refused


def _is_not_duplicate(record: logging.LogRecord) -> bool:
    """Filter out log records that only repeat the failure of a test.

    asyncio logs a traceback when a task with an unretrieved exception is collected: after the test, in the
    log of another one.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], NetworkBlocked))


class _Guard:
    """Replacements for functions of :mod:`socket` that check the host first."""

    def __init__(self, allowed: Sequence[str], remedy: str) -> None:
        self.refused: list[str] = []
        self._allowed = allowed
        self._remedy = remedy
        self._found: set[str] = set()
        """Resolved addresses of allowed names."""

    def lookup(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def looked_up(host: object, *arguments: object, **options: object) -> object:
            name = _host_text(host)
            if not _parse_ip(name):  # an address needs no DNS query
                self._check_host("look up", name)
            answer = real(host, *arguments, **options)
            if self._is_allowed(name):
                self._found.update(_addresses_in(answer))
            return answer

        return looked_up

    def contact(self, act: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def contacted(sock: socket.socket, *arguments: object) -> object:
            address = _address_in(act, arguments)
            if sock.family in {socket.AF_INET, socket.AF_INET6} and isinstance(address, tuple):
                try:
                    self._check_host("connect to", _host_text(address[0]))
                except NetworkBlocked:
                    sock.close()  # clients close it only after an OSError
                    raise
            return real(sock, *arguments)

        return contacted

    def _check_host(self, act: str, host: str) -> None:
        if not self._is_allowed(host):
            self.refused.append(f"{act} {host}")
            raise NetworkBlocked(
                f"there is no network in a replay, but this test wants to {act} {host}.\n{self._remedy}"
            )

    def _is_allowed(self, host: str) -> bool:
        patterns = (pattern.lower() for pattern in self._allowed)
        named = not host or host in self._found or any(fnmatchcase(host.lower(), one) for one in patterns)
        return named or (LOOPBACK in self._allowed and _is_loopback(host))


def _host_text(host: object) -> str:
    return host.decode() if isinstance(host, bytes) else str(host or "")


def _addresses_in(answer: object) -> Iterator[str]:
    """All addresses in the result of a lookup, which has a different shape per function."""
    if isinstance(answer, str) and _parse_ip(answer):
        yield answer
    elif isinstance(answer, tuple | list):
        for part in answer:
            yield from _addresses_in(part)


def _address_in(name: str, arguments: Sequence[object]) -> object:
    """The address among the arguments of a socket method; None if the socket is connected."""
    match name:
        case "sendmsg":
            return arguments[3] if len(arguments) > 3 else None
        case _:
            return arguments[-1] if arguments else None


def _is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine.

    >>> _is_loopback("127.0.0.1"), _is_loopback("::1"), _is_loopback("db.test")
    (True, True, False)
    """
    address = _parse_ip(host)
    return address.is_loopback if address else host.lower() == "localhost"


def _parse_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address of a host; ``None`` if the host is a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
