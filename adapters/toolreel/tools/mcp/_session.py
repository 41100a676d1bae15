"""A session with an MCP server: its two requests, with errors of our own, and how its connection ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self, cast

from toolreel._internal import AdapterError, MissingExtra
from toolreel_core._jsontext import canonical

try:
    import anyio
    from mcp import ClientSession, MCPError, types
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.shared.message import SessionMessage
    from pydantic import ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


TOO_LARGE: Final = -1_000_001
"""Error code for a response that exceeds the limit; outside the range that JSON-RPC reserves."""


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


def too_large_error(request_id: types.RequestId | None) -> types.JSONRPCError:
    """The error that replaces an oversized response, so that only its call fails."""
    error = types.ErrorData(code=TOO_LARGE, message="its answer exceeds the limit")
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


INVALID_SCHEMA: Final = "toolreel/invalid"
"""Key in ``_meta`` of a listed tool whose schema had to be replaced, with the reason."""
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

    :raises ConnectionLost: if the connection ends
    :raises UnusableResponse: if there are too many pages, or one is invalid
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
    :raises ConnectionLost: if the connection ended
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


class ValidTools:
    """The messages of a server; listed tools get schemas that the SDK accepts.

    The SDK rejects a whole ``tools/list`` if the schema of one tool is not of type ``object``, as in servers
    that leave out the type or the schema of a tool without parameters.
    """

    def __init__(self, messages: Any) -> None:  # noqa: ANN401 - a private type of the SDK
        self._messages = messages

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the other attributes of a stream
        return getattr(self._messages, name)

    async def __aenter__(self) -> Self:
        await self._messages.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._messages.__aexit__(kind, error, at)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        received: SessionMessage | Exception = await anext(self._messages)
        match received:
            case SessionMessage(message=types.JSONRPCResponse(result={"tools": [*tools]})):
                for tool in tools:
                    if isinstance(tool, dict):
                        _replace_invalid_schema(tool)
            case _:
                pass
        return received


def _replace_invalid_schema(tool: dict[str, Any]) -> None:
    """Make the input schema of a tool one of type ``object``; mark it as invalid if it cannot be."""
    tool.pop("outputSchema", None)  # not used here, and rejected for the same reason
    schema = tool.get("inputSchema")
    match schema:
        case {"type": "object"}:
            return
        case None:
            tool["inputSchema"] = {"type": "object"}
        case {**keywords} if "type" not in keywords:
            tool["inputSchema"] = {**keywords, "type": "object"}
        case _:
            meta = tool.get("_meta")
            why = f"its inputSchema is not of type 'object', but {canonical(schema):.80}"
            tool["inputSchema"] = {"type": "object"}
            tool["_meta"] = {**(meta if isinstance(meta, dict) else {}), INVALID_SCHEMA: why}
