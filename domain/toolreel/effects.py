"""Effects: requests to the outside, in the imperative. Their counterpart is :mod:`toolreel.events`.

An effect is data: whoever performs it needs nothing but its fields, and answers with one of
the events that :data:`ANSWERS` names, carrying the same ``ref``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias, assert_never

from toolreel.digest import chain
from toolreel.events import Event, ReplyReceived, RequestFailed, ToolReturned
from toolreel.jsontext import JsonText, canonical
from toolreel.outcome import Outcome
from toolreel.request import Request

__all__ = ["ANSWERS", "Effect", "Finish", "RunTool", "SendRequest", "fingerprint"]


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
    arguments: JsonText
    """A JSON object that fits the tool's schema."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over; nothing answers this effect."""

    outcome: Outcome


Effect: TypeAlias = SendRequest | RunTool | Finish

ANSWERS: Final[Mapping[type[Effect], tuple[type[Event], ...]]] = {
    SendRequest: (ReplyReceived, RequestFailed),
    RunTool: (ToolReturned,),
    Finish: (),
}
"""Which events answer which effect."""


def fingerprint(effect: Effect) -> str:
    """What identifies an effect in a journal: equal fingerprints, equal effects."""
    match effect:
        case SendRequest():
            return chain("send_request", str(effect.ref), effect.request.digest)
        case RunTool():
            return chain("run_tool", str(effect.ref), effect.call_id, effect.name, effect.arguments)
        case Finish():
            return chain("finish", effect.outcome.name, canonical(asdict(effect.outcome)))
        case _:
            assert_never(effect)
