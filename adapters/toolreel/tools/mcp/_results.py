"""What an MCP server answers to a call, as an envelope for the model.

Structured content goes before text that says the same. Only text reaches a model: of an image, a sound or
a file, it is told what it was and how large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from returns.pipeline import is_successful

from toolreel._errors import MissingExtra
from toolreel_core._jsontext.canonical import Json, canonical, finite, read
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

try:
    from mcp.types import (
        INVALID_PARAMS,
        METHOD_NOT_FOUND,
        AudioContent,
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        EmbeddedResource,
        ErrorData,
        ImageContent,
        ResourceLink,
        TextContent,
        TextResourceContents,
    )
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["answered", "refused", "too_large", "unavailable", "unreadable"]

_WORDLESS: Final = "It says no more than that it failed."
_CODES: Final = {INVALID_PARAMS: "ARGUMENT_ERROR", METHOD_NOT_FOUND: "TOOL_NOT_IMPLEMENTED"}


def answered(effect: RunTool, result: CallToolResult) -> ToolReturned:
    """The event for a call that was answered, be it by a failure."""
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    if result.isError:
        return _failed(effect, "TOOL_ERROR", "\n".join(texts).strip() or _WORDLESS)
    others = [part for block in result.content if (part := _part(block)) is not None]
    warnings = [words for block in result.content if (words := _unseen(block))]
    if result.structuredContent is not None:
        data: Json = finite(result.structuredContent)
    elif others:
        data = {**({"text": "\n".join(texts)} if texts else {}), "parts": others}
    else:
        data = _value("\n".join(texts))
    return _envelope(effect, {"ok": True, "data": data, "warnings": warnings})


def refused(effect: RunTool, error: ErrorData) -> ToolReturned:
    """The event for a call that the server answered with an error of the protocol."""
    return _failed(effect, _CODES.get(error.code, "TOOL_ERROR"), error.message.strip() or _WORDLESS)


def too_large(effect: RunTool, why: str) -> ToolReturned:
    """The event for a call whose answer was too large to be taken in."""
    return _failed(
        effect, "TOOL_OUTPUT_TOO_LARGE", f"{effect.name} ran, but {why}. Ask {effect.name} for less."
    )


def unreadable(effect: RunTool, why: str) -> ToolReturned:
    """The event for a call whose answer is not what the protocol says."""
    return _failed(effect, "TOOL_OUTPUT_NOT_JSON", f"{effect.name} ran, but {why}. Go on without it.")


def unavailable(effect: RunTool, why: str, *, begun: bool) -> ToolReturned:
    """The event for a call whose server is not there, or went away while it ran."""
    advice = (
        "It may have had effects. Check before you call it again."
        if begun
        else "Nothing was done. Use another tool, or answer in text."
    )
    return _failed(effect, "TOOL_UNAVAILABLE", f"{effect.name}: {why}. {advice}")


def _value(text: str) -> Json:
    """What a text says: servers that know no structured content write their objects and lists as text."""
    if text[:1] in {"{", "["}:
        parsed = read(text)
        if is_successful(parsed):
            value = parsed.unwrap()
            return value if isinstance(value, Mapping) else {"value": value}
    return {"value": text}


def _part(block: ContentBlock) -> Json:
    """What is told of a part that is not text alone."""
    match block:
        case TextContent():
            return None
        case ImageContent() | AudioContent():
            return {"type": block.type, "mime_type": block.mimeType, "bytes": _decoded_size(block.data)}
        case ResourceLink():
            return _without_nothing(
                type=block.type,
                uri=str(block.uri),
                name=block.name,
                mime_type=block.mimeType,
                bytes=block.size,
            )
        case EmbeddedResource():
            return _resource(block.resource)
        case _:
            assert_never(block)


def _resource(found: TextResourceContents | BlobResourceContents) -> Json:
    told = {"type": "resource", "uri": str(found.uri), "mime_type": found.mimeType}
    match found:
        case TextResourceContents():
            return _without_nothing(**told, text=found.text)
        case BlobResourceContents():
            return _without_nothing(**told, bytes=_decoded_size(found.blob))
        case _:
            assert_never(found)


def _unseen(block: ContentBlock) -> str:
    """What to tell the model of something that it does not get to see."""
    match block:
        case TextContent() | ResourceLink():
            return ""
        case ImageContent() | AudioContent():
            return _left_out(block.type, block.data, block.mimeType)
        case EmbeddedResource(resource=BlobResourceContents(blob=blob, mimeType=mime)):
            return _left_out("file", blob, mime)
        case EmbeddedResource():
            return ""
        case _:
            assert_never(block)


def _left_out(kind: str, base64: str, mime: str | None) -> str:
    size = _decoded_size(base64)
    return f"{kind} of {size} bytes ({mime or 'unknown type'}) left out: only text is passed on"


def _decoded_size(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4


def _without_nothing(**parts: Json) -> Json:
    return {name: value for name, value in parts.items() if value is not None}


def _failed(effect: RunTool, code: str, message: str) -> ToolReturned:
    errors: Sequence[Json] = [{"code": code, "message": message}]
    return _envelope(effect, {"ok": False, "data": {}, "errors": errors})


def _envelope(effect: RunTool, tree: Mapping[str, Json]) -> ToolReturned:
    return ToolReturned(effect.ref, canonical(tree))
