"""What a chat-completions reply means: any body in, a :class:`Reply` out, never an exception.

This is the one place where the shape drift of providers is absorbed; the loop sees only
``Reply``. Sources of the shapes: openai/codex#13114, vllm-project/vllm#32587,
ollama/ollama#14656.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from returns.result import Failure, Result, Success

from toolreel.arguments import ArgumentError
from toolreel.calls import ToolCall, read_calls
from toolreel.config import LoopConfig
from toolreel.jsontext import Json, canonical, read
from toolreel.pipeline import either
from toolreel.surface import ToolSurface
from toolreel.text_dialects import text_calls

__all__ = ["Finish", "Problem", "ProblemCode", "Reply", "Usage", "normalize_reply"]

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "error", "unknown"]

ProblemCode: TypeAlias = Literal[
    "PROVIDER_ERROR",
    "RATE_LIMITED",
    "INVALID_BODY",
    "NO_CHOICES",
    "NO_MESSAGE",
    "CONTENT_FILTER",
    "REFUSAL",
    "TRUNCATED",
    "EMPTY_RESPONSE",
]

_FINISH: Final[Mapping[str, Finish]] = {
    **dict.fromkeys(("stop", "end_turn", "eos", "eos_token", "stop_sequence", "completed"), "stop"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), "tool_calls"),
    **dict.fromkeys(("length", "max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("content_filter", "sensitive", "safety"), "content_filter"),
    **dict.fromkeys(("error", "network_error", "abort", "insufficient_system_resource"), "error"),
}

_TOO_MANY_REQUESTS: Final = "429"
_PASSING: Final = frozenset({"408", _TOO_MANY_REQUESTS, *map(str, range(500, 600))})
"""Statuses inside an error object, as text, that say: try again."""

_MOST_COST: Final = 1e9
_MOST_TOKENS: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a reply as a whole."""

    code: ProblemCode
    detail: str = ""
    """The provider's own words, or what was found."""
    passing: bool = False
    """Whether the same request may work in a moment."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a reply is charged for, as far as the provider says."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """What the provider says that it charges, in its own currency."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, in the form that the loop works with."""

    calls: tuple[ToolCall, ...] = ()
    content: str = ""
    """The visible text, byte for byte; null and blank become empty."""
    reasoning: str = ""
    finish: Finish = "unknown"
    problem: Problem | None = None
    warnings: tuple[str, ...] = ()
    """Code of every normalisation that was applied: nothing is mended silently."""
    usage: Usage = Usage()
    model: str = ""
    """The model that the provider says has answered."""


