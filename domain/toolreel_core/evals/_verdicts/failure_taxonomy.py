"""The failure taxonomy: why a run is no pass, as a closed set of exclusive categories; and router hints.

The version is increased whenever a category changes its meaning, or one is added that older runs would have
been in, so that records of different versions are not mixed up. Names and texts of the categories appear in
records and reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Json, Tree, read

TAXONOMY: Final = 1
"""Version of the categories."""

Family: TypeAlias = Literal["transport", "wire", "loop", "task"]
"""Where a run ended: on the way to the provider, at what came back, in the loop, with a wrong answer, or with
the failure of a model other than the measured one."""


@dataclass(frozen=True, slots=True)
class Category:
    """One reason why a run does not pass."""

    name: str
    """Such as ``loop.max_turns``; for a check, ``task.outcome`` or ``task.exercise``, to which records
    add the check, as in ``task.outcome:draft``."""
    alias: str
    """What the reference calls it, or would."""
    result: Literal["fail", "pass_unexercised", "unsupported", "void"]
    """What it makes of a run."""
    about: str

    @property
    def family(self) -> str:
        """The first part of its name, a :data:`Family`."""
        return self.name.partition(".")[0]


_ANY_STATUS: Final = "HTTP_n"

_ALL: Final = (
    Category("transport.auth", "AUTH", "void", "the key was not accepted"),
    Category("transport.payment", "PAYMENT_REQUIRED", "void", "the account has no credit"),
    Category("transport.forbidden", "FORBIDDEN", "void", "the account may not use this model"),
    Category("transport.not_found", "NOT_FOUND", "void", "there is no such model or endpoint"),
    Category("transport.conflict", "CONFLICT", "void", "the server reported a conflict"),
    Category("transport.request_too_large", "REQUEST_TOO_LARGE", "void", "the first request was too large"),
    Category("transport.unprocessable", "UNPROCESSABLE", "void", "the first request was not understood"),
    Category("transport.rate_limit", "RATE_LIMIT", "void", "too many requests"),
    Category("transport.timeout", "TIMEOUT", "void", "no answer in time"),
    Category("transport.connection", "CONNECTION_ERROR", "void", "no connection"),
    Category("transport.upstream_5xx", "UPSTREAM_5XX", "void", "the server failed"),
    Category("transport.decode", "DECODE_ERROR", "void", "the answer broke off, or was too large"),
    Category("transport.status", _ANY_STATUS, "void", "another HTTP error status"),
    Category("wire.invalid_body", "DECODE_ERROR", "void", "the answer was no chat completion"),
    Category("wire.provider_error", "UPSTREAM_5XX", "void", "the answer was an error with a good status"),
    Category("wire.no_tool_use_endpoint", "NO_TOOL_USE_ENDPOINT", "unsupported", "the server takes no tools"),
    Category("wire.history_refused", "UNPROCESSABLE", "fail", "the server refused what the run had sent it"),
    Category("wire.malformed_call", "NO_TOOL_CALLS", "fail", "the model's call could not be read"),
    Category("wire.empty_response", "EMPTY_ASSISTANT_TEXT", "fail", "the model said nothing at the end"),
    Category("loop.tools_off", "ASSERTION_FAILED", "unsupported", "the run was configured to send no tools"),
    Category("loop.no_tool_calls", "NO_TOOL_CALLS", "fail", "the model called no tool where it had to"),
    Category("loop.tool_error", "TOOL_ERROR", "fail", "tools failed, against the run's policy"),
    Category("loop.max_turns", "EXCEPTION", "fail", "the model still called tools in its last turn"),
    Category("loop.repeated_call", "EXCEPTION", "fail", "the model made the same call again and again"),
    Category("loop.truncated", "ASSERTION_FAILED", "fail", "a reply was cut at the token limit"),
    Category("loop.refused", "ASSERTION_FAILED", "fail", "the model refused"),
    Category("loop.content_filter", "ASSERTION_FAILED", "fail", "the provider's filter took the reply"),
    Category("loop.context_overflow", "REQUEST_TOO_LARGE", "fail", "the conversation outgrew the window"),
    Category("loop.budget", "EXCEPTION", "void", "the run's budget was used up"),
    Category("loop.transform_failed", "EXCEPTION", "void", "a transform of the caller's own failed"),
    Category("loop.cancelled", "EXCEPTION", "void", "the run was stopped"),
    Category("task.outcome", "ASSERTION_FAILED", "fail", "the task was not done"),
    Category("task.exercise", "", "pass_unexercised", "the task was done without its hard part"),
)

CATEGORIES: Final[Mapping[str, Category]] = {one.name: one for one in _ALL}
"""All of them, by name, in the order of their families."""

_STATUSES: Final[Mapping[int, str]] = {
    401: "transport.auth",
    402: "transport.payment",
    403: "transport.forbidden",
    404: "transport.not_found",
    408: "transport.timeout",
    409: "transport.conflict",
    413: "transport.request_too_large",
    422: "transport.unprocessable",
    429: "transport.rate_limit",
    **dict.fromkeys(range(500, 600), "transport.upstream_5xx"),
}


def category(name: str) -> Category:
    """The category that a record names; what follows a colon is the check.

    >>> category("task.outcome:draft").result
    'fail'

    :raises LookupError: if there is none of that name
    """
    bare = name.partition(":")[0]
    if bare not in CATEGORIES:
        raise LookupError(unknown_name("category", bare, CATEGORIES))
    return CATEGORIES[bare]


def of_status(status: int | None) -> str:
    """The category of an HTTP error status.

    >>> of_status(429), of_status(418), of_status(None)
    ('transport.rate_limit', 'transport.status', 'transport.status')
    """
    return _STATUSES.get(status or 0, "transport.status")


def alias_of(name: str, status: int | None = None) -> str:
    """What the reference would call it.

    >>> alias_of("transport.status", 418), alias_of("wire.history_refused", 400), alias_of("")
    ('HTTP_418', 'HTTP_400', '')

    """
    if not name:
        return ""
    known = category(name)
    if known.name == "wire.history_refused":
        known = CATEGORIES[of_status(status)]
    if known.alias != _ANY_STATUS:
        return known.alias
    return "EXCEPTION" if status is None else f"HTTP_{status}"


def provider_hint(body: Json) -> str:
    """``provider: message``, with what is missing left out; empty if nothing is said. Never raises.

    >>> raw = '{"error": {"message": "No such model."}}'
    >>> provider_hint({"error": {"metadata": {"provider_name": "Acme", "raw": raw}}})
    'Acme: No such model.'

    :param body: the body of an error response: parsed, or as text
    """
    tree = _parsed(body)
    metadata = _tree(_tree(_tree(tree).get("error")).get("metadata"))
    name = metadata.get("provider_name")
    parts = (name.strip() if isinstance(name, str) else "", _message(metadata.get("raw")).strip())
    return ": ".join(part for part in parts if part)


def _message(raw: Json) -> str:
    if not isinstance(raw, str):
        return _said(raw)
    return _said(_parsed(raw)) or raw


def _said(value: Json) -> str:
    """What an error object, the first of a list or a text says."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return _said(next((item for item in value if isinstance(item, Mapping)), None))
    tree = _tree(value)
    error = tree.get("error")
    words = (_tree(error).get("message"), tree.get("message"), error)
    return next((word for word in words if isinstance(word, str) and word), "")


def _parsed(value: Json) -> Json:
    return read(value).value_or(value) if isinstance(value, str) else value


def _tree(value: Json) -> Tree:
    return value if isinstance(value, Mapping) else {}
