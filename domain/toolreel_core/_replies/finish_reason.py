"""Finish reasons of many providers, mapped to one set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext.canonical import Json

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "error", "unknown"]

FinishProblem: TypeAlias = Literal["MALFORMED_FUNCTION_CALL", "CONTEXT_OVERFLOW"]
"""Problems that some finish reasons report in addition to their :data:`Finish`."""

# OpenAI's words first, then Anthropic's, Gemini's, GLM's ("sensitive"), DeepSeek's
# ("insufficient_system_resource") and those of local servers.
_FINISH: Final[Mapping[str, Finish]] = {
    **dict.fromkeys(("stop", "end_turn", "eos", "eos_token", "stop_sequence", "completed"), "stop"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), "tool_calls"),
    **dict.fromkeys(("length", "max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("content_filter", "sensitive", "safety"), "content_filter"),
    **dict.fromkeys(("error", "network_error", "abort", "insufficient_system_resource"), "error"),
}
_MALFORMED: Final = "malformed_function_call"
"""Gemini's word, which its compatible endpoint gives as ``function_call_filter: MALFORMED_FUNCTION_CALL``."""
_OVERFLOW: Final = "model_context_window_exceeded"


def finish_of(word: Json) -> Finish:
    """The finish reason that a provider's word means; letter case is ignored.

    >>> finish_of("STOP"), finish_of("end_turn"), finish_of("because"), finish_of(None)
    ('stop', 'stop', 'unknown', 'unknown')
    """
    plain = _plain(word)
    return "error" if _MALFORMED in plain else _FINISH.get(plain, "unknown")


def problem_of(word: Json) -> FinishProblem | None:
    """The problem that a finish reason reports, if it reports one.

    >>> problem_of("MALFORMED_FUNCTION_CALL")
    'MALFORMED_FUNCTION_CALL'
    """
    plain = _plain(word)
    if _MALFORMED in plain:
        return "MALFORMED_FUNCTION_CALL"
    return "CONTEXT_OVERFLOW" if plain == _OVERFLOW else None


def says_what_went_wrong(word: Json) -> bool:
    """Whether a finish reason alone explains why there is no message.

    >>> says_what_went_wrong("content_filter"), says_what_went_wrong("stop")
    (True, False)
    """
    return finish_of(word) in {"length", "content_filter", "error"}


def _plain(word: Json) -> str:
    return word.strip().lower() if isinstance(word, str) else ""
