"""Provider errors in every known shape, read into one :class:`Problem`, and finish reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core._jsontext import (
    Json,
    Tree,
    as_list,
    as_tree,
    canonical,
    read_json,
    tree_at,
    without_non_finite_numbers,
)

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

PROBLEM_WORDS: Mapping[ProblemCode, str] = {
    "PROVIDER_ERROR": "The provider reports an error; no call is run.",
    "RATE_LIMITED": "The provider asks for fewer requests; the same request may work later.",
    "INVALID_BODY": "The body is not a JSON object; nothing was read.",
    "NO_CHOICES": "The body has no choices; nothing was read.",
    "NO_MESSAGE": "The first choice has no usable message; nothing was read.",
    "CONTENT_FILTER": "The provider has filtered the reply or the prompt; no call is run.",
    "REFUSAL": "The model refuses; no call is run.",
    "TRUNCATED": "The reply was truncated at the output token limit; no call is run.",
    "CONTEXT_OVERFLOW": "The reply was truncated at the end of the context window; no call is run.",
    "EMPTY_RESPONSE": "The reply has neither a call nor text.",
    "CALL_WITHOUT_NAME": "The reply has only calls without a name; none is run.",
    "UNSUPPORTED_CALL_TYPE": "The reply has only calls of the type custom; none is run.",
    "MALFORMED_FUNCTION_CALL": "The reply is, or looks like, a call that cannot be read; no call is run.",
}
"""What each code means and what follows from it, as a sentence for users."""

STREAM_CUT = "stream_cut"
"""Code of our own error object for a truncated stream, in the place of the provider's."""

_TOO_MANY_REQUESTS = "429"
_PASSING = frozenset({"408", _TOO_MANY_REQUESTS, *map(str, range(500, 600)), STREAM_CUT})
"""Retryable codes inside an error object, as text: the same as for HTTP statuses.

OpenRouter and others answer 200 with the status in the body (pydantic-ai#3994): the inner code decides.
"""
_RATE_LIMITS = frozenset({_TOO_MANY_REQUESTS, "rate_limit_exceeded", "rate_limit_error"})
_PASSING_WORDS = frozenset({"overloaded_error", "api_error", "server_error", "timeout_error"})
"""Retryable where no number says more: Anthropic and OpenAI's Responses name the kind of an error alone."""
_SPENT = frozenset(
    {"insufficient_quota", "exceeded_current_quota_error", "billing_hard_limit_reached", "billing_not_active"}
)
"""Codes and types of an account without money; OpenAI and Moonshot send them with 429, but no wait helps."""
_STATUSES = ("code", "status", "status_code", "statusCode", "error_code", "type")
_WORDS = ("message", "detail", "msg", "error_msg", "error_message", "title")
"""Keys of the text of an error; ``error_message`` next to null choices: NousResearch/hermes-agent#65738."""
_INSIDE = ("error", "detail")
"""Keys under which a gateway nests the error of its upstream."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem with a reply as a whole: a code, details, and whether a retry may help."""

    code: ProblemCode
    detail: str = ""
    """The provider's message, or what was found instead of a reply."""
    passing: bool = False
    """Whether the same request may work later (retryable)."""


def problem_from_error_field(holder: Tree) -> Problem | None:
    error = holder.get("error")
    if not error and holder.get("object") != "error":
        return None
    return _problem_of_error(error or holder, holder)


def problem_in_list(items: Sequence[Json]) -> Problem | None:
    """The error of a body that is a list of errors, as Gemini's compatible endpoint sends it."""
    for item in items:
        if isinstance(item, Mapping) and (problem := problem_from_error_field(item) or top_level_error(item)):
            return problem
    return None


def top_level_error(body: Tree) -> Problem | None:
    errors = body.get("errors")
    if errors and not isinstance(errors, bool):
        first = errors if isinstance(errors, str) or not isinstance(errors, Sequence) else errors[0]
        return _problem_of_error(first, body)
    named = body.get("object") == "error" or body.get("type") == "error"
    worded = body.get("detail") or any(isinstance(body.get(key), str) and body[key] for key in _WORDS)
    return _problem_of_error(body, body) if named or worded else None


_HEAD = 4_096
"""Characters of a page in which its title is looked for."""


_TAGS = ("<html", "<head", "<body", "<title", "<h1", "<p>")
"""Tags that tell HTML without a doctype from other text that begins with ``<``, such as XML."""


def html_page_description(text: str) -> str:
    """A description of a body that is an HTML page, with its title; empty for any other body.

    Gateways, login pages and web servers at a wrong URL send them, at any status.

    >>> html_page_description("<!doctype html><html><head><title>502 Bad Gateway</title></head></html>")
    'an HTML page, "502 Bad Gateway"'
    """
    head = text[:_HEAD].lstrip()
    # Plain lower() may make a text longer.
    lower = head.encode("ascii", "replace").decode().lower()
    if not (lower.startswith("<!doctype html") or (lower.startswith("<") and any(map(lower.count, _TAGS)))):
        return ""
    after = lower.partition("<title")[2].partition(">")[2]
    title = head[len(head) - len(after) :].partition("<")[0] if after else ""
    shown = " ".join(title.split())[:80]
    return f'an HTML page, "{shown}"' if shown else "an HTML page"


