"""The session with a server, and what makes a message or result of it usable."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, assert_never, cast

from toolreel._internal import AdapterError, MissingExtra, log
from toolreel.tools import failed_event, returned_event
from toolreel_core._conversation import Audio, Blob, File, Image, Media, media_type_in, usual_media_type
from toolreel_core._jsontext import Json, canonical, finite, read
from toolreel_core._protocol import RunTool, ToolReturned

try:
    from mcp import types
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None
try:
    from mcp import types
    from mcp.shared.message import SessionMessage
    from pydantic import BaseModel, Field, TypeAdapter, ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None
try:
    import anyio
    from mcp import ClientSession, MCPError, types
    from mcp.shared.dispatcher import ProgressFnT
    from pydantic import ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


# Results of MCP tools, and their failures, as events.


LISTED_SCHEMA: Final = "toolreel/inputSchema"
"""Key in ``_meta`` of a listed tool: its input schema, which the SDK would not accept."""
UNKNOWN_BLOCK: Final = "toolreel/unknown"
"""Key in ``_meta`` of a block of text that stands for another one: what is wrong with that."""

_LONGEST: Final = 1_000
"""Characters of a text in an unknown block that are kept; more are most likely bytes."""


class _Schema(BaseModel):
    """What the SDK demands of an input schema."""

    draft: str = Field("", alias="$schema")
    type: Literal["object"]
    properties: dict[str, dict[str, Any] | bool] = {}
    required: list[str] = []


_BLOCK: Final[TypeAdapter[Any]] = TypeAdapter(types.ContentBlock)


class LenientMessages:
    """The stream of a server's messages, with what the SDK would reject as a whole mended.

    Of a list of tools it accepts all or none, and so of the blocks of a result.
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
            # An empty list of Go is written as null.
            case SessionMessage(
                message=types.JSONRPCResponse(result={"tools": [*_] | None as tools} as result)
            ):
                result["tools"] = [_used_fields(tool) for tool in tools or () if isinstance(tool, dict)]
            case SessionMessage(message=types.JSONRPCResponse(result=result)) if (
                "content" in result or "structuredContent" in result
            ):
                _mend_result(result)
            case _:
                pass
        return received


def _used_fields(listed: dict[str, Any]) -> dict[str, Any]:
    """What is used of a listed tool, without the fields that are not what they should be."""
    meta = listed.get("_meta")
    tool: dict[str, Any] = {
        "name": listed["name"] if isinstance(listed.get("name"), str) else "",
        "inputSchema": listed.get("inputSchema"),
        "_meta": meta if isinstance(meta, dict) else {},
    }
    tool |= {key: listed[key] for key in ("title", "description") if isinstance(listed.get(key), str)}
    if _is_valid(types.ToolAnnotations.model_validate, annotations := listed.get("annotations")):
        tool["annotations"] = annotations
    if not _is_valid(_Schema.model_validate, tool["inputSchema"]):
        tool["_meta"] = {**tool["_meta"], LISTED_SCHEMA: tool["inputSchema"]}
        tool["inputSchema"] = {"type": "object"}
    return tool


def _is_valid(validate: Callable[[Any], object], tree: object) -> bool:
    try:
        validate(tree)
    except ValidationError:
        return False
    return True


def _mend_result(result: dict[str, Any]) -> None:
    """Make the result of a call one that the SDK accepts."""
    structured, content = result.get("structuredContent"), result.get("content")
    if structured is not None and not isinstance(structured, dict):
        result["structuredContent"] = {"result": structured}  # older protocols allow objects only
    if content is None:
        result["content"] = []
    elif isinstance(content, list):
        result["content"] = [_mend_block(block) for block in content]


