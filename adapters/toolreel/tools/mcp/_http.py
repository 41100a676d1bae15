"""An MCP server over streamable HTTP, with a cap on what it may answer.

The SDK's transport does the talking. What is bounded here is what comes in: a response, or one event of a
stream, is let go as soon as it is too large.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Self, cast

from toolreel._errors import MissingExtra
from toolreel.tools.mcp._settings import HttpServer
from toolreel.tools.mcp._streams import Ending, Lost, Streams

try:
    import httpx
    from mcp.client.streamable_http import streamable_http_client
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["http_streams"]

_PATIENCE: Final = httpx.Timeout(30.0, read=None)
"""A call may take as long as its deadline says."""


@asynccontextmanager
async def http_streams(server: HttpServer, lost: Lost, ending: Ending) -> AsyncGenerator[Streams]:
    """Connect to a server, and say goodbye to it when the context is left.

    :param lost: is told of an answer that was too large
    :param ending: keeps why the connection broke
    :raises httpx.HTTPError: in a group, if it cannot be reached, or refuses
    """
    transport = _Bounded(httpx.AsyncHTTPTransport(), server.settings.max_message_bytes, lost)
    client = httpx.AsyncClient(transport=transport, headers=server.headers, timeout=_PATIENCE)
    try:
        async with client, streamable_http_client(server.url, http_client=client) as (incoming, outgoing, _):
            yield Streams(incoming, outgoing)
    except* (httpx.HTTPError, httpx.InvalidURL) as broken:
        ending.because(_why(_first(broken)))
        raise


class _Bounded(httpx.AsyncBaseTransport):
    """A transport whose responses cannot grow without bound."""

    def __init__(self, transport: httpx.AsyncBaseTransport, limit: int, lost: Lost) -> None:
        self._transport = transport
        self._limit = limit
        self._lost = lost

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["accept-encoding"] = "identity"  # so that what is counted is what there is
        response = await self._transport.handle_async_request(request)
        stream = cast("httpx.AsyncByteStream", response.stream)
        if "content-encoding" in response.headers:
            await stream.aclose()
            raise httpx.RemoteProtocolError("the answer is compressed, although that was not asked for")
        streamed = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        body = _BoundedBody(stream, self._limit, _request_id(request), self._lost, streamed=streamed)
        return httpx.Response(response.status_code, headers=response.headers, stream=body)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        at: TracebackType | None = None,
    ) -> None:
        await self._transport.__aexit__(kind, error, at)


class _BoundedBody(httpx.AsyncByteStream):
    """A body that ends with an error once it, or one event of it, is too large."""

    def __init__(
        self, stream: httpx.AsyncByteStream, limit: int, request_id: int | None, lost: Lost, *, streamed: bool
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._request_id = request_id
        self._lost = lost
        self._streamed = streamed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, edge = 0, b""
        async for piece in self._stream:
            seen = edge + piece
            end = max(seen.rfind(b"\n\n"), seen.rfind(b"\r\n\r\n"), seen.rfind(b"\r\r"))
            size = len(seen) - end if self._streamed and end >= 0 else size + len(piece)
            edge = seen[-3:]
            if size > self._limit:
                why = f"its answer has more than {self._limit} bytes, the most that is taken in"
                self._lost(self._request_id, why)
                raise httpx.ReadError(why)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _request_id(request: httpx.Request) -> int | None:
    """The id of the JSON-RPC request that is being sent, if it is one."""
    if request.method != "POST":
        return None
    sent = json.loads(request.content)  # which the SDK's session has written
    found = sent.get("id") if isinstance(sent, dict) else None
    return found if isinstance(found, int) else None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _why(error: BaseException) -> str:
    """What broke, without the address, which may hold a secret."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"it answered with HTTP status {error.response.status_code}"
    words = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
