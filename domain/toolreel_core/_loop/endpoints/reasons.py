"""Which outcomes are an endpoint's fault, so that another one may do better."""

from __future__ import annotations

from typing import Final, assert_never

from toolreel_core._plan import FallbackReason, Plan
from toolreel_core._protocol import (
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
    Outcome,
    Refused,
    RepeatedCall,
    ToolFailed,
    TransformFailed,
    TransportFailed,
    Truncated,
)

_BY_STATUS: Final[dict[int, FallbackReason]] = {
    401: "denied",
    402: "denied",
    403: "denied",
    404: "not_found",
    408: "timeout",
    410: "not_found",
    429: "rate_limit",
}
_NO_REPLIES: Final = frozenset({"PROVIDER_ERROR", "INVALID_BODY", "NO_CHOICES", "NO_MESSAGE"})
"""Problems of a body with status 200 that has nothing of a model."""
_FORMS: Final = ("response_format", "json_schema", "structured_output")
"""Words in the messages with which servers reject the form of an answer, in lower case."""


def reason_of(outcome: Outcome, plan: Plan) -> FallbackReason | None:
    """The reason to go on at another endpoint; ``None`` if the outcome is not the endpoint's fault.

    :param plan: the plan at the endpoint
    """
    match outcome:
        case TransportFailed():
            return _of_failure(outcome, plan)
        case CapabilityRefused():
            return "capability"
        case EmptyFinal():
            return "empty"
        case InvalidReply():
            return _of_reply(outcome)
        case (
            Completed()
            | NoToolCalls()
            | ToolFailed()
            | RepeatedCall()
            | MaxTurns()
            | BudgetSpent()
            | ConversationSpent()
            | CostUnknown()
            | ContextOverflow()
            | Truncated()
            | Refused()
            | ContentFiltered()
            | InvalidOutput()
            | TransformFailed()
            | Cancelled()
        ):
            return None
        case _:
            assert_never(outcome)


def _of_failure(failed: TransportFailed, plan: Plan) -> FallbackReason | None:
    match failed.failure:
        case "connect" | "broken":
            return "connection"
        case "timeout":
            return "timeout"
        case "too_large":
            return None
        case "status":
            return _of_status(failed.status or 0, failed.message.lower(), plan)
        case _:
            assert_never(failed.failure)


def _of_status(status: int, message: str, plan: Plan) -> FallbackReason | None:
    """The reason for an HTTP status; a form that the plan asks for may be refused with several."""
    asks = plan.asked_by == "native" and status in {400, 422, 501}
    if asks and any(word in message for word in _FORMS):
        return "capability"
    return "server_error" if status >= 500 else _BY_STATUS.get(status)


def _of_reply(invalid: InvalidReply) -> FallbackReason | None:
    if invalid.problem == "RATE_LIMITED":
        return "rate_limit"
    return "server_error" if invalid.problem in _NO_REPLIES else None
