"""The two requests to an MCP server, to list and to call tools, with errors of our own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, cast

from toolreel._errors import AdapterError, MissingExtra
from toolreel.tools.mcp._streams import TOO_LARGE

try:
    from mcp import ClientSession, MCPError, types
    from mcp.shared.dispatcher import ProgressFnT
    from pydantic import ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

_MAX_PAGES: Final = 1_000
_MAX_TOOLS: Final = 10_000

# Errors that the SDK itself raises have standard codes; only their texts distinguish them from errors that
# the server sent.
_CLOSED: Final = "Connection closed"
_SESSION_FORGOTTEN: Final = "Session terminated"
_EVENT_TOO_LARGE: Final = "SSE stream failed: Server-sent event exceeded"
_UNREADABLE: Final = "Failed to parse"


class ConnectionLost(AdapterError):
    """The connection ended before the response; the text is the reason, if known."""


class UnusableResponse(AdapterError):
    """The response of the server cannot be used; the text says why."""


class ResponseTooLarge(UnusableResponse):
    """The response of the server exceeds the size limit."""


async def list_tools(session: ClientSession) -> list[types.Tool]:
    """All tools of a server, from all pages; none if it does not support tools.

    :raises Gone: if the connection ends
    :raises AnswerLost: if there are too many pages, or one is invalid
    :raises MCPError: if the server answers with another error
    """
    tools: list[types.Tool] = []
    cursor: str | None = None
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
        if len(tools) > _MAX_TOOLS:
            break
    raise UnusableResponse(f"it goes on listing tools after {len(tools)} of them")


async def call_tool(
    session: ClientSession, name: str, arguments: dict[str, Any], key: str, progress: ProgressFnT
) -> types.CallToolResult:
    """Call a tool; if this is cancelled, the SDK notifies the server.

    :param key: idempotency key, sent in ``_meta`` for servers that avoid duplicates
    :raises Gone: if the connection ended
    :raises AnswerLost: if the response is too large, or not the result of a tool
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
        if error.code == TOO_LARGE or error.message.startswith(_EVENT_TOO_LARGE):
            raise ResponseTooLarge(error.message) from None
        if error.code == types.PARSE_ERROR and error.message.startswith(_UNREADABLE):
            raise UnusableResponse(
                f"its answer cannot be read: {error.message.partition(chr(10))[0]}"
            ) from None
        if (error.code, error.message) == (types.INVALID_REQUEST, _SESSION_FORGOTTEN):
            raise ConnectionLost(error.message) from None
        if error.code == types.CONNECTION_CLOSED:
            raise ConnectionLost(error.message.replace(_CLOSED, "")) from None
        raise
