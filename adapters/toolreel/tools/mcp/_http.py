"""A bounded transport to an MCP server over streamable HTTP.

The SDK's transport implements the protocol and limits the events of a stream. But it reads a JSON response of
any size and drops the status of an error, so this module limits the former and reports the latter.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from toolreel._errors import MissingExtra
from toolreel.tools.mcp._config_file import HttpServer
from toolreel.tools.mcp._session import too_large_error

try:
    import httpx2
    from mcp import types
    from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

_TIMEOUT: Final = httpx2.Timeout(30.0, read=None)
"""No read timeout: the host enforces the deadline of a call."""


# Any: the SDK names the type of a pair of streams in a private module only.
@asynccontextmanager
async def http_transport(server: HttpServer) -> AsyncGenerator[Any]:
    """Connect to a server; end its session when the context exits.

    :raises httpx2.HTTPError: in a group, if the server cannot be reached
    """
    limit = server.settings.max_message_bytes

    async def bound(response: httpx2.Response) -> None:
        await _bound(response, limit)

    # Uncompressed, so that the limit applies to the bytes that are parsed.
    headers = {"accept-encoding": "identity", **server.headers}
    client = httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, event_hooks={"response": [bound]})
    async with (
        client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams


async def _bound(response: httpx2.Response, limit: int) -> None:
    """Limit a body that the SDK reads as a whole; replace an unusable one by an error with the reason."""
    if response.request.method != "POST":
        return
    request_id = json.loads(response.request.content).get("id")  # written by the SDK
    if refusal := _refusal(response):
        about = types.ErrorData(code=types.CONNECTION_CLOSED, message=refusal)
        error = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=about)
        # Not response.aclose(), after which the new body could not be read either.
        await cast("httpx2.AsyncByteStream", response.stream).aclose()
        response.headers.pop("content-encoding", None)
        response.headers["content-type"] = "application/json"
        response.stream = httpx2.ByteStream(_encoded(error))
    elif not _has_type(response, "text/event-stream"):
        body = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _Body(body, limit, too_large_error(request_id))


def _refusal(response: httpx2.Response) -> str:
    """Why a response cannot be used; empty if it can."""
    if "content-encoding" in response.headers:
        return "its answer is compressed, although the request ruled that out"
    # The SDK itself handles two errors: a JSON-RPC error, and a session that the server forgot.
    forgotten = response.status_code == 404 and MCP_SESSION_ID in response.request.headers
    if response.is_error and not forgotten and not _has_type(response, "application/json"):
        return f"it answered with HTTP status {response.status_code}"
    return ""


def _has_type(response: httpx2.Response, media_type: str) -> bool:
    return response.headers.get("content-type", "").lower().startswith(media_type)


def _encoded(error: types.JSONRPCError) -> bytes:
    return error.model_dump_json(by_alias=True, exclude_unset=True).encode()


class _Body(httpx2.AsyncByteStream):
    """A body with a limit; if it exceeds the limit, an error replaces it."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, error: types.JSONRPCError) -> None:
        self._stream = stream
        self._limit = limit
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for chunk in self._stream:
            body += chunk
            if len(body) > self._limit:
                body = bytearray(_encoded(self._error))
                break
        # Passed on at the end only, because the SDK parses the body as a whole anyway.
        yield bytes(body)

    async def aclose(self) -> None:
        await self._stream.aclose()
