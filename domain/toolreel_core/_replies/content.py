"""The content of a message: a string, or a list of parts of many kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

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


def _of_parts(raw: Sequence[Json]) -> Content:
    kinds = [*map(_kind, raw)]
    found: dict[str, list[Mapping[str, Json]]] = {kind: [] for kind in get_args(_Kind)}
    for part, kind in zip(raw, kinds, strict=True):
        found[kind].append(part if isinstance(part, Mapping) else {"text": part})
    thoughts = ((_text(fields.get(key)) for key in _THOUGHTS) for fields in found["thought"])
    kept = (part for part, kind in zip(raw, kinds, strict=True) if kind != "call")
    return Content(
        visible("".join(_text(fields.get("text")) for fields in found["text"])),
        "".join(next(filter(None, texts), "") for texts in thoughts),
        "".join(_text(fields.get("refusal")) for fields in found["refusal"]),
        tuple(found["call"]),
        tuple(kept) if found["thought"] else None,
        ("CONTENT_NOT_STRING", "NON_TEXT_PART") if found["other"] else ("CONTENT_NOT_STRING",),
    )


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


def _text(raw: Json) -> str:
    """A text, or the joined text of nested parts; OpenAI's assistants wrap it as ``{"value": …}``."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, Mapping):
        return _text(raw.get("value", raw.get("text")))
    return "".join(_text(part) for part in raw) if isinstance(raw, Sequence) else ""
