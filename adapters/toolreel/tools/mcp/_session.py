"""A session with an MCP server: its two requests, with errors of our own, and how its connection ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, cast

from toolreel._internal import AdapterError, MissingExtra, log

try:
    import anyio
    from mcp import ClientSession, MCPError, types
    from mcp.shared.dispatcher import ProgressFnT
    from pydantic import ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


# Error codes of our own, outside the range that JSON-RPC reserves.
TOO_LARGE: Final = -1_000_001
"""A response exceeds the limit."""
SESSION_FORGOTTEN: Final = -1_000_002
"""The server does not know the session, and has not run the request."""
UNREADABLE: Final = -1_000_003
"""A response cannot be read."""


class ServerUnreachable(AdapterError):
    """A server cannot be started or reached; the text is the reason, without the server's name."""


class ConnectionEnd:
    """State of a connection's end; only the first reason is kept."""

    def __init__(self) -> None:
        self.why = ""
        self.stderr = ""
        """The last output of the server's process to stderr."""
        self.requested = False
        """We asked for the end, so it is not reported."""
        self.over = anyio.Event()
        """Set when the connection shall close, or is closed."""
        self.explained = anyio.Event()

    def because(self, why: str) -> None:
        """End the connection, and keep the reason if it is the first: later ones are consequences."""
        self.why = self.why or why
        self.over.set()
        self.explained.set()


def replacing_error(request_id: types.RequestId | None, code: int, message: str) -> types.JSONRPCError:
    """An error in place of a response that cannot be used, so that only its request fails."""
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def too_large_error(request_id: types.RequestId | None) -> types.JSONRPCError:
    """The error for an oversized response."""
    return replacing_error(request_id, TOO_LARGE, "its answer exceeds the limit")


_MAX_PAGES: Final = 1_000
_MAX_TOOLS: Final = 10_000

# Errors that the SDK itself raises have standard codes; only their texts distinguish them from errors that
# the server sent.
_CLOSED: Final = "Connection closed"
_EVENT_TOO_LARGE: Final = "SSE stream failed: Server-sent event exceeded"
_UNREADABLE: Final = "Failed to parse"


class ConnectionLost(AdapterError):
    """The connection ended before the response; the text is the reason, if known."""


class SessionForgotten(AdapterError):
    """The server does not know the session any more; the request was not run."""


class UnusableResponse(AdapterError):
    """The response of the server cannot be used; the text says why."""


class ResponseTooLarge(UnusableResponse):
    """The response of the server exceeds the size limit."""


async def list_tools(session: ClientSession) -> list[types.Tool]:
    """All tools of a server, from all pages; none if it does not support tools.

    :raises ConnectionLost: if the connection ends
    :raises SessionForgotten: if the server does not know the session
    :raises UnusableResponse: if there are too many pages, or one is invalid
    :raises MCPError: if the server answers with another error
    """
    tools: list[types.Tool] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MAX_PAGES):
        try:
            with _our_errors():
                page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        except MCPError as error:
            if error.code == types.METHOD_NOT_FOUND:
                return tools
            raise
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tools
        if cursor in seen:
            log("tools", "warning", "listing_ended", {"why": f"the server repeats its cursor {cursor!r}"})
            return tools
        seen.add(cursor)
        if len(tools) > _MAX_TOOLS:
            break
    raise UnusableResponse(f"it goes on listing tools after {len(tools)} of them")


async def call_tool(
    session: ClientSession, name: str, arguments: dict[str, Any], key: str, progress: ProgressFnT
) -> types.CallToolResult:
    """Call a tool; if this is cancelled, the SDK notifies the server.

    :param key: idempotency key, sent in ``_meta`` for servers that avoid duplicates
    :raises ConnectionLost: if the connection ended
    :raises SessionForgotten: if the server does not know the session, so that the call was not run
    :raises UnusableResponse: if the response is too large, or not the result of a tool
    :raises MCPError: if the server answers with another error
    """
    meta = cast("types.RequestParamsMeta", {"toolreel/idempotency-key": key})
    params = types.CallToolRequestParams(name=name, arguments=arguments, _meta=meta)
    with _our_errors():
        # Not session.call_tool, which fails if the result does not match the tool's output schema.
        return await session.send_request(
            types.CallToolRequest(params=params), types.CallToolResult, progress_callback=progress
        )


@contextmanager
def _our_errors() -> Generator[None]:
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        what = f"{place}: {first['msg']}" if place else first["msg"]
        raise UnusableResponse(f"its answer is not what was asked for: {what}") from None
    except MCPError as error:
        if error.code == SESSION_FORGOTTEN:
            raise SessionForgotten(error.message) from None
        if error.code == UNREADABLE:
            raise UnusableResponse(error.message) from None
        if error.code == TOO_LARGE or error.message.startswith(_EVENT_TOO_LARGE):
            raise ResponseTooLarge(error.message) from None
        if error.code == types.PARSE_ERROR and error.message.startswith(_UNREADABLE):
            raise UnusableResponse(
                f"its answer cannot be read: {error.message.partition(chr(10))[0]}"
            ) from None
        if error.code == types.CONNECTION_CLOSED:
            raise ConnectionLost(error.message.replace(_CLOSED, "")) from None
        raise
