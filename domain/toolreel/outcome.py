"""How a run can end: exactly one of these, none of them an exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolreel.reply import ProblemCode

__all__ = [
    "Cancelled",
    "Completed",
    "ContentFiltered",
    "EmptyFinal",
    "FailureKind",
    "InvalidReply",
    "MaxTurns",
    "Outcome",
    "Refused",
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
    | Truncated
    | Refused
    | ContentFiltered
    | InvalidReply
    | TransportFailed
    | Cancelled
)
