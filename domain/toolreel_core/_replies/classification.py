"""Classify a reply: its finish reason, its problem as a whole, and the calls that may still run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

from toolreel_core._jsontext import Json, read
from toolreel_core._replies.arguments import ArgumentError, is_cut
from toolreel_core._replies.provider_errors import Problem
from toolreel_core._replies.tool_calls import Oddity, ToolCall
from toolreel_core._replies.warning_codes import WarningCode

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "error", "unknown"]

FinishProblem: TypeAlias = Literal["MALFORMED_FUNCTION_CALL", "CONTEXT_OVERFLOW"]
"""Problems that some finish reasons report in addition to their :data:`Finish`."""

# OpenAI's words first, then Anthropic's, Gemini's, GLM's ("sensitive"), DeepSeek's
# ("insufficient_system_resource") and those of local servers.
_FINISH: Final[Mapping[str, Finish]] = {
    **dict.fromkeys(("stop", "end_turn", "eos", "eos_token", "stop_sequence", "completed"), "stop"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), "tool_calls"),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"),
        "length",
    ),
    # Gemini's, Bedrock's and Cohere's after those of OpenAI and GLM (mozilla-ai/any-llm#1202).
    **dict.fromkeys(
        (
            *("content_filter", "content_filtered", "contentfilter", "sensitive", "safety", "refusal"),
            *("recitation", "prohibited_content", "blocklist", "spii", "image_safety", "image_recitation"),
            *("image_prohibited_content", "model_armor", "guardrail_intervened", "guardrail", "guardrails"),
            *("moderation", "policy_violation", "error_toxic", "blocked"),
        ),
        "content_filter",
    ),
    **dict.fromkeys(
        (
            *("error", "network_error", "internal_error", "server_error", "insufficient_system_resource"),
            *("abort", "aborted", "cancel", "cancelled", "canceled", "interrupted", "timeout", "timed_out"),
            *("time_limit", "expired", "failed"),
        ),
        "error",
    ),
}
_MALFORMED: Final = "malformed_function_call"
"""Gemini's word, which its compatible endpoint gives as ``function_call_filter: MALFORMED_FUNCTION_CALL``."""
_REFUSAL: Final = "refusal"
"""Anthropic's word, which gateways pass on in other forms too."""
_PREFIXES: Final = ("finish_reason_", "finishreason.", "stop_reason_", "stopreason.")
"""What the names of enumerations put before a word."""
_OVERFLOW: Final = "model_context_window_exceeded"


def finish_of(word: Json) -> Finish:
    """The finish reason that a provider's word means; letter case is ignored.

    >>> finish_of("STOP"), finish_of("end_turn"), finish_of("because"), finish_of(None)
    ('stop', 'stop', 'unknown', 'unknown')
    """
    plain = _normalized_word(word)
    return "error" if _MALFORMED in plain else _FINISH.get(plain, "unknown")


def problem_of(word: Json) -> FinishProblem | None:
    """The problem that a finish reason reports, if it reports one.

    >>> problem_of("MALFORMED_FUNCTION_CALL")
    'MALFORMED_FUNCTION_CALL'
    """
    plain = _normalized_word(word)
    if _MALFORMED in plain:
        return "MALFORMED_FUNCTION_CALL"
    return "CONTEXT_OVERFLOW" if plain == _OVERFLOW else None


def says_what_went_wrong(word: Json) -> bool:
    """Whether a finish reason alone explains why there is no message.

    >>> says_what_went_wrong("content_filter"), says_what_went_wrong("stop")
    (True, False)
    """
    return finish_of(word) in {"length", "content_filter", "error"}


def _normalized_word(word: Json) -> str:
    if not isinstance(word, str):
        return ""
    plain = word.strip().lower().replace("-", "_").replace(" ", "_")
    return next((plain.removeprefix(prefix) for prefix in _PREFIXES if plain.startswith(prefix)), plain)


_BROKE_OFF: Final = Problem("PROVIDER_ERROR", "the provider broke off")


