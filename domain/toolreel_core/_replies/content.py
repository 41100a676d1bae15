"""The content of a message: text, or a list of parts of many kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._jsontext.canonical import Json, canonical, finite
from toolreel_core._replies.warnings import WarningCode

__all__ = ["Content", "content_of", "visible"]

_Kind: TypeAlias = Literal["text", "thought", "refusal", "call", "other"]

_KINDS: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(("text", "output_text"), "text"),
    **dict.fromkeys(("thinking", "reasoning", "reasoning_text", "redacted_thinking"), "thought"),
    "refusal": "refusal",
    **dict.fromkeys(("tool_use", "tool_call", "function_call", "toolcall", "functioncall"), "call"),
}
"""What a part is by its ``type``, in lower case."""
_THOUGHTS: Final = ("thinking", "text", "reasoning", "summary", "content")
"""Where a part has its reasoning."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a content holds."""

    text: str = ""
    """Byte for byte what came; null and blank are empty."""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[Mapping[str, Json], ...] = ()
    """Parts that are tool calls."""
    parts: tuple[Json, ...] | None = None
    """The parts that go back to the provider as they came, since there is reasoning among them
    (Mistral's Magistral)."""
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
    """The text, if there is anything to see in it."""
    return "" if not text or text.isspace() else text


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Parts by their kind."""

    text: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    call: list[Mapping[str, Json]] = field(default_factory=list)
    kept: list[Json] = field(default_factory=list)
    """All parts but the calls, as they came."""
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
    """Text, or that of the parts that it is made of."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, Mapping):
        return _text(raw.get("value", raw.get("text")))
    return "".join(_text(part) for part in raw) if isinstance(raw, Sequence) else ""
