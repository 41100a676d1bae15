"""Events: facts from outside, in the past tense. Their counterpart is :mod:`toolreel_core._protocol.effects`.

An event that answers an effect carries the effect's ``ref``. Texts from outside lose their lone
surrogates here, so that every event can be written down and read back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from toolreel_core._jsontext.canonical import sound
from toolreel_core._protocol.outcome import FailureKind

__all__ = [
    "ApprovalGiven",
    "CancelRequested",
    "Event",
    "ReplyReceived",
    "RequestFailed",
    "RunStarted",
    "ToolReturned",
    "WaitElapsed",
]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run began; :func:`toolreel.start` says so itself."""


@dataclass(frozen=True, slots=True)
class ReplyReceived:
    """The endpoint answered a ``SendRequest`` with HTTP status 2xx."""

    ref: int
    status: int
    body: str
    """The response body as it came, decoded from UTF-8 with undecodable bytes replaced."""
    at_ms: int | None = None
    """Milliseconds since the run began; drivers say so when the plan limits its time."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", sound(self.body))


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A ``SendRequest`` got no reply, or one with an HTTP error status."""

    ref: int
    failure: FailureKind
    message: str
    """What went wrong, in words for a person."""
    status: int | None = None
    body: str = ""
    """The body of an error response."""
    retry_after_ms: int | None = None
    """How long the server asks to be left alone."""
    at_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", sound(self.message))
        object.__setattr__(self, "body", sound(self.body))


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A ``RunTool`` came back, successful or not."""

    ref: int
    output: str
    """JSON text: an envelope, an object or any other value."""
    at_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "output", sound(self.output))


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    """Somebody decided about an ``AskApproval``."""

    ref: int
    approved: bool
    reason: str = ""
    """Why not, for the model to read."""
    at_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", sound(self.reason))


@dataclass(frozen=True, slots=True)
class WaitElapsed:
    """The time of a ``Wait`` is over."""

    ref: int
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The caller wants the run to end now; whatever is under way is abandoned."""

    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", sound(self.reason))


Event: TypeAlias = (
    RunStarted | ReplyReceived | RequestFailed | ToolReturned | ApprovalGiven | WaitElapsed | CancelRequested
)
