"""How a run can end: exactly one of these, none of them an exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolreel_core._replies.normalize import ProblemCode

__all__ = [
    "BudgetKind",
    "BudgetSpent",
    "Cancelled",
    "CapabilityRefused",
    "Completed",
    "ContentFiltered",
    "ContextOverflow",
    "EmptyFinal",
    "FailureKind",
    "InvalidReply",
    "MaxTurns",
    "NoToolCalls",
    "Outcome",
    "Refused",
    "RepeatedCall",
    "ToolFailed",
    "TransportFailed",
    "Truncated",
]

FailureKind: TypeAlias = Literal["connect", "timeout", "broken", "too_large", "status"]
"""``connect``: no connection; ``timeout``: no answer in time; ``broken``: the answer broke off
or was not HTTP; ``too_large``: over the cap on response bytes; ``status``: an HTTP error status."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The model gave a final answer."""

    name: ClassVar[str] = "completed"
    content: str


@dataclass(frozen=True, slots=True)
class EmptyFinal:
    """The model ended with neither text nor a call; never taken for success."""

    name: ClassVar[str] = "empty_final"


@dataclass(frozen=True, slots=True)
class MaxTurns:
    """The model still called tools in the last turn that it had."""

    name: ClassVar[str] = "max_turns"
    limit: int


@dataclass(frozen=True, slots=True)
class NoToolCalls:
    """An enforced run ended without a tool call."""

    name: ClassVar[str] = "no_tool_calls"
    content: str
    """What the model said instead."""


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """An enforced run ended with tools failed, against its policy."""

    name: ClassVar[str] = "tool_error"
    tools: tuple[str, ...]
    """Tools whose last result is a failure, in the order of their first call."""


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """The model made the same call again and again, and always got the same result."""

    name: ClassVar[str] = "repeated_call"
    tool: str
    times: int


BudgetKind: TypeAlias = Literal["tokens", "cost", "time", "tool_calls"]


@dataclass(frozen=True, slots=True)
class BudgetSpent:
    """The run has used up what it was given."""

    name: ClassVar[str] = "budget"
    kind: BudgetKind
    used: float
    """Tokens, the provider's currency, milliseconds or calls."""
    limit: float


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """The next request would not fit the model's window."""

    name: ClassVar[str] = "context_overflow"
    estimate: int
    """Tokens of messages and tool definitions, by the plan's estimator."""
    limit: int
    """Tokens of the window that are not reserved for the reply."""
    largest: tuple[str, ...]
    """What takes the most room, the largest first."""


@dataclass(frozen=True, slots=True)
class CapabilityRefused:
    """The server does not do what the request needs, such as tools."""

    name: ClassVar[str] = "capability"
    message: str
    """The server's own words."""


@dataclass(frozen=True, slots=True)
class Truncated:
    """The final text was cut at the output token limit."""

    name: ClassVar[str] = "truncated"
    content: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The model refused, in its own words."""

    name: ClassVar[str] = "refused"
    reason: str


@dataclass(frozen=True, slots=True)
class ContentFiltered:
    """The provider's filter suppressed the reply."""

    name: ClassVar[str] = "content_filter"
    reason: str


@dataclass(frozen=True, slots=True)
class InvalidReply:
    """The reply as a whole could not be used."""

    name: ClassVar[str] = "invalid_reply"
    problem: ProblemCode
    detail: str


@dataclass(frozen=True, slots=True)
class TransportFailed:
    """No usable reply came over the wire."""

    name: ClassVar[str] = "transport"
    failure: FailureKind
    status: int | None
    """The HTTP status, where there was one."""
    message: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller stopped the run."""

    name: ClassVar[str] = "cancelled"
    reason: str


Outcome: TypeAlias = (
    Completed
    | EmptyFinal
    | MaxTurns
    | NoToolCalls
    | ToolFailed
    | RepeatedCall
    | BudgetSpent
    | ContextOverflow
    | CapabilityRefused
    | Truncated
    | Refused
    | ContentFiltered
    | InvalidReply
    | TransportFailed
    | Cancelled
)
