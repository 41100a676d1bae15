"""The normalised reply: the one form that the loop works with, whatever the provider sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    in_numeric_order,
    text_at,
    tree_at,
    without_non_finite_numbers,
)
from toolreel_core._replies.classification import (
    FinishReason,
    Problem,
    finish_reason_of_word,
    problem_from_error_field,
    problem_in_list,
    top_level_error,
)
from toolreel_core._replies.tool_calls import ToolCall
from toolreel_core._replies.warning_codes import WarningCode, WarningCodes

# Beyond these a number is garbage, and it would break every sum; 2**53 - 1 is the last exact integer in JSON.
_MAX_COST = 1e9
_MAX_TOKENS = 2**53 - 1

# OpenAI API reference, usage of a chat completion: cached_tokens and audio_tokens in the details of the
# prompt, reasoning_tokens and audio_tokens in those of the completion. DeepSeek API docs, Context Caching:
# prompt_cache_hit_tokens in the usage itself. Anthropic API docs, Prompt caching: cache_read_input_tokens.
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "eval_count")
"""Names of each count: OpenAI's first, then those of Anthropic and Ollama."""
_CACHED = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens")
_REASONING = ("reasoning_tokens",)
_AUDIO = ("audio_tokens",)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a reply as reported by the provider; a count is 0 if it reports none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """Cost reported by the provider, in its own currency; ``None`` if it reports none."""
    reasoning_tokens: int = 0
    """Completion tokens that were spent on reasoning."""
    cached_tokens: int = 0
    """Prompt tokens that came from the provider's cache."""
    prompt_audio_tokens: int = 0
    completion_audio_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    model: str = ""
    """Name of the model that answered, which may differ from the one requested."""
    provider: str = ""
    """The upstream that a router used, such as OpenRouter's ``provider``."""
    fingerprint: str = ""
    """The server's configuration (``system_fingerprint``)."""
    request_id: str = ""


