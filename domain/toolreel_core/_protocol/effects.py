"""Effects: requests to the outside, in the imperative; data alone. Answered by events.

A driver answers each with one of the events in :data:`ANSWERS`, which carries the same ``ref``; refs count up
from 1 within a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias, assert_never

from pyrsistent import PMap, pmap

from toolreel_core._jsontext import JsonText, canonical, chained_digest, chained_part_digest, digest
from toolreel_core._plan import Request
from toolreel_core._protocol.events import (
    ApprovalGiven,
    Event,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
    WaitElapsed,
)
from toolreel_core._protocol.outcome import Outcome
from toolreel_core._settings import PATHS

RequestPurpose: TypeAlias = Literal["turn", "summary"]
"""What a request asks for: the model's next turn, or a summary of old ones, which nobody is shown."""


@dataclass(frozen=True, slots=True)
class SendRequest:
    """Send a request to the model's endpoint."""

    ref: int
    request: Request
    purpose: RequestPurpose = "turn"
    endpoint: str = ""
    """The plan's fallback that it goes to, by name; empty for the plan's own endpoint."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run one tool, with arguments that passed every check of ``_loop/tool_calls.py``."""

    ref: int
    call_id: str
    name: str
    """The tool's inner name, such as ``files.read``."""
    arguments: JsonText
    """A JSON object that is valid against the tool's schema."""
    # Both fields below can be computed from the plan and the call. They are not compared, so that an
    # effect equals one from a journal that was written before the fields existed.
    key: str = field(default="", compare=False)
    """Idempotency key: stable across replay and resume, so that a tool can act once if it runs twice."""
    turn: int = field(default=0, compare=False)
    """The turn that the call belongs to, counted from 1; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Ask a person, or a policy, to approve one tool call with exactly these arguments."""

    ref: int
    call_id: str
    name: str
    """The tool's inner name."""
    arguments: JsonText
    """The arguments that run if the call is approved, byte for byte."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Pause before the same request is sent again."""

    ref: int
    ms: int


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run with this outcome. No event answers this effect."""

    outcome: Outcome


Unanswered: TypeAlias = SendRequest | RunTool | AskApproval | Wait
"""An effect that an event answers: any but ``Finish``."""

Effect: TypeAlias = SendRequest | RunTool | AskApproval | Wait | Finish
"""What the loop wants done."""

ANSWERS: Mapping[type[Effect], tuple[type[Event], ...]] = {
    SendRequest: (ReplyReceived, RequestFailed),
    RunTool: (ToolReturned,),
    AskApproval: (ApprovalGiven,),
    Wait: (WaitElapsed,),
    Finish: (),
}
"""The events that answer each effect."""


def fingerprint(effect: Effect) -> str:
    """The digest of an effect; a replay compares it to prove that nothing differs.

    Journals store fingerprints: a change of what one covers needs a new version of the codec.
    """
    # chained_part_digest(before, digest(part)) equals chained_digest(before, part), and saves hashing a part
    # whose digest is cached.
    match effect:
        case SendRequest():
            return chained_digest(
                _fingerprint_prefix("send_request", effect.ref), effect.request.digest, effect.endpoint
            )
        case RunTool():
            called = chained_digest(_fingerprint_prefix("run_tool", effect.ref), effect.call_id)
            return chained_part_digest(
                chained_part_digest(called, digest(effect.name)), digest(effect.arguments)
            )
        case AskApproval():
            return chained_digest(
                _fingerprint_prefix("ask_approval", effect.ref), effect.call_id, effect.name, effect.arguments
            )
        case Wait():
            return chained_digest(_fingerprint_prefix("wait", effect.ref), str(effect.ms))
        case Finish():
            return chained_digest("finish", effect.outcome.name, canonical(asdict(effect.outcome)))
        case _:
            assert_never(effect)


def _fingerprint_prefix(kind: str, ref: int) -> str:
    """The first links of a fingerprint; the digests of small numbers are cached."""
    return chained_part_digest(kind, digest(str(ref)))


ANTHROPIC_VERSION = "2023-06-01"
"""The version of the form of Messages; the only one since (https://docs.anthropic.com/en/api/versioning)."""

KeyHeader: TypeAlias = Literal["authorization", "x-api-key"]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent over HTTP for a ``SendRequest``; only address and key are the host's."""

    method: Literal["POST"]
    path: str
    """Appended to the base URL, which usually ends in ``/v1``."""
    headers: PMap[str, str]
    """Names in lower case; none of them is a secret."""
    key_header: KeyHeader
    """Where this form has the API key: as ``authorization: Bearer KEY``, or as ``x-api-key: KEY``."""
    body: str
    """JSON text, to be sent as these characters in UTF-8."""
    streamed: bool
    """Whether the response is asked for in pieces, as Server-Sent Events."""


def http_request(effect: SendRequest) -> HttpRequest:
    request = effect.request
    headers = {"content-type": "application/json", "accept": "application/json"}
    if request.form == "messages":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    key: KeyHeader = "x-api-key" if request.form == "messages" else "authorization"
    return HttpRequest("POST", PATHS[request.form], pmap(headers), key, request.body, request.streamed)