def normalize_reply(body: bytes | Json, *, tools: ToolSurface, config: LoopConfig, turn: int = 1) -> Reply:
    """Read a reply, whatever its shape.

    >>> reply = normalize_reply(b"<html>", tools=ToolSurface(), config=LoopConfig())
    >>> reply.problem.code
    'INVALID_BODY'

    :param body: the response body as bytes or text, or the value parsed from it
    :param tools: the tools that exist, for calls that are written as text
    :param turn: the turn of the run, which names the calls that came without an id
    """
    return either(
        _tree(body)
        .bind(_envelope)
        .map(lambda found: _read(found, tools, config, turn))
        .alt(lambda problem: Reply(finish="error", problem=problem))
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """The parts of a body that has a message."""

    body: Mapping[str, Json]
    choice: Mapping[str, Json]
    message: Mapping[str, Json]
    warnings: tuple[str, ...]


def _tree(body: bytes | Json) -> Result[Mapping[str, Json], Problem]:
    return _text(body).bind(read).alt(lambda why: Problem("INVALID_BODY", why)).bind(_mapping)


def _text(body: bytes | Json) -> Result[str, str]:
    """The text of a body; a parsed value is written anew, so that it is held to the same rules."""
    if isinstance(body, bytes):
        return Success(body.decode("utf-8", "replace"))
    if isinstance(body, str):
        return Success(body)
    try:
        return Success(canonical(body))
    except (ValueError, RecursionError) as error:
        return Failure(str(error))


def _mapping(tree: Json) -> Result[Mapping[str, Json], Problem]:
    if isinstance(tree, Mapping):
        return Success(tree)
    return Failure(Problem("INVALID_BODY", f"expected a JSON object, got {type(tree).__name__}"))


def _envelope(body: Mapping[str, Json]) -> Result[_Found, Problem]:
    if error := body.get("error"):
        return Failure(_provider_error(error))
    choices = body.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        return Failure(Problem("NO_CHOICES", "the reply has no choices"))
    choice = choices[0]
    if isinstance(choice, Mapping) and (error := choice.get("error")):
        return Failure(_provider_error(error))
    if not isinstance(choice, Mapping) or not isinstance(message := choice.get("message"), Mapping):
        return Failure(Problem("NO_MESSAGE", "the first choice has no message"))
    return Success(_Found(body, choice, message, ("MULTIPLE_CHOICES",) if len(choices) > 1 else ()))


def _provider_error(error: Json) -> Problem:
    if not isinstance(error, Mapping):
        return Problem("PROVIDER_ERROR", error if isinstance(error, str) else canonical(error))
    text = error.get("message")
    detail = text if isinstance(text, str) else canonical(error)
    status = str(error.get("code"))
    code: ProblemCode = "RATE_LIMITED" if status == _TOO_MANY_REQUESTS else "PROVIDER_ERROR"
    return Problem(code, detail, passing=status in _PASSING)


def _read(found: _Found, tools: ToolSurface, config: LoopConfig, turn: int) -> Reply:
    content, content_warnings = _content(found.message.get("content"))
    structured = read_calls(found.message, turn=turn, max_depth=config.max_argument_depth)
    finish, finish_warnings = _finish(found.choice.get("finish_reason"))
    served = found.body.get("model")
    reply = Reply(
        calls=structured.calls,
        content=content,
        reasoning=_reasoning(found.message),
        finish=finish,
        warnings=(*found.warnings, *content_warnings, *structured.warnings, *finish_warnings),
        usage=_usage(found.body.get("usage")),
        model=served if isinstance(served, str) else "",
    )
    if not reply.calls and reply.content:
        reply = _with_text_calls(reply, tools, config, turn)
    return _judged(_consistent(reply), found.message)


def _content(raw: Json) -> tuple[str, tuple[str, ...]]:
    match raw:
        case None:
            return "", ()
        case str():
            return _visible(raw), ()
        case Mapping():
            return canonical(raw), ("CONTENT_NOT_STRING",)
        case Sequence():
            texts = (part.get("text") for part in raw if isinstance(part, Mapping))
            return _visible("".join(text for text in texts if isinstance(text, str))), ("CONTENT_NOT_STRING",)
        case _:
            return canonical(raw), ("CONTENT_NOT_STRING",)


def _visible(text: str) -> str:
    return text if text.strip() else ""


def _reasoning(message: Mapping[str, Json]) -> str:
    for key in ("reasoning_content", "reasoning"):
        text = message.get(key)
        if isinstance(text, str) and text:
            return text
    return ""


def _finish(word: Json) -> tuple[Finish, tuple[str, ...]]:
    finish = _FINISH.get(word.lower()) if isinstance(word, str) else None
    return (finish, ()) if finish else ("unknown", ("FINISH_UNKNOWN",))


def _usage(raw: Json) -> Usage:
    counts = raw if isinstance(raw, Mapping) else {}
    prompt, completion = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    return Usage(prompt, completion, _cost(counts.get("cost")))


def _cost(raw: Json) -> float:
    """A charge; what cannot be one counts as not said."""
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return 0.0
    return float(raw) if 0 <= raw <= _MOST_COST else 0.0


def _count(raw: Json) -> int:
    """A number of tokens; what cannot be one counts as not said."""
    if isinstance(raw, bool) or not isinstance(raw, int):
        return 0
    return raw if 0 <= raw <= _MOST_TOKENS else 0


def _with_text_calls(reply: Reply, tools: ToolSurface, config: LoopConfig, turn: int) -> Reply:
    if not config.text_dialects:
        return reply
    found = text_calls(reply.content, tools=tools.known, dialects=config.text_dialects, finish=reply.finish)
    calls = tuple(
        ToolCall(f"call_{turn}_{index}", call.name, call.arguments, call.original, f"text:{call.dialect}")
        for index, call in enumerate(found.calls)
    )
    warnings = tuple(f"TEXT_CALL_{why.upper()}" for why in found.rejected)
    return replace(
        reply,
        calls=calls,
        content=_visible(found.content),
        reasoning=reply.reasoning or found.reasoning,
        warnings=(*reply.warnings, *warnings, *(("TEXT_CALL_READ",) if calls else ())),
    )


def _consistent(reply: Reply) -> Reply:
    """Calls decide, not the finish word: OpenAI itself documents calls that came with ``stop``."""
    if reply.calls and reply.finish in {"stop", "unknown"}:
        from_text = reply.calls[0].provenance.startswith("text:")
        mismatch = () if from_text else ("FINISH_MISMATCH",)  # a server that saw text is right to say stop
        return replace(reply, finish="tool_calls", warnings=(*reply.warnings, *mismatch))
    if not reply.calls and reply.finish == "tool_calls":
        return replace(reply, finish="stop", warnings=(*reply.warnings, "FINISH_MISMATCH"))
    return reply


def _judged(reply: Reply, message: Mapping[str, Json]) -> Reply:
    refusal = message.get("refusal")
    if reply.finish == "error":
        return replace(reply, calls=(), problem=Problem("PROVIDER_ERROR", "the provider broke off"))
    if reply.finish == "content_filter":
        return replace(reply, calls=(), problem=Problem("CONTENT_FILTER", reply.content))
    if isinstance(refusal, str) and refusal:
        return replace(reply, calls=(), problem=Problem("REFUSAL", refusal))
    if reply.finish == "length":
        return replace(reply, calls=tuple(map(_cut, reply.calls)), problem=Problem("TRUNCATED"))
    if not reply.calls and not reply.content:
        return replace(reply, problem=Problem("EMPTY_RESPONSE"))
    return reply


def _cut(call: ToolCall) -> ToolCall:
    """A call that cannot be parsed in a cut reply was cut itself."""
    match call.arguments:
        case ArgumentError(code="ARGUMENTS_INVALID_JSON", detail=detail):
            return replace(call, arguments=ArgumentError("ARGUMENTS_TRUNCATED", detail))
        case _:
            return call
