"""Effects: requests to the outside, in the imperative. Their counterparts are the ``events``.

An effect is data: whoever performs it needs nothing but its fields, and answers with one of
the events that :data:`ANSWERS` names, carrying the same ``ref``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, TypeAlias, assert_never

from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core._jsontext.digest import chain, digest, known_digest, link
from toolreel_core._plan.request import Request
from toolreel_core._protocol.events import (
    ApprovalGiven,
    Event,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
    WaitElapsed,
)
from toolreel_core._protocol.outcome import Outcome

__all__ = ["ANSWERS", "AskApproval", "Effect", "Finish", "RunTool", "SendRequest", "Wait", "fingerprint"]


@dataclass(frozen=True, slots=True)
class SendRequest:
    """Send a request to the model."""

    ref: int
    request: Request


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run one tool with arguments that have passed every check."""

    ref: int
    call_id: str
    name: str
    """The tool's inner name."""
    arguments: JsonText
    """A JSON object that fits the tool's schema."""
    key: str = field(default="", compare=False)
    """Names the call for ever, so that a tool that is asked twice can act once. It follows from the plan,
    the turn and the place of the call, so it is no part of what the effect is."""
    turn: int = field(default=0, compare=False)
    """The turn that the call belongs to, from 1 on; 0 if nobody said."""


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Ask somebody whether a tool may run with just these arguments."""

    ref: int
    call_id: str
    name: str
    """The tool's inner name."""
    arguments: JsonText
    """What will run, byte for byte, if it is approved."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass before a request is tried again."""

    ref: int
    ms: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over; nothing answers this effect."""

    outcome: Outcome


Effect: TypeAlias = SendRequest | RunTool | AskApproval | Wait | Finish

ANSWERS: Final[Mapping[type[Effect], tuple[type[Event], ...]]] = {
    SendRequest: (ReplyReceived, RequestFailed),
    RunTool: (ToolReturned,),
    AskApproval: (ApprovalGiven,),
    Wait: (WaitElapsed,),
    Finish: (),
}
"""Which events answer which effect."""


def fingerprint(effect: Effect) -> str:
    """What identifies an effect in a journal: equal fingerprints, equal effects."""
    match effect:
        case SendRequest():
            return chain(_of("send_request", effect.ref), effect.request.digest)
        case RunTool():
            called = chain(_of("run_tool", effect.ref), effect.call_id)
            return link(link(called, known_digest(effect.name)), digest(effect.arguments))
        case AskApproval():
            return chain(_of("ask_approval", effect.ref), effect.call_id, effect.name, effect.arguments)
        case Wait():
            return chain(_of("wait", effect.ref), str(effect.ms))
        case Finish():
            return chain("finish", effect.outcome.name, canonical(asdict(effect.outcome)))
        case _:
            assert_never(effect)


def _of(kind: str, ref: int) -> str:
    """The beginning of a fingerprint."""
    return link(kind, known_digest(str(ref)))
