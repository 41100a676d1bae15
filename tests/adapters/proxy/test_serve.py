"""The socket of a proxy: what is written to a client goes out at once."""

from __future__ import annotations

import asyncio
import socket

import pytest

from toolreel.proxy import listening


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_answers_do_not_wait_for_acknowledgements() -> None:
    """The head and the body of an answer are two writes; the second must not wait for the first (Nagle)."""
    at_once = asyncio.get_running_loop().create_future()

    def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        at_once.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async with await asyncio.start_server(connected, sock=listening("127.0.0.1", 0)) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await at_once
        writer.close()
