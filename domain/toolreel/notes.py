"""Notes: what a run reports about itself, one a decision, by name.

Notes are the trace. They stay apart from effects: nobody has to listen, and listening
changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from toolreel.outcome import FailureKind
from toolreel.reply import Finish

__all__ = [
    "CallEnded",
    "CallRejected",
    "CallStarted",
    "ContentStripped",
    "LateAnswer",
    "Note",
    "RepairApplied",
    "ReplyRead",
    "RequestLost",
    "RequestSent",
    "RunSettled",
]


@dataclass(frozen=True, slots=True)
class RequestSent:
    """The model is asked."""

    turn: int
    """Counted from 1."""
    messages: int
    bytes: int
    """UTF-8 bytes of the messages."""
    digest: str
    """The request's digest; the same request has the same digest in every run."""


@dataclass(frozen=True, slots=True)
class ReplyRead:
    """The model's reply was understood as this."""

    turn: int
    finish: Finish
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class RequestLost:
    """The model was asked in vain."""

    turn: int
    failure: FailureKind
    status: int | None


@dataclass(frozen=True, slots=True)
class RepairApplied:
    """Something in a reply was mended or passed over."""

    turn: int
    code: str
    """A warning code of the reply."""


@dataclass(frozen=True, slots=True)
class ContentStripped:
    """Text beside tool calls was kept out of the history."""

    turn: int
    length: int
    """Characters of the whole text."""
    sample: str
    """Its first 200 characters."""


@dataclass(frozen=True, slots=True)
class CallRejected:
    """A call never reached its tool; the model was told why."""

    turn: int
    call_id: str
    name: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call went to its tool."""

    turn: int
    call_id: str
    name: str
    provenance: str
    """``structured``, ``legacy`` or ``text:<dialect>``."""


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A tool came back."""

    turn: int
    call_id: str
    name: str
    ok: bool
    codes: tuple[str, ...]
    """Codes of the errors in its envelope."""
    bytes: int
    """UTF-8 bytes of the envelope."""


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """An answer came after the run had ended, and was dropped."""

    ref: int


@dataclass(frozen=True, slots=True)
class RunSettled:
    """The run is over."""

    outcome: str
    """The name of its outcome."""


Note: TypeAlias = (
    RequestSent
    | ReplyRead
    | RequestLost
    | RepairApplied
    | ContentStripped
    | CallRejected
    | CallStarted
    | CallEnded
    | LateAnswer
    | RunSettled
)
