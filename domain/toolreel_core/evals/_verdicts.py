"""Verdicts: the result of one run, and whether it is tried again.

A failed run is never retried, since that would inflate the pass rate; ``void`` runs, which say nothing about
the model, and those with an empty final text are, as in the reference harness. All attempts are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from toolreel_core._config_checks import unknown_name_message
from toolreel_core._jsontext import Json, as_tree, read_json, tree_at
from toolreel_core._protocol import Completed, InvalidReply, ToolFailed, TransportFailed
from toolreel_core._replies import problem_from_error_field, top_level_error
from toolreel_core.evals._scenarios.scenario import Case, Evidence

TAXONOMY = 1
"""Version of the categories, stored with results."""


@dataclass(frozen=True, slots=True)
class Category:
    """One reason why a run does not pass."""

    name: str
    """Such as ``loop.max_turns``; for a check, ``task.outcome`` or ``task.exercise``, to which records
    add the check, as in ``task.outcome:draft``."""
    alias: str
    result: Literal["fail", "pass_unexercised", "unsupported", "void"]
    about: str


_TABLE = """
transport.auth             AUTH                  void         the key was not accepted
transport.payment          PAYMENT_REQUIRED      void         the account has no credit
transport.forbidden        FORBIDDEN             void         the account may not use this model
transport.not_found        NOT_FOUND             void         there is no such model or endpoint
transport.conflict         CONFLICT              void         the server reported a conflict
transport.request_too_large REQUEST_TOO_LARGE     void         the first request was too large
transport.unprocessable    UNPROCESSABLE         void         the first request was not understood
transport.rate_limit       RATE_LIMIT            void         too many requests
transport.timeout          TIMEOUT               void         no answer in time
transport.connection       CONNECTION_ERROR      void         no connection
transport.upstream_5xx     UPSTREAM_5XX          void         the server failed
transport.decode           DECODE_ERROR          void         the answer broke off, or was too large
transport.status           HTTP_n                void         another HTTP error status
wire.invalid_body          DECODE_ERROR          void         the answer was no chat completion
wire.provider_error        UPSTREAM_5XX          void         the answer was an error with a good status
wire.no_tool_use_endpoint  NO_TOOL_USE_ENDPOINT  unsupported  the server takes no tools
wire.history_refused       UNPROCESSABLE         fail         the server refused what the run had sent it
wire.malformed_call        NO_TOOL_CALLS         fail         the model's call could not be read
wire.empty_response        EMPTY_ASSISTANT_TEXT  fail         the model said nothing at the end
loop.tools_off             ASSERTION_FAILED      unsupported  the run was configured to send no tools
loop.no_tool_calls         NO_TOOL_CALLS         fail         the model called no tool where it had to
loop.tool_error            TOOL_ERROR            fail         tools failed, against the run's policy
loop.max_turns             EXCEPTION             fail         the model still called tools in its last turn
loop.repeated_call         EXCEPTION             fail         the model made the same call again and again
loop.truncated             ASSERTION_FAILED      fail         a reply was cut at the token limit
loop.refused               ASSERTION_FAILED      fail         the model refused
loop.content_filter        ASSERTION_FAILED      fail         the provider's filter took the reply
loop.context_overflow      REQUEST_TOO_LARGE     fail         the conversation outgrew the window
loop.budget                EXCEPTION             void         the run's budget was used up
loop.transform_failed      EXCEPTION             void         a transform of the caller's own failed
loop.cancelled             EXCEPTION             void         the run was stopped
task.outcome               ASSERTION_FAILED      fail         the task was not done
task.exercise              -                     pass_unexercised  the task was done without its hard part
"""
"""Name, alias (``-``: none), result and meaning of each category."""

CATEGORIES: Mapping[str, Category] = {
    name: Category(name, alias.strip("-"), cast("Any", result), about)
    for name, alias, result, about in (line.split(maxsplit=3) for line in _TABLE.strip().splitlines())
}
"""What a trial may have ended as, by name."""

_CAUSES = """
transport.auth 401
transport.payment 402
transport.forbidden 403
transport.not_found 404
transport.timeout 408 timeout
transport.conflict 409
transport.request_too_large 413
transport.unprocessable 422
transport.rate_limit 429 RATE_LIMITED
transport.upstream_5xx 5xx
transport.connection connect
transport.decode broken too_large
wire.provider_error PROVIDER_ERROR
wire.invalid_body INVALID_BODY NO_CHOICES NO_MESSAGE
wire.malformed_call CALL_WITHOUT_NAME UNSUPPORTED_CALL_TYPE MALFORMED_FUNCTION_CALL
wire.empty_response EMPTY_RESPONSE
loop.truncated TRUNCATED
loop.context_overflow CONTEXT_OVERFLOW
loop.refused REFUSAL
loop.content_filter CONTENT_FILTER
"""
_BY_CAUSE = {
    cause: name for name, *causes in map(str.split, _CAUSES.strip().splitlines()) for cause in causes
}
"""The category of an HTTP status, a failure on the wire, or a problem of a reply."""


def category(name: str) -> Category:
    """The category that a record names; what follows a colon is the check."""
    bare = name.partition(":")[0]
    if bare not in CATEGORIES:
        raise LookupError(unknown_name_message("category", bare, CATEGORIES))
    return CATEGORIES[bare]


def category_of_status(status: int | None) -> str:
    """The category of an HTTP error status."""
    cause = "5xx" if status and 500 <= status < 600 else str(status)
    return _BY_CAUSE.get(cause, "transport.status")


def harness_name_of_category(name: str, status: int | None = None) -> str:
    """What the reference would call it."""
    if not name:
        return ""
    known = category(category_of_status(status) if name == "wire.history_refused" else name)
    if known.name != "transport.status":
        return known.alias
    return "EXCEPTION" if status is None else f"HTTP_{status}"


def provider_error_message(body: Json) -> str:
    """``provider: message``, with what is missing left out; empty if nothing is said. Never raises.

    :param body: the body of an error response: parsed, or as text
    """
    metadata = tree_at(as_tree(_parse_json_text(body)), "error", "metadata")
    name, raw = metadata.get("provider_name"), metadata.get("raw")
    inner = as_tree(_parse_json_text(raw))
    problem = problem_from_error_field(inner) or top_level_error(inner)
    words = (name, problem.detail if problem else raw)
    return ": ".join(word.strip() for word in words if isinstance(word, str) and word.strip())


def _parse_json_text(value: Json) -> Json:
    return read_json(value).value_or(value) if isinstance(value, str) else value


Result: TypeAlias = Literal["pass", "pass_unexercised", "fail", "unsupported", "void"]
"""``pass_unexercised``: right, but the hard part was skipped; ``unsupported``: the model or its route does
without tools, shown as coverage and never a pass; ``void``: the provider or a budget failed, and not the
model."""

# Bad request, too large, unprocessable: statuses about the body itself, unlike 401 or 429.
_REFUSALS_OF_A_REQUEST = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement about one run."""

    result: Result
    category: str = ""
    """A category of the failure taxonomy, such as ``loop.max_turns``; empty for a pass."""
    reasons: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether it counts in a rate."""
        return self.result in {"pass", "pass_unexercised", "fail"}


_ENDINGS_TEXT = """
invalid_output       task.outcome:output        {0.error}
empty_final          wire.empty_response        the last reply was empty
max_turns            loop.max_turns             no answer after {0.limit} turns
no_tool_calls        loop.no_tool_calls         no tool was called
repeated_call        loop.repeated_call         {0.tool} was called {0.times} times alike
budget               loop.budget                {0.kind}: {0.used:g} of {0.limit:g}
conversation_budget  loop.budget                {0.kind}: {0.used:g} of {0.limit:g} for the conversation
cost_unknown         loop.budget  the cost of {0.replies} replies is unknown, and {0.limit:g} is the limit
context_overflow     loop.context_overflow      about {0.estimate} tokens, and {0.limit} would fit
capability           wire.no_tool_use_endpoint  {0.message}
truncated            loop.truncated             the last reply was cut at the token limit
refused              loop.refused               {0.reason}
content_filter       loop.content_filter        {0.reason}
transform_failed     loop.transform_failed      {0.message}
cancelled            loop.cancelled             {0.reason}
"""
_ENDINGS = {
    name: (ending, reason)
    for name, ending, reason in (line.split(maxsplit=2) for line in _ENDINGS_TEXT.strip().splitlines())
}
"""Outcomes that decide by themselves, by name: category, and reason."""


def judge(case: Case, seen: Evidence, *, control: bool = False) -> Verdict:
    """The verdict about one run, by the first thing that ended it.

    :param control: whether its scenario is a plain conversation without tools
    """
    # Before the outcome: a run that went on without tools can complete, and even pass its checks.
    if not control and seen.tools_refused:
        return _failed_verdict(
            "wire.no_tool_use_endpoint", "the server refused tools, and the run did without"
        )
    if not control and not seen.tools_sent:
        return _failed_verdict("loop.tools_off", "the model was told of no tools")
    match seen.outcome:
        case Completed():
            return _verdict_by_checks(case, seen)
        case ToolFailed(tools):
            return _failed_verdict("loop.tool_error", f"the last result is a failure of {', '.join(tools)}")
        case InvalidReply(problem, detail):
            return _failed_verdict(_BY_CAUSE[problem], problem, detail)
        case TransportFailed(failure=failure, status=status, message=message):
            # The first request was accepted, so this one is refused because of the history in it. Workarounds
            # prevent that, so it counts against the strategy.
            later = bool(seen.turns) and status in _REFUSALS_OF_A_REQUEST
            of_status = "wire.history_refused" if later else category_of_status(status)
            return _failed_verdict(_BY_CAUSE.get(failure, of_status), message)
        case ended:
            name, reason = _ENDINGS[ended.name]
            return _failed_verdict(name, reason.format(ended))


def _verdict_by_checks(case: Case, seen: Evidence) -> Verdict:
    for layer in ("outcome", "exercise"):
        found = {check.name: check.finding(seen) for check in case.checks if check.layer == layer}
        reasons = [*filter(None, found.values())]
        # A cut reply explains why a task was not done, and is a better category than the check.
        if layer == "outcome" and reasons and any(turn.finish == "length" for turn in seen.turns):
            return _failed_verdict("loop.truncated", "a reply was cut at the token limit", *reasons)
        if reasons:
            return _failed_verdict(f"task.{layer}:{next(name for name in found if found[name])}", *reasons)
    return Verdict("pass")


def _failed_verdict(name: str, *reasons: str) -> Verdict:
    return Verdict(category(name).result, name, tuple(filter(None, reasons)))


_TRANSIENT = tuple(
    f"transport.{kind}" for kind in ("rate_limit", "timeout", "connection", "upstream_5xx", "decode")
)
"""Failures that may pass; a wrong key or an empty account does not."""

_SILENT = ("task.outcome", "loop.no_tool_calls", "wire.empty_response")
"""Categories of a run that ended without a text and without another explanation."""


def retry_reason(verdict: Verdict, final: str) -> Literal["", "empty", "void"]:
    """Why a run may be tried again: it was void, or ended in an empty text; empty if it may not."""
    if verdict.result == "void" and verdict.category in _TRANSIENT:
        return "void"
    silent = not final.strip() and verdict.category.startswith(_SILENT)
    return "empty" if verdict.result == "fail" and silent else ""


def retry_delay_ms(failures: int, retry_after_ms: int | None) -> int:
    """Milliseconds before a retry: exponential backoff, at least ``Retry-After``, at most a minute."""
    return min(60_000, max(1_000 << (failures - 1), retry_after_ms or 0))