def usage_in(body: Tree) -> Usage:
    """The usage of a reply; a value that cannot be a token count is read as 0."""
    # Ollama's own API has the counts at the top level of the body.
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else body
    prompt = as_tree(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    completion = as_tree(counts.get("completion_tokens_details") or counts.get("output_tokens_details"))
    return Usage(
        _first_positive_count(counts, _PROMPT),
        _first_positive_count(counts, _COMPLETION),
        _valid_cost(counts.get("cost")),
        _first_positive_count(completion, _REASONING) or _first_positive_count(counts, _REASONING),
        _first_positive_count(prompt, _CACHED) or _first_positive_count(counts, _CACHED),
        _first_positive_count(prompt, _AUDIO),
        _first_positive_count(completion, _AUDIO),
    )


def read_reply_metadata(body: Tree) -> Served:
    """Model, provider and ids of a reply; a failed router names its upstream in the error."""
    upstream = tree_at(body, "error", "metadata") if "error" in body else {}
    return Served(
        text_at(body, "model"),
        text_at(body, "provider") or text_at(upstream, "provider_name"),
        text_at(body, "system_fingerprint"),
        text_at(body, "id") or text_at(body, "request_id"),
    )


def _first_positive_count(counts: Tree, names: tuple[str, ...]) -> int:
    """The first of these counts that is positive; some servers write counts as ``12.0``."""
    for name in names:
        raw = counts.get(name)
        if isinstance(raw, int | float) and 0 < raw <= _MAX_TOKENS and raw is not True and raw % 1 == 0:
            return int(raw)
    return 0


def _valid_cost(raw: Json) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return float(raw) if 0 <= raw <= _MAX_COST else None


_NO_USAGE = Usage()
_NOBODY = Served()


@dataclass(frozen=True, slots=True)
class Reply:
    """One normalised reply of a model."""

    calls: tuple[ToolCall, ...] = ()
    content: str = ""
    """The visible text, unchanged; null and blank text become empty."""
    reasoning: str = ""
    """The reasoning text, from whichever field the provider uses."""
    finish: FinishReason = "unknown"
    problem: Problem | None = None
    warnings: WarningCodes = ()
    """Code of every repair that was applied; nothing is repaired silently."""
    usage: Usage = _NO_USAGE
    served: Served = _NOBODY
    carry: JsonText = NOTHING
    """Opaque fields of the message (reasoning, signatures) to send back unchanged, as one JSON object."""
    paused: bool = False
    """Whether the server has paused its turn while its own tools run, and goes on when this is sent back."""


_NESTED = ("provider", "response", "result", "data")
"""Where some gateways put the whole completion (pydantic/pydantic-ai#3994, cline/cline#13348)."""
_FINISH_WORDS = ("finish_reason", "stop_reason", "done_reason")
_ZERO = (0, "0")
_NO_CHOICES = Problem("NO_CHOICES", "the reply has no choices")
_NO_MESSAGE = Problem("NO_MESSAGE", "the first choice has no message")
_UNDOCUMENTED: Mapping[WarningCode, Problem] = {
    "COMPLETION_NESTED": _NO_CHOICES,
    "CHOICES_NOT_LIST": _NO_CHOICES,
    "TOP_LEVEL_MESSAGE": _NO_CHOICES,
    "MESSAGE_NOT_OBJECT": _NO_MESSAGE,
    "DELTA_INSTEAD_OF_MESSAGE": _NO_MESSAGE,
    "LEGACY_TEXT_CHOICE": _NO_MESSAGE,
}
"""The problem that each undocumented shape is when only documented shapes are read (``strict``)."""


_EMPTY: Tree = {}


class FoundMessage(NamedTuple):
    body: Tree
    choice: Tree = _EMPTY
    message: Tree = _EMPTY
    problem: Problem | None = None
    """A problem that is known before the message is read."""
    codes: WarningCodes = ()


def find_message(tree: Json) -> FoundMessage:
    if not isinstance(tree, dict):
        problem = problem_in_list(tree) if isinstance(tree, list) else None
        kind = type(tree).__name__
        return FoundMessage(
            {}, problem=problem or Problem("INVALID_BODY", f"expected a JSON object, got {kind}")
        )
    nested = () if tree.get("choices") else (tree.get(key) for key in _NESTED)
    inner = (one for one in nested if isinstance(one, dict) and (one.get("choices") or one.get("error")))
    body: Tree = next(inner, tree)
    codes: WarningCodes = () if body is tree else ("COMPLETION_NESTED",)
    choices = body.get("choices")
    # Before the choices: a router reports a failed upstream as an error in a 200, sometimes with choices.
    problem = problem_from_error_field(body) or problem_from_error_field(tree)
    if isinstance(choices, dict) and choices:
        # It is a choice itself, or its values are, if its keys are indices.
        choices = [*in_numeric_order(choices).values()] or [choices]
        codes = (*codes, "CHOICES_NOT_LIST")
    if not isinstance(choices, list) or not choices:
        found = FoundMessage(body, problem=problem, codes=codes)
        return found if problem else _find_message_outside_choices(found)
    if len(choices) > 1:
        codes = (*codes, "MULTIPLE_CHOICES")
    choice = _first_choice(choices)
    if not isinstance(choice, dict):
        return FoundMessage(body, problem=problem or _NO_MESSAGE, codes=codes)
    message, noticed = _message_of_choice(choice)
    problem = problem or problem_from_error_field(choice) or problem_from_error_field(message or {})
    if message is None:
        # These reasons say why there is none; they become the problem later.
        if finish_reason_of_word(choice.get("finish_reason")) not in {"length", "content_filter", "error"}:
            problem = problem or _NO_MESSAGE
    elif message.get("role") not in (None, "assistant"):
        noticed = (*noticed, "ROLE_UNEXPECTED")
    return FoundMessage(body, choice, message or {}, problem, (*codes, *noticed))


def reject_undocumented_place(found: FoundMessage) -> FoundMessage:
    """The found message, or a problem if it is not where OpenAI documents it."""
    problem = next((_UNDOCUMENTED[code] for code in found.codes if code in _UNDOCUMENTED), None)
    if problem is None or found.problem:
        return found
    return FoundMessage(found.body, problem=problem, codes=found.codes)


def _first_choice(choices: Sequence[Json]) -> Json:
    first = next((one for one in choices if isinstance(one, dict) and one.get("index") in _ZERO), choices[0])
    if not isinstance(first, dict) or first.get("finish_reason") != "tool_calls":
        return first
    message = tree_at(first, "message")
    if message.get("tool_calls") or message.get("function_call"):
        return first
    # Claude behind some gateways: each block of one turn is a choice, the text first, then the calls
    # (karthink/gptel#1284).
    others = (tree_at(one, "message").get("tool_calls") for one in choices if isinstance(one, dict))
    calls = [call for listed in others if isinstance(listed, list) for call in listed]
    return {**first, "message": {**message, "tool_calls": calls}} if calls else first


def _find_message_outside_choices(found: FoundMessage) -> FoundMessage:
    body = found.body
    # Gemini reports why it has blocked a prompt without any choice.
    blocked = as_tree(body.get("promptFeedback", body.get("prompt_feedback")))
    if reason := text_at(blocked, "blockReason") or text_at(blocked, "block_reason"):
        return found._replace(problem=Problem("CONTENT_FILTER", reason))
    has_content = body.get("content") is not None or body.get("tool_calls") is not None
    message = body.get("message")
    if not isinstance(message, dict) and body.get("role") == "assistant" and has_content:
        message = body
    if isinstance(message, dict):
        word = next((body[key] for key in _FINISH_WORDS if key in body), None)
        return FoundMessage(body, {"finish_reason": word}, message, codes=(*found.codes, "TOP_LEVEL_MESSAGE"))
    # OpenRouter sends null if its upstream failed (pydantic/pydantic-ai#6900), others an empty list.
    failed = "choices" in body and not body["choices"]
    return found._replace(problem=top_level_error(body) or replace(_NO_CHOICES, passing=failed))


def _message_of_choice(
    choice: Tree,
) -> tuple[Tree | None, WarningCodes]:
    """The message of a choice, and the warnings about its shape; ``None`` if there is none."""
    message = choice.get("message")
    if isinstance(message, dict):
        return message, ()
    if isinstance(message, str) and message.strip():
        return {"content": message}, ("MESSAGE_NOT_OBJECT",)
    if isinstance(message, list) and message and isinstance(message[0], dict):
        return message[0], ("MESSAGE_NOT_OBJECT",)
    if isinstance(delta := choice.get("delta"), dict):
        return delta, ("DELTA_INSTEAD_OF_MESSAGE",)
    if isinstance(text := choice.get("text"), str):
        return {"content": text}, ("LEGACY_TEXT_CHOICE",)
    if choice.get("tool_calls"):
        return {}, ()  # the calls are next to the message instead of inside it
    return None, ()


_Kind: TypeAlias = Literal["text", "thought", "refusal", "call", "other"]

_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(("text", "output_text"), "text"),
    **dict.fromkeys(("thinking", "reasoning", "reasoning_text", "redacted_thinking"), "thought"),
    "refusal": "refusal",
    **dict.fromkeys(("tool_use", "tool_call", "function_call", "toolcall", "functioncall"), "call"),
}
"""Kind of a part by its ``type`` in lower case: names of OpenAI, Anthropic, Mistral and Gemini."""
_THOUGHTS = ("thinking", "text", "reasoning", "summary", "content")
"""Keys of a part that may hold its reasoning; the first that has text counts."""