def is_out_of_quota(body: str) -> bool:
    """Whether an error body says that the account has no money left, so that no wait helps."""
    return not _SPENT.isdisjoint(_status_words(_nested_errors(read_json(body).value_or(""))))


def failed_generation_text(body: str) -> str | None:
    """The text of a tool call that the model wrote and the server rejected."""
    # Groq answers 400 with ``tool_use_failed`` (pydantic/pydantic-ai#2774). This is a turn of the model, not
    # a failure of the transport, so retrying the same request would only cost another turn.
    text = tree_at(as_tree(read_json(body).value_or("")), "error").get("failed_generation")
    return text if isinstance(text, str) else None


def _problem_of_error(error: Json, holder: Tree) -> Problem:
    """Read an error object; if it is only text or ``true``, the fields next to it say more."""
    places = [*_nested_errors(error), *_nested_errors(holder)]
    statuses = _status_words(places)
    if not _SPENT.isdisjoint(statuses):
        return Problem("PROVIDER_ERROR", _error_text(error, holder))
    limited = not _RATE_LIMITS.isdisjoint(statuses)
    numbered = any(status.isdecimal() for status in statuses)
    passing = limited or not _PASSING.isdisjoint(statuses)
    passing = passing or not (numbered or _PASSING_WORDS.isdisjoint(statuses))
    return Problem("RATE_LIMITED" if limited else "PROVIDER_ERROR", _error_text(error, holder), passing)


def _status_words(places: Iterable[Tree]) -> list[str]:
    found = (place.get(key) for place in places for key in _STATUSES)
    return [str(status) for status in found if isinstance(status, str | int)]


def _error_text(error: Json, holder: Tree) -> str:
    if isinstance(error, str):
        return error
    described = error if isinstance(error, Mapping) else holder
    words = (described.get(key) for key in _WORDS)
    found = next((text for text in words if isinstance(text, str) and text), None)
    return found or canonical(without_non_finite_numbers(error))


def _nested_errors(error: Json) -> Iterator[Tree]:
    (first, *_) = as_list(error) or (None,)
    if isinstance(first, Mapping):
        yield first
        yield from (layer for key in _INSIDE for layer in _nested_errors(first.get(key)))


FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "error", "unknown"]

# OpenAI's words first, then Anthropic's, Gemini's, Bedrock's and Cohere's (mozilla-ai/any-llm#1202), GLM's
# ("sensitive"), DeepSeek's ("insufficient_system_resource") and those of local servers.
_FINISH_WORDS: Mapping[FinishReason, str] = {
    "stop": "stop end_turn eos eos_token stop_sequence completed",
    "tool_calls": "tool_calls function_call tool_use",
    "length": "length max_tokens max_output_tokens model_length model_context_window_exceeded",
    "content_filter": """content_filter content_filtered contentfilter sensitive safety refusal recitation
        prohibited_content blocklist spii image_safety image_recitation image_prohibited_content model_armor
        guardrail_intervened guardrail guardrails moderation policy_violation error_toxic blocked""",
    "error": """error network_error internal_error server_error insufficient_system_resource abort aborted
        cancel cancelled canceled interrupted timeout timed_out time_limit expired failed""",
}
_FINISH: Mapping[str, FinishReason] = {
    word: finish for finish, words in _FINISH_WORDS.items() for word in words.split()
}
MALFORMED = "malformed_function_call"
"""Gemini's word, which its compatible endpoint gives as ``function_call_filter: MALFORMED_FUNCTION_CALL``."""
REFUSED = "refusal"
"""Anthropic's word, which gateways pass on in other forms too."""
_PREFIXES = ("finish_reason_", "finishreason.", "stop_reason_", "stopreason.")
"""What the names of enumerations put before a word."""
OVERFLOW = "model_context_window_exceeded"
"""Anthropic's word for a reply that filled the context window, which is a ``length`` as well."""


def finish_reason_of_word(word: Json) -> FinishReason:
    """The finish reason that a provider's word means; letter case is ignored."""
    plain = normalized_word(word)
    return "error" if MALFORMED in plain else _FINISH.get(plain, "unknown")


def normalized_word(word: Json) -> str:
    """A word in lower case, with underscores and without the name of its enumeration."""
    if not isinstance(word, str):
        return ""
    if word in _FINISH:  # nearly every reply
        return word
    plain = word.strip().lower().replace("-", "_").replace(" ", "_")
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return plain
