"""The content of a message: a string, or a list of parts of many kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._jsontext import Json, canonical, finite
from toolreel_core._replies.warning_codes import WarningCode

_Kind: TypeAlias = Literal["text", "thought", "refusal", "call", "other"]

_KINDS: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(("text", "output_text"), "text"),
    **dict.fromkeys(("thinking", "reasoning", "reasoning_text", "redacted_thinking"), "thought"),
    "refusal": "refusal",
    **dict.fromkeys(("tool_use", "tool_call", "function_call", "toolcall", "functioncall"), "call"),
}
"""Kind of a part by its ``type`` in lower case: names of OpenAI, Anthropic, Mistral and Gemini."""
_THOUGHTS: Final = ("thinking", "text", "reasoning", "summary", "content")
"""Keys of a part that may hold its reasoning; the first that has text counts."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a message, sorted by kind."""

    text: str = ""
    """The text unchanged; null and blank text are empty."""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[Mapping[str, Json], ...] = ()
    """Parts that are tool calls."""
    parts: tuple[Json, ...] | None = None
    """The parts to send back unchanged, because there is reasoning among them (Mistral's Magistral).

    ``None`` if there is none: then the text alone is sent back."""
    warnings: tuple[WarningCode, ...] = ()


def content_of(raw: Json) -> Content:
    """Read a content of any kind.

    >>> content_of([{"type": "thinking", "thinking": "2+2"}, {"type": "text", "text": "Four."}]).text
    'Four.'
    """
    if raw is None:
        return Content()
    if isinstance(raw, str):
        return Content(visible(raw))
    if isinstance(raw, Sequence):
        return _of_parts(raw)
    if isinstance(raw, Mapping) and _kind(raw) != "other":
        return _of_parts([raw])
    return Content(canonical(finite(raw)), warnings=("CONTENT_NOT_STRING",))


def visible(text: str) -> str:
    """The text, or an empty string if it is blank."""
    return "" if not text or text.isspace() else text


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Parts by their kind."""

    text: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    call: list[Mapping[str, Json]] = field(default_factory=list)
    kept: list[Json] = field(default_factory=list)
    """All parts except the calls, unchanged."""
    other: list[Json] = field(default_factory=list)


def _of_parts(raw: Sequence[Json]) -> Content:
    found, thoughtful = _Sorted(), False
    for part in raw:
        kind = _kind(part)
        thoughtful = thoughtful or kind == "thought"
        if kind != "call":
            found.kept.append(part)
        _file(part, kind, found)
    content = Content(
        visible("".join(found.text)),
        "".join(found.thought),
        "".join(found.refusal),
        tuple(found.call),
        tuple(found.kept) if thoughtful else None,
        ("CONTENT_NOT_STRING",),
    )
    return replace(content, warnings=(*content.warnings, "NON_TEXT_PART")) if found.other else content


def _kind(part: Json) -> _Kind:
    if isinstance(part, str):
        return "text"
    if not isinstance(part, Mapping):
        return "other"
    kind = part.get("type")
    if isinstance(kind, str) and kind:
        return _KINDS.get(kind.lower(), "other")
    if part.get("thought") is True:
        return "thought"
    if isinstance(part.get("functionCall"), Mapping):
        return "call"
    return "text" if isinstance(part.get("text"), str) else "other"


def _file(part: Json, kind: _Kind, found: _Sorted) -> None:
    fields: Mapping[str, Json] = part if isinstance(part, Mapping) else {"text": part}
    match kind:
        case "text":
            found.text.append(_text(fields.get("text")))
        case "thought":
            texts = (_text(fields.get(key)) for key in _THOUGHTS)
            found.thought.append(next(filter(None, texts), ""))
        case "refusal":
            found.refusal.append(_text(fields.get("refusal")))
        case "call":
            found.call.append(fields)
        case "other":
            found.other.append(part)
        case _:
            assert_never(kind)


def _text(raw: Json) -> str:
    """A text, or the joined text of nested parts; OpenAI's assistants wrap it as ``{"value": …}``."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, Mapping):
        return _text(raw.get("value", raw.get("text")))
    return "".join(_text(part) for part in raw) if isinstance(raw, Sequence) else ""
