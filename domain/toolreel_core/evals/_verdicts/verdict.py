"""Verdicts: the result of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._protocol.outcome import (
    BudgetSpent,
    Cancelled,
    CapabilityRefused,
    Completed,
    ContentFiltered,
    ContextOverflow,
    ConversationSpent,
    CostUnknown,
    EmptyFinal,
    InvalidOutput,
    InvalidReply,
    MaxTurns,
    NoToolCalls,
    Refused,
    RepeatedCall,
    ToolFailed,
    TransformFailed,
    TransportFailed,
    Truncated,
)
from toolreel_core._replies.provider_errors import ProblemCode
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Case, Layer
from toolreel_core.evals._verdicts.failure_taxonomy import category, of_status

Result: TypeAlias = Literal["pass", "pass_unexercised", "fail", "unsupported", "void"]
"""``pass_unexercised``: right, but the hard part was skipped; ``unsupported``: the model or its route does
without tools, shown as coverage and never a pass; ``void``: the provider or a budget failed, and not the
model."""

_REFUSALS_OF_A_REQUEST: Final = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement about one run."""

    result: Result
    category: str = ""
    """A category of the failure taxonomy, such as ``loop.max_turns``; empty for a pass."""
    reasons: tuple[str, ...] = ()
    """In words for a person."""

    @property
    def valid(self) -> bool:
        """Whether it counts in a rate."""
        return self.result in {"pass", "pass_unexercised", "fail"}


def judge(case: Case, seen: Evidence, *, control: bool = False) -> Verdict:
    """The verdict about one run, by the first thing that ended it.

    :param control: whether its scenario is a plain conversation without tools
    """
    if not control and seen.tools_refused:
        return _because("wire.no_tool_use_endpoint", "the server refused tools, and the run did without")
    if not control and not seen.tools_sent:
        return _because("loop.tools_off", "the model was told of no tools")
    return _by_outcome(case, seen)


def _by_outcome(case: Case, seen: Evidence) -> Verdict:  # noqa: PLR0912 - one sentence an outcome
    outcome = seen.outcome
    match outcome:
        case Completed():
            return _by_checks(case, seen)
        case InvalidOutput():
            return _because("task.outcome:output", outcome.error)
        case EmptyFinal():
            return _because("wire.empty_response", "the last reply was empty")
        case MaxTurns():
            return _because("loop.max_turns", f"no answer after {outcome.limit} turns")
        case NoToolCalls():
            return _because("loop.no_tool_calls", "no tool was called")
        case ToolFailed():
            return _because("loop.tool_error", f"the last result is a failure of {', '.join(outcome.tools)}")
        case RepeatedCall():
            return _because("loop.repeated_call", f"{outcome.tool} was called {outcome.times} times alike")
        case BudgetSpent():
            return _because("loop.budget", f"{outcome.kind}: {outcome.used:g} of {outcome.limit:g}")
        case ConversationSpent():
            spent = f"{outcome.used:g} of {outcome.limit:g} for the conversation"
            return _because("loop.budget", f"{outcome.kind}: {spent}")
        case CostUnknown():
            unknown = f"the cost of {outcome.replies} replies is unknown"
            return _because("loop.budget", f"{unknown}, and {outcome.limit:g} is the limit")
        case ContextOverflow():
            why = f"about {outcome.estimate} tokens, and {outcome.limit} would fit"
            return _because("loop.context_overflow", why)
        case CapabilityRefused():
            return _because("wire.no_tool_use_endpoint", outcome.message)
        case Truncated():
            return _because("loop.truncated", "the last reply was cut at the token limit")
        case Refused():
            return _because("loop.refused", outcome.reason)
        case ContentFiltered():
            return _because("loop.content_filter", outcome.reason)
        case InvalidReply():
            return _because(_of_problem(outcome.problem), outcome.problem, outcome.detail)
        case TransportFailed():
            return _because(_of_transport(outcome, seen), outcome.message)
        case TransformFailed():
            return _because("loop.transform_failed", outcome.message)
        case Cancelled():
            return _because("loop.cancelled", outcome.reason)
        case _:
            assert_never(outcome)


def _by_checks(case: Case, seen: Evidence) -> Verdict:
    wrong = _findings(case, seen, "outcome")
    if wrong and any(turn.finish == "length" for turn in seen.turns):
        return _because("loop.truncated", "a reply was cut at the token limit", *wrong.values())
    if wrong:
        return _because(f"task.outcome:{next(iter(wrong))}", *wrong.values())
    skipped = _findings(case, seen, "exercise")
    if skipped:
        return _because(f"task.exercise:{next(iter(skipped))}", *skipped.values())
    return Verdict("pass")


def _findings(case: Case, seen: Evidence, layer: Layer) -> dict[str, str]:
    """What the checks of one layer find, by their names."""
    found = ((check.name, check.finding(seen)) for check in case.checks if check.layer == layer)
    return {name: finding for name, finding in found if finding}


def _because(name: str, *reasons: str) -> Verdict:
    return Verdict(category(name).result, name, tuple(filter(None, reasons)))


def _of_problem(problem: ProblemCode) -> str:
    match problem:
        case "RATE_LIMITED":
            return "transport.rate_limit"
        case "PROVIDER_ERROR":
            return "wire.provider_error"
        case "INVALID_BODY" | "NO_CHOICES" | "NO_MESSAGE":
            return "wire.invalid_body"
        case "CALL_WITHOUT_NAME" | "UNSUPPORTED_CALL_TYPE" | "MALFORMED_FUNCTION_CALL":
            return "wire.malformed_call"
        case "EMPTY_RESPONSE":
            return "wire.empty_response"
        case "TRUNCATED":
            return "loop.truncated"
        case "CONTEXT_OVERFLOW":
            return "loop.context_overflow"
        case "REFUSAL":
            return "loop.refused"
        case "CONTENT_FILTER":
            return "loop.content_filter"
        case _:
            assert_never(problem)


def _of_transport(failed: TransportFailed, seen: Evidence) -> str:
    match failed.failure:
        case "connect":
            return "transport.connection"
        case "timeout":
            return "transport.timeout"
        case "broken" | "too_large":
            return "transport.decode"
        case "status":
            # What was accepted once, and is refused with the history in it, is refused for the history's
            # sake: that is what workarounds are for, and so a matter of the strategy.
            later = bool(seen.turns) and failed.status in _REFUSALS_OF_A_REQUEST
            return "wire.history_refused" if later else of_status(failed.status)
        case _:
            assert_never(failed.failure)