class Content(NamedTuple):
    text: str = ""
    """The text unchanged; null and blank text are empty."""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[Tree, ...] = ()
    """Parts that are tool calls."""
    parts: tuple[Json, ...] | None = None
    """The parts to send back unchanged, because there is reasoning among them (Mistral's Magistral).

    ``None`` if there is none: then the text alone is sent back."""
    warnings: WarningCodes = ()


def content_of(raw: Json) -> Content:
    if raw is None:
        return Content()
    if isinstance(raw, str):
        return Content(empty_if_blank(raw))
    if isinstance(raw, Sequence):
        return _content_of_parts(raw)
    if isinstance(raw, Mapping) and _part_kind(raw) != "other":
        return _content_of_parts([raw])
    return Content(canonical(without_non_finite_numbers(raw)), warnings=("CONTENT_NOT_STRING",))


def empty_if_blank(text: str) -> str:
    return "" if text.isspace() else text


def _content_of_parts(raw: Sequence[Json]) -> Content:
    kinds = [*map(_part_kind, raw)]
    found: dict[str, list[Tree]] = {kind: [] for kind in get_args(_Kind)}
    for part, kind in zip(raw, kinds, strict=True):
        found[kind].append(part if isinstance(part, Mapping) else {"text": part})
    thoughts = ((_text_of_part(fields.get(key)) for key in _THOUGHTS) for fields in found["thought"])
    kept = (part for part, kind in zip(raw, kinds, strict=True) if kind != "call")
    return Content(
        empty_if_blank("".join(_text_of_part(fields.get("text")) for fields in found["text"])),
        "".join(next(filter(None, texts), "") for texts in thoughts),
        "".join(_text_of_part(fields.get("refusal")) for fields in found["refusal"]),
        tuple(found["call"]),
        tuple(kept) if found["thought"] else None,
        ("CONTENT_NOT_STRING", "NON_TEXT_PART") if found["other"] else ("CONTENT_NOT_STRING",),
    )


def _part_kind(part: Json) -> _Kind:
    if isinstance(part, str):
        return "text"
    if not isinstance(part, Mapping):
        return "other"
    if kind := text_at(part, "type"):
        return _KINDS.get(kind.lower(), "other")
    if part.get("thought") is True:
        return "thought"
    if isinstance(part.get("functionCall"), Mapping):
        return "call"
    return "text" if isinstance(part.get("text"), str) else "other"


def _text_of_part(raw: Json) -> str:
    """A text, or the joined text of nested parts; OpenAI's assistants wrap it as ``{"value": …}``."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, Mapping):
        return _text_of_part(raw.get("value", raw.get("text")))
    return "".join(_text_of_part(part) for part in raw) if isinstance(raw, Sequence) else ""
