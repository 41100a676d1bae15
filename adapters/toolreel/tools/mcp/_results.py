"""Results of MCP tools, and their failures, as events."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias, assert_never

from toolreel._internal import MissingExtra
from toolreel.tools import failed_event, returned_event
from toolreel_core._conversation import Audio, Blob, File, Image, Media, media_type_in, usual_media_type
from toolreel_core._jsontext import Json, canonical, finite, read
from toolreel_core._protocol import RunTool, ToolReturned

try:
    from mcp import types
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


UNKNOWN_BLOCK: Final = "toolreel/unknown"
"""Key in ``_meta`` of a block of text that stands for another one: what is wrong with that."""

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
    media = tuple([part for _, part, _ in others if part is not None])
    structured: Json = finite(result.structured_content)
    # The model, and the count of equal results, have to know which images came with it.
    data: dict[str, Json] = {"parts": [shown for shown, _, _ in others]} if others else {}
    if structured is not None:
        data["structured"] = structured
    if result.is_error:
        words = text.strip() or (_NO_MESSAGE if structured is None else canonical(structured))
        return replace(failed_event(effect, "TOOL_ERROR", words, data), parts=media)
    warnings = [warning for _, _, warning in others if warning]
    for what in [(block.meta or {}).get(UNKNOWN_BLOCK) for block in blocks]:
        warnings += [f"{what} is not one of the protocol, and is given as JSON"] if what else []
    if text and not _only_repeat_structured([block.text for block in blocks], structured):
        data = {"text": text, **data}
    # One thing alone needs no name.
    only: Json = structured if data.keys() == {"structured"} else data
    if data.keys() <= {"text"}:
        only = _text_as_data(text)
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


Failure: TypeAlias = Literal["too_large", "unusable", "lost", "unavailable"]
"""Why a call has no result: its response exceeds the limit, or violates the protocol; the server went away
during the call, or was not there for it."""
_FAILURES: Final[Mapping[Failure, tuple[str, str]]] = {
    "too_large": ("TOOL_OUTPUT_TOO_LARGE", "{tool} ran, but its answer has {why}. Ask {tool} for less."),
    "unusable": ("TOOL_OUTPUT_NOT_JSON", "{tool} ran, but {why}. Go on without it."),
    "lost": (
        "TOOL_UNAVAILABLE",
        "{tool}: {why}. It may have had effects. Check before you call it again.",
    ),
    "unavailable": (
        "TOOL_UNAVAILABLE",
        "{tool}: {why}. Nothing was done. Use another tool, or answer in text.",
    ),
}


def failure_event(effect: RunTool, failure: Failure, why: str) -> ToolReturned:
    """The event for a call without a result."""
    code, words = _FAILURES[failure]
    return failed_event(effect, code, words.format(tool=effect.name, why=why))


def _text_as_data(text: str) -> Json:
    """Text as data: servers without structured content write objects and lists as JSON text."""
    if text[:1] in {"{", "["}:
        value = read(text).value_or(text)
        return value if isinstance(value, Mapping) else {"value": value}
    return {"value": text}


_Part: TypeAlias = tuple[Json, Media | None, str]
"""A part of a result that is not text: what stands for it in the data, itself, and a warning without it."""


def _non_text_part(block: _NotText) -> _Part:
    match block:
        case types.ImageContent() | types.AudioContent():
            about: dict[str, Json] = {"type": block.type, "mime_type": block.mime_type}
            return _bytes_part(block.type, about, block.data, block.mime_type)
        case types.ResourceLink():
            link: dict[str, Json] = {"name": block.name, "mime_type": block.mime_type, "bytes": block.size}
            return _without_empty(type=block.type, uri=block.uri, **link), None, ""
        case types.EmbeddedResource(resource=found):
            about = {"type": "resource", "uri": found.uri, "mime_type": found.mime_type}
            if isinstance(found, types.TextResourceContents):
                return _without_empty(**about, text=found.text), None, ""
            return _bytes_part("file", about, found.blob, found.mime_type or "", found.uri)
        case _:
            assert_never(block)


def _bytes_part(kind: str, about: dict[str, Json], base64: str, mime: str, uri: str = "") -> _Part:
    """Bytes as a part; what is not Base64, or of a type that no provider takes, is left out with a warning.

    A server chooses what it sends, and one part that the provider refuses would end the run.
    """
    size = len(base64.rstrip("=")) * 3 // 4
    shown = _without_empty(**about, bytes=size)
    why = f"{kind} of {size} bytes ({mime or 'unknown type'}) left out"
    try:
        data = b64decode(base64, validate=True)
    except ValueError:
        return shown, None, f"{why}: it is not Base64"
    found = media_type_in(data) or usual_media_type(mime)
    if found not in _TAKEN:
        return shown, None, f"{why}: models take {_TAKEN_SHOWN}"
    blob = Blob.of(data, found)
    media: Media
    match blob.media_type.partition("/")[0]:
        case "image":
            media = Image(blob)
        case "audio":
            media = Audio(blob)
        case _:
            media = File(blob, uri.rpartition("/")[2])
    return media.label, media, ""


def _without_empty(**parts: Json) -> Json:
    return {name: value for name, value in parts.items() if value is not None}
