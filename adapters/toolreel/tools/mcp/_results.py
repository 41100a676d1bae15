"""Results of MCP tools, and their failures, as events."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from mcp import types

from toolreel._driver import media_from_bytes
from toolreel.tools import failed_event, returned_event
from toolreel_core._conversation import Media, media_type_of_bytes, normalized_media_type
from toolreel_core._jsontext import Json, canonical, read_json, text_at, without_non_finite_numbers
from toolreel_core._protocol import RunTool, ToolReturned

_TAKEN = frozenset({
    "image/png", "image/jpeg", "image/gif", "image/webp", "audio/wav", "audio/mpeg", "application/pdf",
})  # fmt: skip
"""The media types that providers of chat completions document."""
_TAKEN_SHOWN = "PNG, JPEG, GIF, WebP, WAV, MP3 and PDF"
_LONGEST = 1_000
"""Characters of an unknown block that are kept; more are most likely bytes."""
_NO_MESSAGE = "It says no more than that it failed."
_CODES = {types.INVALID_PARAMS: "ARGUMENT_ERROR", types.METHOD_NOT_FOUND: "TOOL_NOT_IMPLEMENTED"}


def result_event(effect: RunTool, result: Mapping[str, Any]) -> ToolReturned:
    """Text and structured content are both given, unless one only repeats the other."""
    texts, parts = list[str](), list[Json]()
    media, warnings = list[Media](), list[str]()
    for block in cast("Any", without_non_finite_numbers(result.get("content"))) or ():
        match block:
            case {"type": "text", "text": str(words)}:
                texts.append(words)
            case {"type": "image" | "audio" as kind, "data": str(base64), "mimeType": str()}:
                parts.append(_media_part(kind, block, base64, media, warnings))
            case {"type": "resource", "resource": {"uri": str(), "blob": str(base64)} as found}:
                parts.append(_media_part("resource", found, base64, media, warnings))
            case {"type": "resource", "resource": {"uri": str(), "text": str()} as found}:
                parts.append(_describe_block("resource", found))
            case {"type": "resource_link", "uri": str(), "name": str()}:
                parts.append(_describe_block("resource_link", block))
            case _:
                warnings.append("a block of the result is not one of the protocol, and is given as JSON")
                texts.append(canonical(block)[:_LONGEST])
    text, structured = "\n".join(texts), without_non_finite_numbers(result.get("structuredContent"))
    if structured is not None and not isinstance(structured, Mapping):
        structured = {"result": structured}
    # The model, and the count of equal results, have to know which images came with it.
    data: dict[str, Json] = {"parts": parts} if parts else {}
    if structured is not None:
        data["structured"] = structured
    if result.get("isError") is True:
        words = text.strip() or (_NO_MESSAGE if structured is None else canonical(structured))
        return replace(failed_event(effect, "TOOL_ERROR", words, data), parts=tuple(media))
    if text and not _repeats_structured(texts, structured):
        data = {"text": text, **data}
    # One thing alone needs no name.
    only: Json = structured if data.keys() == {"structured"} else data
    if data.keys() <= {"text"}:
        only = _text_as_data(text)
    return returned_event(effect, only, *warnings, parts=tuple(media))


def _repeats_structured(texts: Sequence[str], structured: Json) -> bool:
    text = "\n".join(texts)
    whole, items = read_json(text).value_or(text), [read_json(each).value_or(each) for each in texts]
    parts = structured.values() if isinstance(structured, Mapping) and len(structured) == 1 else ()
    return any(same in (text, whole, items) for same in (structured, *parts))


def error_event(effect: RunTool, error: types.ErrorData) -> ToolReturned:
    return failed_event(effect, _CODES.get(error.code, "TOOL_ERROR"), error.message.strip() or _NO_MESSAGE)


Failure: TypeAlias = Literal["too_large", "unusable", "lost", "unavailable", "forgotten"]
"""Why a call has no result: its response exceeds the limit, or violates the protocol; the server went away
during the call, was not there for it, or does not know the session."""
_NOT_DONE = "{tool}: {why}. Nothing was done. Use another tool, or answer in text."
_FAILURES: Mapping[Failure, tuple[str, str]] = {
    "too_large": ("TOOL_OUTPUT_TOO_LARGE", "{tool} ran, but its answer has {why}. Ask {tool} for less."),
    "unusable": ("TOOL_OUTPUT_NOT_JSON", "{tool} ran, but {why}. Go on without it."),
    "lost": (
        "TOOL_UNAVAILABLE",
        "{tool}: {why}. It may have had effects. Check before you call it again.",
    ),
    "unavailable": ("TOOL_UNAVAILABLE", _NOT_DONE),
    "forgotten": ("TOOL_UNAVAILABLE", _NOT_DONE),
}


def mcp_failure_event(effect: RunTool, failure: Failure, why: str) -> ToolReturned:
    code, words = _FAILURES[failure]
    return failed_event(effect, code, words.format(tool=effect.name, why=why))


def _text_as_data(text: str) -> Json:
    """Text as data: servers without structured content write objects and lists as JSON text."""
    if text[:1] in {"{", "["}:
        value = read_json(text).value_or(text)
        return value if isinstance(value, Mapping) else {"value": value}
    return {"value": text}


_FIELDS = {"uri": "uri", "name": "name", "mime_type": "mimeType", "bytes": "size", "text": "text"}
"""By our names, the fields of a block that stand for it in the data."""


def _describe_block(kind: str, block: Mapping[str, Json]) -> dict[str, Json]:
    fields = {ours: block.get(theirs) for ours, theirs in _FIELDS.items()}
    return {"type": kind, **{name: value for name, value in fields.items() if value is not None}}


def _media_part(
    kind: str, block: Mapping[str, Json], base64: str, media: list[Media], warnings: list[str]
) -> Json:
    """What stands for bytes in the data; what is not Base64, or of a type no provider takes, is left out.

    A server chooses what it sends, and one part that the provider refuses would end the run.

    :param warnings: takes a warning, if it is left out
    """
    mime, size = text_at(block, "mimeType"), len(base64.rstrip("=")) * 3 // 4
    try:
        data = b64decode(base64, validate=True)
    except ValueError:
        problem = "it is not Base64"
    else:
        found = media_type_of_bytes(data) or normalized_media_type(mime)
        if found in _TAKEN:
            media.append(media_from_bytes(data, found, text_at(block, "uri").rpartition("/")[2]))
            return media[-1].label
        problem = f"models take {_TAKEN_SHOWN}"
    warnings.append(f"{kind} of {size} bytes ({mime or 'unknown type'}) left out: {problem}")
    return {**_describe_block(kind, block), "bytes": size}
