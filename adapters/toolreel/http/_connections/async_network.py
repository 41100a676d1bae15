"""The network under async connections of our own: :mod:`toolreel.http._connections.network`, awaited.

On asyncio it is a protocol as asyncio has them, at half the cost of the streams that httpcore would take:
those let others run before every read and write, and open a scope for every timeout. On trio it is what
httpcore takes there.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, cast

from toolreel._errors import MissingExtra
from toolreel.http._connections.network import HELD

try:
    import httpcore
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["AsyncNetwork"]

_UNREAD: Final = 262_144
"""Bytes that are taken in before anybody reads them; the rest waits at the far side."""
_NEXT_ADDRESS: Final = 0.25
"""Seconds after which the next address of a host is tried at the same time (RFC 8305)."""
_A_DAY: Final = 86_400.0
"""Seconds: longer than the patience of anybody who waits for a handshake, which is looked after here."""
_KNOWN: Final = {"client_addr": "sockname", "server_addr": "peername"}
"""What httpcore calls otherwise than asyncio."""


class AsyncNetwork(httpcore.AsyncNetworkBackend):
    """The same as :class:`~toolreel.http._connections.network.Network`, awaited."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A stream to a host, from any address, with the options that asyncio sets itself."""
        if not _on_asyncio():
            trio = cast("httpcore.AsyncNetworkBackend", httpcore.TrioBackend())
            return await trio.connect_tcp(host, port, timeout, local_address, socket_options)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                transport, pipe = await loop.create_connection(
                    _Pipe, host, port, happy_eyeballs_delay=_NEXT_ADDRESS
                )
        except TimeoutError as error:
            raise httpcore.ConnectTimeout from error
        except socket.gaierror as error:
            raise httpcore.ConnectError(error) from error
        except OSError as error:
            raise httpcore.ConnectError("All connection attempts failed") from error
        return _Stream(transport, pipe)


def _on_asyncio() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:  # since no loop of asyncio's runs
        return False


class _Stream(httpcore.AsyncNetworkStream):
    """What goes out and comes in over a transport of asyncio's."""

    def __init__(self, transport: asyncio.Transport, pipe: _Pipe) -> None:
        self._transport = transport
        self._pipe = pipe
        self._held: list[bytes] = []
        self._size = 0
        self._patience: float | None = None
        pipe.carried_by(transport)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:
            # A server that refuses a request may hang up before it has come, and its answer is there.
            with suppress(httpcore.WriteError):
                await self._flush()
        try:
            while not (self._pipe.received or self._pipe.over):
                await self._pipe.changed(timeout)
        except TimeoutError as error:
            raise httpcore.ReadTimeout from error
        if self._pipe.broken and not self._pipe.received:
            raise httpcore.ReadError from self._pipe.broken
        return self._pipe.taken(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._held.append(buffer)
        self._size += len(buffer)
        self._patience = timeout
        if self._size >= HELD:
            await self._flush()

    async def _flush(self) -> None:
        held, self._held, self._size = b"".join(self._held), [], 0
        if not self._pipe.over:
            self._transport.write(held)
        try:
            while self._pipe.full and not self._pipe.over:
                await self._pipe.changed(self._patience)
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error
        if self._pipe.over:
            raise httpcore.WriteError from self._pipe.broken

    async def aclose(self) -> None:
        self._transport.abort()
        await asyncio.sleep(0)  # asyncio closes the socket when others have had their turn

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                transport = await loop.start_tls(
                    self._transport,
                    self._pipe,
                    ssl_context,
                    server_hostname=server_hostname,
                    ssl_handshake_timeout=_A_DAY,
                )
        except BaseException as error:
            self._transport.abort()
            if isinstance(error, TimeoutError):
                raise httpcore.ConnectTimeout from error
            if isinstance(error, OSError):  # in its own words if a certificate was refused, say
                raise httpcore.ConnectError(error if isinstance(error, ssl.SSLError) else "") from error
            raise
        if transport is None:  # since the far side hung up just then
            raise httpcore.ConnectError
        return _Stream(transport, self._pipe)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - whatever there is to know
        if info == "is_readable":
            pipe = self._pipe
            return bool(pipe.received) or pipe.over or _readable(self._transport.get_extra_info("socket"))
        return self._transport.get_extra_info(_KNOWN.get(info, info))


class _Pipe(asyncio.Protocol):
    """What has come in, and whether more can go out."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.over = False
        """Whether nothing more comes or goes."""
        self.broken: Exception | None = None
        """Why, if nobody hung up."""
        self.full = False
        """Whether what was written last is still here."""
        self._paused = False
        self._waiting: asyncio.Future[None] | None = None

    def carried_by(self, transport: asyncio.Transport) -> None:
        """Tell a transport when to stop; TLS takes the place of the first one."""
        self._transport = transport
        transport.set_write_buffer_limits(1, 0)

    async def changed(self, timeout: float | None) -> None:
        """Wait for something to happen.

        :raises TimeoutError: if nothing does for so many seconds
        """
        loop = asyncio.get_running_loop()
        self._waiting = waiting = loop.create_future()
        timer = None if timeout is None else loop.call_later(timeout, _give_up, waiting)
        try:
            await waiting
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()

    def taken(self, most: int) -> bytes:
        """The next bytes that have come; none if no more come."""
        data = bytes(self.received[:most])
        del self.received[:most]
        if self._paused and len(self.received) < _UNREAD:
            self._paused = False
            self._transport.resume_reading()
        return data

    def data_received(self, data: bytes) -> None:
        """Keep it until it is read."""
        self.received += data
        if len(self.received) >= _UNREAD:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """The far side hung up; asyncio closes the transport then."""
        self.over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Either side hung up, or something broke."""
        self.over, self.broken = True, exc
        self._wake()

    def pause_writing(self) -> None:
        """The far side has to read first."""
        self.full = True

    def resume_writing(self) -> None:
        """It has."""
        self.full = False
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def _give_up(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_exception(TimeoutError())


def _readable(sock: socket.socket | None) -> bool:
    """Whether there is something to read, such as the end, of which the loop has not told yet."""
    if sock is None or sock.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # on Windows, where select takes any number of a socket
        return bool(select.select([sock], [], [], 0)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
