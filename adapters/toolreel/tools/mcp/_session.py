"""A session with an MCP server: its two requests, with errors of our own, and how its connection ends."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, assert_never, cast

from toolreel._internal.errors import AdapterError, MissingExtra
from toolreel.tools._result_events import failed_event, returned_event
from toolreel_core._jsontext.canonical import Json, canonical, finite, read
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

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


_NotText: TypeAlias = types.ImageContent | types.AudioContent | types.ResourceLink | types.EmbeddedResource

_NO_MESSAGE: Final = "It says no more than that it failed."
_CODES: Final = {types.INVALID_PARAMS: "ARGUMENT_ERROR", types.METHOD_NOT_FOUND: "TOOL_NOT_IMPLEMENTED"}


def result_event(effect: RunTool, result: types.CallToolResult) -> ToolReturned:
    """The event for a result of a tool, successful or not.

    Structured content is preferred over the text that repeats it. Models get only text: images, audio and
    files are replaced by their type and size.
    """
    text = "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
    if result.is_error:
        return failed_event(effect, "TOOL_ERROR", text.strip() or _NO_MESSAGE)
    others = [_non_text_part(block) for block in result.content if not isinstance(block, types.TextContent)]
    if result.structured_content is not None:
        data: Json = finite(result.structured_content)
    elif others:
        data = {**({"text": text} if text else {}), "parts": [part for part, _ in others]}
    else:
        data = _value(text)
    return returned_event(effect, data, *(words for _, words in others if words))


def error_event(effect: RunTool, error: types.ErrorData) -> ToolReturned:
    """The event for a protocol error."""
    return failed_event(effect, _CODES.get(error.code, "TOOL_ERROR"), error.message.strip() or _NO_MESSAGE)


def too_large_event(effect: RunTool, limit: int) -> ToolReturned:
    """The event for a response that exceeds the size limit."""
    why = f"{effect.name} ran, but its answer has more than {limit} bytes, which is the limit"
    return failed_event(effect, "TOOL_OUTPUT_TOO_LARGE", f"{why}. Ask {effect.name} for less.")


def invalid_result_event(effect: RunTool, why: str) -> ToolReturned:
    """The event for a response that violates the protocol."""
    return failed_event(effect, "TOOL_OUTPUT_NOT_JSON", f"{effect.name} ran, but {why}. Go on without it.")


def unavailable_event(effect: RunTool, why: str, *, begun: bool) -> ToolReturned:
    """The event for a call whose server cannot be reached, or exited during the call."""
    advice = (
        "It may have had effects. Check before you call it again."
        if begun
        else "Nothing was done. Use another tool, or answer in text."
    )
    return failed_event(effect, "TOOL_UNAVAILABLE", f"{effect.name}: {why}. {advice}")


def _value(text: str) -> Json:
    """Text as data: servers without structured content write objects and lists as JSON text."""
    if text[:1] in {"{", "["}:
        value = read(text).value_or(text)
        return value if isinstance(value, Mapping) else {"value": value}
    return {"value": text}


def _non_text_part(block: _NotText) -> tuple[Json, str]:
    """The description of a part that is not text, and a warning if its content is omitted."""
    match block:
        case types.ImageContent() | types.AudioContent():
            size = _decoded_size(block.data)
            part: Json = {"type": block.type, "mime_type": block.mime_type, "bytes": size}
            return part, _omitted(block.type, size, block.mime_type)
        case types.ResourceLink():
            link: dict[str, Json] = {"name": block.name, "mime_type": block.mime_type, "bytes": block.size}
            return _present(type=block.type, uri=block.uri, **link), ""
        case types.EmbeddedResource():
            found = block.resource
            about: dict[str, Json] = {"type": "resource", "uri": found.uri, "mime_type": found.mime_type}
            match found:
                case types.TextResourceContents():
                    return _present(**about, text=found.text), ""
                case types.BlobResourceContents():
                    size = _decoded_size(found.blob)
                    return _present(**about, bytes=size), _omitted("file", size, found.mime_type)
                case _:
                    assert_never(found)
        case _:
            assert_never(block)


def _omitted(kind: str, size: int, mime: str | None) -> str:
    return f"{kind} of {size} bytes ({mime or 'unknown type'}) left out: only text is passed on"


def _decoded_size(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4


def _present(**parts: Json) -> Json:
    return {name: value for name, value in parts.items() if value is not None}
