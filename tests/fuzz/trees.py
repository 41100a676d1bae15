"""JSON values made from bytes: any, or nearly the body of a reply."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz.draw import Draw
from toolreel_core._jsontext import Json, encodable_text

_KEYS = (
    *("choices", "message", "delta", "tool_calls", "function", "name", "arguments", "content", "id"),
    *("type", "finish_reason", "function_call", "text", "index", "error", "code", "role", "reasoning"),
    *("usage", "object", "reasoning_content", "reasoning_details", "refusal", "input", "parameters"),
    *("native_finish_reason", "extra_content", "prompt_tokens", "detail", "errors", "messages"),
    *("response", "output", "data", "custom", "tool_uses", "recipient_name", "thinking_blocks"),
    *("signature", "thinking", "cost", "model", "failed_generation", "promptFeedback", "blockReason"),
    *("completion_tokens_details", "status", "args", "a", "s"),
)
_TEXTS = (
    *("", "ping", "add", "{}", '{"a": 1}', '{"a": ', "call_a", "stop", "tool_calls", "length", "error"),
    *("null", "assistant", "text", "function", "custom", "tool_use", "reasoning", "429", "[]"),
    *("functions.ping", "None", "content_filter", "multi_tool_use.parallel", "tool_call", "thinking"),
    *("refusal", "[{}]", " ", "\ud83d"),
)
_SCALARS: tuple[Json, ...] = (
    *(None, True, False, 0, 1, -1, 2, 429, 500, 1.5, -0.0, 10**30),
    *_TEXTS,
)
_DEEPEST = 12


def json_value(draw: Draw, depth: int = 0) -> Json:
    """A value of any kind."""
    match draw.one_of("stolS" if depth < _DEEPEST else "st"):
        case "t":
            return draw.text(40)
        case "o":
            return json_object(draw, depth + 1)
        case "l":
            return [json_value(draw, depth + 1) for _ in range(draw.one_of(range(4)))]
        case _:
            return draw.one_of(_SCALARS)


def json_object(draw: Draw, depth: int = 0) -> Mapping[str, Json]:
    """An object with keys that replies have, and with others, which can be sent."""
    return {_key(draw): json_value(draw, depth) for _ in range(draw.one_of(range(5)))}


def body(draw: Draw) -> Json:
    """The body of a reply, in which any part may be something else."""
    calls = [_call(draw) for _ in range(draw.one_of(range(3)))]
    message = {
        "role": "assistant",
        "content": _or_else(draw, draw.text(60)),
        "tool_calls": _or_else(draw, calls),
        **_further(draw),
    }
    finish = draw.one_of(("stop", "tool_calls", "length", "content_filter", "error", "what", None))
    choice = {"index": 0, draw.one_of(("message", "delta")): _or_else(draw, message), "finish_reason": finish}
    return _or_else(
        draw, {"choices": _or_else(draw, [_or_else(draw, {**choice, **_further(draw)})]), **_further(draw)}
    )


def _call(draw: Draw) -> Json:
    function = {
        "name": _or_else(draw, draw.one_of(("ping", "add", "functions.ping", "none", ""))),
        "arguments": _or_else(draw, draw.one_of(_TEXTS)),
    }
    return _or_else(
        draw, {"id": _or_else(draw, "call_a"), "function": _or_else(draw, function), **_further(draw)}
    )


def _or_else(draw: Draw, value: Json) -> Json:
    return json_value(draw, 2) if draw.one_of(range(8)) == 1 else value


def _further(draw: Draw) -> Mapping[str, Json]:
    return json_object(draw, 3) if draw.one_of(range(4)) == 1 else {}


def _key(draw: Draw) -> str:
    return draw.one_of(_KEYS) if draw.one_of((True, True, False)) else encodable_text(draw.text(12))
