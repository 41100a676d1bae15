"""Results of MCP tools, and their failures, as events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, assert_never

from toolreel._internal.errors import MissingExtra
from toolreel.tools._result_events import failed_event, returned_event
from toolreel_core._jsontext.canonical import Json, finite, read
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

try:
    from mcp import types
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


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
