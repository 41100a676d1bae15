"""The network under connections of our own: the head of a request and its body go out together.

httpcore writes the head of a request and each piece of its body by itself, and every write is a call of the
system and wakes the far side. Here what is written is held until there is a good deal of it, or until
somebody wants to read. Its twin is :mod:`toolreel.http._connections.async_network`.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from toolreel._errors import MissingExtra

try:
    import httpcore
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["HELD", "Network"]

HELD: Final = 65_536
"""Bytes from which on what was written goes out."""


class Network(httpcore.NetworkBackend):
    """Sockets as httpcore itself opens them, with streams that hold what is written."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """A stream to a host."""
        inner = httpcore.SyncBackend()
        return _Stream(inner.connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    """Another stream, less often written to."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._held: list[bytes] = []
        self._size = 0
        self._patience: float | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:
            # A server that refuses a request may hang up before it has come, and its answer is there.
            with suppress(httpcore.WriteError):
                self._flush()
        return self._inner.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._held.append(buffer)
        self._size += len(buffer)
        self._patience = timeout
        if self._size >= HELD:
            self._flush()

    def _flush(self) -> None:
        held, self._held, self._size = b"".join(self._held), [], 0
        self._inner.write(held, self._patience)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - whatever there is to know
        return self._inner.get_extra_info(info)