class Verdict(NamedTuple):
    """Classification of a reply."""

    finish: Finish
    problem: Problem | None = None
    calls: tuple[ToolCall, ...] = ()
    codes: tuple[WarningCode, ...] = ()


def judged(
    choice: Mapping[str, Json],
    *,
    calls: tuple[ToolCall, ...] = (),
    content: str = "",
    refusal: str = "",
    oddities: tuple[Oddity, ...] = (),
) -> Verdict:
    """Classify what the model said by the finish reason of its choice.

    >>> judged({"finish_reason": "end_turn"}, content="Hi.").finish
    'stop'
    >>> judged({"finish_reason": "stop"}).problem.code
    'EMPTY_RESPONSE'

    :param oddities: why entries that were intended as calls are not calls
    """
    # The order matters: an error or a filter wins over calls, because what came before it may be incomplete.
    word = choice.get("finish_reason")
    native = choice.get("native_finish_reason")
    word = native if finish_of(word) == "unknown" and finish_of(native) != "unknown" else word
    finish = finish_of(word)
    # OpenRouter maps the provider's finish reason to one of OpenAI's and keeps it as native_finish_reason.
    named = problem_of(word) or problem_of(native)
    if named == "MALFORMED_FUNCTION_CALL":
        return Verdict("error", Problem(named, content))
    if finish == "error":
        return Verdict(finish, _BROKE_OFF)
    if _normalized_word(word) == _REFUSAL:
        return Verdict(finish, Problem("REFUSAL", refusal or content))
    if finish == "content_filter":
        return Verdict(finish, Problem("CONTENT_FILTER", content))
    codes: tuple[WarningCode, ...] = ("FINISH_UNKNOWN",) if finish == "unknown" else ()
    if refusal:
        return Verdict(finish, Problem("REFUSAL", refusal), codes=codes)
    if finish == "length":
        return Verdict(finish, Problem(named or "TRUNCATED"), _mark_cut_calls(calls))
    # In a complete reply the calls decide, not the finish reason: OpenAI itself documents calls that come
    # with ``stop``, and many servers send them so (opencode#20719, mlx-vlm#1014).
    if calls:
        # A server that saw only text is right to say stop: no warning for calls that we read from text.
        mismatch = finish != "tool_calls" and not calls[0].from_text
        return Verdict("tool_calls", None, calls, (*codes, "FINISH_MISMATCH") if mismatch else codes)
    if oddities and (finish == "tool_calls" or not content):
        custom = set(oddities) == {"UNSUPPORTED_CALL_TYPE"}
        return Verdict(
            finish, Problem("UNSUPPORTED_CALL_TYPE" if custom else "CALL_WITHOUT_NAME"), codes=codes
        )
    # "tool_calls" without a call is an empty turn (vllm#53255, mastra#14187): no results will come.
    if finish == "tool_calls":
        codes = (*codes, "FINISH_MISMATCH")
        finish = "stop"
    return Verdict(finish, None if content else Problem("EMPTY_RESPONSE"), codes=codes)


def _mark_cut_calls(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls of a truncated reply, whose error is truncation if their text stops in the middle.

    The model is told the cause, instead of searching for a syntax error that it did not make.
    """
    marked = list(calls)
    for place, call in enumerate(calls):
        if isinstance(error := call.arguments, ArgumentError):
            text: Json = call.original
            if error.code == "ARGUMENTS_NOT_OBJECT":
                # A server may encode the truncated text as a JSON string, which is then complete in itself.
                text = read(call.original).value_or(None)
            if isinstance(text, str) and is_cut(text):
                cut = ArgumentError("ARGUMENTS_TRUNCATED", error.detail)
                marked[place] = replace(call, arguments=cut)
    # The last may have been cut off before its arguments began.
    if marked and not marked[-1].original.strip():
        missing = ArgumentError("ARGUMENTS_TRUNCATED", "there are none yet")
        marked[-1] = replace(marked[-1], arguments=missing)
    return tuple(marked)
