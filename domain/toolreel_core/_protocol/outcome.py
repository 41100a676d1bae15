"""Outcomes: a run ends with exactly one of these. None of them is an exception.

``name`` is stored in records and shown in reports, so it never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolreel_core._conversation import brief_repr
from toolreel_core._jsontext import JsonText
from toolreel_core._replies import ProblemCode

FailureKind: TypeAlias = Literal["connect", "timeout", "broken", "too_large", "status"]
"""``connect``: no connection; ``timeout``: no response in time; ``broken``: an incomplete response, or not
HTTP; ``too_large``: the response exceeds the byte limit; ``status``: an HTTP error status."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The model gave a final answer."""

    name: ClassVar[str] = "completed"
    content: str
    """The model's text; of an answer that came as a call of the final tool, the value as JSON text."""
    value: JsonText | None = None
    """The value as JSON text, valid against the plan's output; ``None`` without one."""

    def __repr__(self) -> str:
        """Without a value, as it was before there were values: users print it, and compare what they see."""
        return brief_repr(self, "value")


@dataclass(frozen=True, slots=True)
class InvalidOutput:
    """The final answer does not fit the plan's output, and the model was asked ``output_retries`` times."""

    name: ClassVar[str] = "invalid_output"
    content: str
    """The last answer, as the model wrote it."""
    error: str
    """What is wrong with it, by JSON pointers."""


@dataclass(frozen=True, slots=True)
class EmptyFinal:
    """The model ended with neither text nor a tool call; never a success."""

    name: ClassVar[str] = "empty_final"


@dataclass(frozen=True, slots=True)
class MaxTurns:
    """The model still called tools in its last allowed turn."""

    name: ClassVar[str] = "max_turns"
    limit: int


@dataclass(frozen=True, slots=True)
class NoToolCalls:
    """A run with ``tool_use_mode="enforced"`` ended without a tool call."""

    name: ClassVar[str] = "no_tool_calls"
    content: str
    """The model's text."""


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """An enforced run ended with failed tools, which ``tool_failure_policy`` does not allow."""

    name: ClassVar[str] = "tool_error"
    tools: tuple[str, ...]
    """Tools whose last result is a failure, in the order of their first call."""


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """The model repeated the same call with the same result up to ``repetition_stop``."""

    name: ClassVar[str] = "repeated_call"
    tool: str
    times: int


BudgetKind: TypeAlias = Literal["tokens", "cost", "time", "tool_calls"]


@dataclass(frozen=True, slots=True)
class BudgetSpent:
    """A budget of the run is used up."""

    name: ClassVar[str] = "budget"
    kind: BudgetKind
    used: float
    """Tokens, the provider's currency, milliseconds or calls."""
    limit: float


ConversationBudgetKind: TypeAlias = Literal["turns", "tokens", "cost"]


@dataclass(frozen=True, slots=True)
class ConversationSpent:
    """A budget of the whole conversation is used up; it refuses every further exchange."""

    name: ClassVar[str] = "conversation_budget"
    kind: ConversationBudgetKind
    used: float
    """Turns, tokens or the provider's currency, over all exchanges."""
    limit: float


@dataclass(frozen=True, slots=True)
class CostUnknown:
    """The cost is limited, and that of a reply is neither reported nor priced; nothing more was sent."""

    name: ClassVar[str] = "cost_unknown"
    replies: int
    """Replies whose cost nobody knows."""
    limit: float
    """The limit that cannot be kept."""


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """The next request would exceed the context window."""

    name: ClassVar[str] = "context_overflow"
    estimate: int
    """Tokens of messages and tool definitions, by the plan's estimator."""
    limit: int
    """Tokens of the window that are not reserved for the reply."""
    largest: tuple[str, ...]
    """The largest parts of the request with their sizes, the largest first."""


@dataclass(frozen=True, slots=True)
class CapabilityRefused:
    """The server does not support what the request needs, such as tools."""

    name: ClassVar[str] = "capability"
    message: str
    """The server's error message."""


@dataclass(frozen=True, slots=True)
class Truncated:
    """The final text was truncated at the output token limit."""

    name: ClassVar[str] = "truncated"
    content: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The model refused to answer."""

    name: ClassVar[str] = "refused"
    reason: str


@dataclass(frozen=True, slots=True)
class ContentFiltered:
    """The provider's filter suppressed the reply."""

    name: ClassVar[str] = "content_filter"
    reason: str


@dataclass(frozen=True, slots=True)
class InvalidReply:
    """The reply could not be used."""

    name: ClassVar[str] = "invalid_reply"
    problem: ProblemCode
    detail: str


@dataclass(frozen=True, slots=True)
class TransportFailed:
    """No usable response arrived: the connection or the server failed."""

    name: ClassVar[str] = "transport"
    failure: FailureKind
    status: int | None
    """The HTTP status; ``None`` if no response arrived."""
    message: str


@dataclass(frozen=True, slots=True)
class TransformFailed:
    """A transform of the caller's own raised, or returned something else than a JSON object."""

    name: ClassVar[str] = "transform_failed"
    message: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller cancelled the run."""

    name: ClassVar[str] = "cancelled"
    reason: str


Outcome: TypeAlias = (
    Completed
    | InvalidOutput
    | EmptyFinal
    | MaxTurns
    | NoToolCalls
    | ToolFailed
    | RepeatedCall
    | BudgetSpent
    | ConversationSpent
    | CostUnknown
    | ContextOverflow
    | CapabilityRefused
    | Truncated
    | Refused
    | ContentFiltered
    | InvalidReply
    | TransportFailed
    | TransformFailed
    | Cancelled
)
"""How a run ends."""