def _mend_block(block: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """The block, without annotations if these are wrong; any other that the SDK does not know as text."""
    if _is_valid(_BLOCK.validate_python, block):
        return dict(block)
    if isinstance(block, dict):
        bare = {key: value for key, value in block.items() if key not in {"annotations", "_meta", "icons"}}
        if _is_valid(_BLOCK.validate_python, bare):
            return bare
    kind = block.get("type") if isinstance(block, dict) else None
    what = f"a block of type {kind!r}" if isinstance(kind, str) else "a block without a type"
    text = canonical(finite(_shorten_texts(block)))
    return {"type": "text", "text": text, "_meta": {UNKNOWN_BLOCK: what}}


def _shorten_texts(value: Json) -> Json:
    """The value, without most of its long texts."""
    match value:
        case str() if len(value) > _LONGEST:
            return f"{value[:_LONGEST]}… ({len(value) - _LONGEST} characters left out)"
        case dict():
            return {key: _shorten_texts(item) for key, item in value.items()}
        case list():
            return [_shorten_texts(item) for item in value]
        case _:
            return value


_NotText: TypeAlias = types.ImageContent | types.AudioContent | types.ResourceLink | types.EmbeddedResource

_TAKEN: Final = frozenset({
    "image/png", "image/jpeg", "image/gif", "image/webp", "audio/wav", "audio/mpeg", "application/pdf",
})  # fmt: skip
"""The media types that providers of chat completions document."""
_TAKEN_SHOWN: Final = "PNG, JPEG, GIF, WebP, WAV, MP3 and PDF"
_NO_MESSAGE: Final = "It says no more than that it failed."
_CODES: Final = {types.INVALID_PARAMS: "ARGUMENT_ERROR", types.METHOD_NOT_FOUND: "TOOL_NOT_IMPLEMENTED"}


def result_event(effect: RunTool, result: types.CallToolResult) -> ToolReturned:
    """The event for a result of a tool, successful or not.

    Text and structured content are both given, unless one only repeats the other. Images, audio and files go
    with the result, and their labels are in the data; one that cannot be read is replaced by its type and
    size.
    """
    blocks = [block for block in result.content if isinstance(block, types.TextContent)]
    text = "\n".join(block.text for block in blocks)
    others = [_non_text_part(block) for block in result.content if not isinstance(block, types.TextContent)]
    media = tuple([other.media for other in others if other.media is not None])
    structured: Json = finite(result.structured_content)
    # The model, and the count of equal results, have to know which images came with it.
    data: dict[str, Json] = {"parts": [other.shown for other in others]} if others else {}
    if structured is not None:
        data["structured"] = structured
    if result.is_error:
        words = text.strip() or (_NO_MESSAGE if structured is None else canonical(structured))
        return replace(failed_event(effect, "TOOL_ERROR", words, data), parts=media)
    warnings = [other.warning for other in others if other.warning]
    for what in [(block.meta or {}).get(UNKNOWN_BLOCK) for block in blocks]:
        warnings += [f"{what} is not one of the protocol, and is given as JSON"] if what else []
    if text and not _only_repeat_structured([block.text for block in blocks], structured):
        data = {"text": text, **data}
    # One thing alone needs no name.
    only = (
        _text_as_data(text)
        if data.keys() <= {"text"}
        else structured
        if data.keys() == {"structured"}
        else data
    )
    return returned_event(effect, only, *warnings, parts=media)


def _only_repeat_structured(texts: Sequence[str], structured: Json) -> bool:
    """Whether texts only repeat structured content: all of it, its only value, or each item of that."""
    text = "\n".join(texts)
    whole, items = read(text).value_or(text), [read(each).value_or(each) for each in texts]
    parts = structured.values() if isinstance(structured, Mapping) and len(structured) == 1 else ()
    return any(same in (text, whole, items) for same in (structured, *parts))


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


def _text_as_data(text: str) -> Json:
    """Text as data: servers without structured content write objects and lists as JSON text."""
    if text[:1] in {"{", "["}:
        value = read(text).value_or(text)
        return value if isinstance(value, Mapping) else {"value": value}
    return {"value": text}


@dataclass(frozen=True, slots=True)
class _Other:
    """A part of a result that is not text."""

    shown: Json
    """What stands for it in the data."""
    media: Media | None = None
    warning: str = ""
    """What is missing."""


def _non_text_part(block: _NotText) -> _Other:
    match block:
        case types.ImageContent() | types.AudioContent():
            about: dict[str, Json] = {"type": block.type, "mime_type": block.mime_type}
            return _bytes_part(block.type, about, block.data, block.mime_type)
        case types.ResourceLink():
            link: dict[str, Json] = {"name": block.name, "mime_type": block.mime_type, "bytes": block.size}
            return _Other(_without_empty(type=block.type, uri=block.uri, **link))
        case types.EmbeddedResource():
            found = block.resource
            about = {"type": "resource", "uri": found.uri, "mime_type": found.mime_type}
            match found:
                case types.TextResourceContents():
                    return _Other(_without_empty(**about, text=found.text))
                case types.BlobResourceContents():
                    return _bytes_part("file", about, found.blob, found.mime_type or "", found.uri)
                case _:
                    assert_never(found)
        case _:
            assert_never(block)


def _bytes_part(kind: str, about: dict[str, Json], base64: str, mime: str, uri: str = "") -> _Other:
    """Bytes as a part; what is no Base64, or of a type that no provider takes, is left out with a warning.

    A server chooses what it sends, and one part that the provider refuses would end the run.
    """
    size = len(base64.rstrip("=")) * 3 // 4
    why = f"{kind} of {size} bytes ({mime or 'unknown type'}) left out"
    left_out = _Other(_without_empty(**about, bytes=size), warning=f"{why}: models take {_TAKEN_SHOWN}")
    try:
        data = b64decode(base64, validate=True)
    except ValueError:
        return replace(left_out, warning=f"{why}: it is not Base64")
    found = media_type_in(data) or usual_media_type(mime)
    if found not in _TAKEN:
        return left_out
    blob = Blob.of(data, found)
    media: Media
    match blob.media_type.partition("/")[0]:
        case "image":
            media = Image(blob)
        case "audio":
            media = Audio(blob)
        case _:
            media = File(blob, uri.rpartition("/")[2])
    return _Other(media.label, media)


def _without_empty(**parts: Json) -> Json:
    return {name: value for name, value in parts.items() if value is not None}


# A session with an MCP server: its two requests, with errors of our own, and how its connection ends.


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
