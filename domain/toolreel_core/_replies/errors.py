"""What a provider says went wrong, in whichever shape it says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext.canonical import Json, canonical, finite, read

__all__ = [
    "PROBLEM_WORDS",
    "STREAM_CUT",
    "Problem",
    "ProblemCode",
    "bare_error",
    "error_in",
    "failed_generation",
    "in_list",
]

ProblemCode: TypeAlias = Literal[
    "PROVIDER_ERROR",
    "RATE_LIMITED",
    "INVALID_BODY",
    "NO_CHOICES",
    "NO_MESSAGE",
    "CONTENT_FILTER",
    "REFUSAL",
    "TRUNCATED",
    "CONTEXT_OVERFLOW",
    "EMPTY_RESPONSE",
    "CALL_WITHOUT_NAME",
    "UNSUPPORTED_CALL_TYPE",
    "MALFORMED_FUNCTION_CALL",
]

PROBLEM_WORDS: Final[Mapping[ProblemCode, str]] = {
    "PROVIDER_ERROR": "The provider reports an error; no call is run.",
    "RATE_LIMITED": "The provider asks for fewer requests; the same request may work later.",
    "INVALID_BODY": "The body is no JSON object; nothing was read.",
    "NO_CHOICES": "The body has no choices; nothing was read.",
    "NO_MESSAGE": "The first choice has no message that could be used; nothing was read.",
    "CONTENT_FILTER": "The provider has filtered the reply or the prompt; no call is run.",
    "REFUSAL": "The model refuses; no call is run.",
    "TRUNCATED": "The reply was cut at the limit of output tokens; no call is run.",
    "CONTEXT_OVERFLOW": "The reply was cut at the end of the model's context window; no call is run.",
    "EMPTY_RESPONSE": "The reply holds neither a call nor text.",
    "CALL_WITHOUT_NAME": "The reply holds only calls without a name; none is run.",
    "UNSUPPORTED_CALL_TYPE": "The reply holds only calls of the type custom; none is run.",
    "MALFORMED_FUNCTION_CALL": "The provider says that the model's call is malformed; none is run.",
}
"""Each code in words: what it means, and what comes of it."""

STREAM_CUT: Final = "stream_cut"
"""The code of the error that stands for a stream which was cut."""

_TOO_MANY_REQUESTS: Final = "429"
_PASSING: Final = frozenset({"408", _TOO_MANY_REQUESTS, *map(str, range(500, 600)), STREAM_CUT})
"""Codes inside an error object, as text, that say: try again."""
_RATE_LIMITS: Final = frozenset({_TOO_MANY_REQUESTS, "rate_limit_exceeded", "rate_limit_error"})
_STATUSES: Final = ("code", "status", "status_code", "statusCode", "error_code", "type")
_WORDS: Final = ("message", "detail", "msg", "error_msg", "error_message", "title")
_INSIDE: Final = ("error", "detail")
"""Where an error object holds the one that it passes on."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a reply as a whole."""

    code: ProblemCode
    detail: str = ""
    """The provider's own words, or what was found."""
    passing: bool = False
    """Whether the same request may work in a moment."""


def error_in(holder: Mapping[str, Json]) -> Problem | None:
    """The error that a body or a choice reports in its ``error``; an empty one reports nothing.

    >>> error_in({"error": {"code": 429, "message": "Slow down."}})
    Problem(code='RATE_LIMITED', detail='Slow down.', passing=True)
    """
    error = holder.get("error")
    if not error and holder.get("object") != "error":
        return None
    return _problem(error or holder, holder)


def in_list(items: Sequence[Json]) -> Problem | None:
    """The error of a body that is a list of errors, as Gemini's compatible endpoint sends it."""
    for item in items:
        if isinstance(item, Mapping) and (problem := error_in(item) or bare_error(item)):
            return problem
    return None


def bare_error(body: Mapping[str, Json]) -> Problem | None:
    """The error that a body without choices reports without calling it one.

    >>> bare_error({"message": "Unauthorized"})
    Problem(code='PROVIDER_ERROR', detail='Unauthorized', passing=False)
    """
    errors = body.get("errors")
    if errors and not isinstance(errors, bool):
        first = errors if isinstance(errors, str) or not isinstance(errors, Sequence) else errors[0]
        return _problem(first, body)
    named = body.get("object") == "error" or body.get("type") == "error"
    worded = body.get("detail") or any(isinstance(body.get(key), str) and body[key] for key in _WORDS)
    return _problem(body, body) if named or worded else None


def failed_generation(body: str) -> str | None:
    """The text that a model has written although the server refused it as a tool call.

    Groq answers 400 with ``tool_use_failed`` (pydantic/pydantic-ai#2774): a turn of the model, and no
    failure of the transport.

    >>> failed_generation('{"error": {"code": "tool_use_failed", "failed_generation": "<tool_call>"}}')
    '<tool_call>'
    """
    tree = read(body).value_or(None)
    error = tree.get("error") if isinstance(tree, Mapping) else None
    text = error.get("failed_generation") if isinstance(error, Mapping) else None
    return text if isinstance(text, str) else None


def _problem(error: Json, holder: Mapping[str, Json]) -> Problem:
    """An error object; one that is only text or ``true`` is told more of by what stands beside it."""
    places = [*_layers(error), *_layers(holder)]
    said = (place.get(key) for place in places for key in _STATUSES)
    statuses = [str(status) for status in said if isinstance(status, str | int)]
    limited = not _RATE_LIMITS.isdisjoint(statuses)
    passing = limited or not _PASSING.isdisjoint(statuses)
    return Problem("RATE_LIMITED" if limited else "PROVIDER_ERROR", _detail(error, holder), passing)


def _detail(error: Json, holder: Mapping[str, Json]) -> str:
    if isinstance(error, str):
        return error
    told = error if isinstance(error, Mapping) else holder
    words = (told.get(key) for key in _WORDS)
    found = next((text for text in words if isinstance(text, str) and text), None)
    return found or canonical(finite(error))


def _layers(error: Json) -> Iterator[Mapping[str, Json]]:
    """An error object, then those that it passes on, the first of each list."""
    if isinstance(error, Sequence) and not isinstance(error, str):
        yield from (layer for item in error[:1] for layer in _layers(item))
    if isinstance(error, Mapping):
        yield error
        yield from (layer for key in _INSIDE for layer in _layers(error.get(key)))
