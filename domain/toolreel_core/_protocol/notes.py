"""Notes: what a run reports about itself, one a decision, by name.

Notes are the trace. They stay apart from effects: nobody has to listen, and listening
changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core._plan.request_body import IgnoredWhy
from toolreel_core._protocol.outcome import FailureKind
from toolreel_core._replies.normalize import Finish

__all__ = [
    "ApprovalAsked",
    "CallAbandoned",
    "CallEnded",
    "CallRejected",
    "CallRepeated",
    "CallStarted",
    "CallsIgnored",
    "ContentStripped",
    "HistoryShortened",
    "IgnoreReason",
    "LateAnswer",
    "ModelNudged",
    "Note",
    "NudgeReason",
    "OptionIgnored",
    "PresetsApplied",
    "QuirkApplied",
    "RecoveryTried",
    "RepairApplied",
    "ReplyRead",
    "RequestAbandoned",
    "RequestLost",
    "RequestSent",
    "RetryPlanned",
    "RunSettled",
    "ToolsDropped",
    "UpstreamPinned",
]


NudgeReason: TypeAlias = Literal["no_tool_calls", "text_call_rejected"]
IgnoreReason: TypeAlias = Literal["calls_per_turn", "tools_off"]


@dataclass(frozen=True, slots=True)
class PresetsApplied:
    """The plan was made with these presets."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OptionIgnored:
    """Something that was asked for is not part of the requests."""

    key: str
    why: IgnoredWhy


@dataclass(frozen=True, slots=True)
class QuirkApplied:
    """A setting for the provider, or a transform, has changed something."""

    turn: int
    name: str
    """Of the setting or the transform."""
    times: int = 1
    """How many parts of the request or the reply."""


@dataclass(frozen=True, slots=True)
class HistoryShortened:
    """The conversation no longer fitted the model's window, and less of it goes out from now on."""

    turn: int
    """The turn that it was shortened for."""
    policies: tuple[str, ...]
    """Names of the policies that took something away."""
    messages_before: int
    messages_after: int
    tokens_before: int
    """Estimated tokens of the messages."""
    tokens_after: int


@dataclass(frozen=True, slots=True)
class UpstreamPinned:
    """From now on, only the upstream provider that gave the first reply is asked."""

    turn: int
    upstream: str


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
    attempt: int = 1
    """Which try of the same turn this is."""


@dataclass(frozen=True, slots=True)
class ReplyRead:
    """The model's reply was understood as this."""

    turn: int
    finish: Finish
    calls: int
    prompt_tokens: int
    completion_tokens: int
    problem: str = ""
    """The code of what was wrong with it as a whole, if something was."""


@dataclass(frozen=True, slots=True)
class RequestAbandoned:
    """The run was cancelled while the model was asked, or before it was asked again."""

    turn: int


@dataclass(frozen=True, slots=True)
class RequestLost:
    """The model was asked in vain."""

    turn: int
    failure: FailureKind
    status: int | None
    retry_after_ms: int | None = None
    """How long the server asks to be left alone; more than is allowed ends the run."""


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
    elapsed_ms: int | None = None
    """How long the call took, where events tell the time."""


@dataclass(frozen=True, slots=True)
class CallAbandoned:
    """The run ended before a call's result was there."""

    turn: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A call waits for somebody's word."""

    turn: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallsIgnored:
    """Calls of a reply were not heard."""

    turn: int
    names: tuple[str, ...]
    why: IgnoreReason


@dataclass(frozen=True, slots=True)
class CallRepeated:
    """The same call had the same result once more, and the model was warned."""

    turn: int
    name: str
    times: int
    """In a row, this one included."""


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    """The same request will be sent again."""

    turn: int
    attempt: int
    """The try that failed, counted from 1."""
    ms: int
    """How long that waits."""


@dataclass(frozen=True, slots=True)
class ModelNudged:
    """The model was asked again, because it had skipped its tools."""

    turn: int
    why: NudgeReason


@dataclass(frozen=True, slots=True)
class RecoveryTried:
    """The final text was empty, and the model is asked for it once more."""

    turn: int
    tools_sent: bool


@dataclass(frozen=True, slots=True)
class ToolsDropped:
    """The server refused tools; the run goes on without them."""

    turn: int
    message: str
    """The server's own words."""


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
    PresetsApplied
    | OptionIgnored
    | QuirkApplied
    | HistoryShortened
    | UpstreamPinned
    | RequestSent
    | ReplyRead
    | RequestAbandoned
    | RequestLost
    | RepairApplied
    | ContentStripped
    | CallRejected
    | CallStarted
    | CallEnded
    | CallAbandoned
    | ApprovalAsked
    | CallsIgnored
    | CallRepeated
    | RetryPlanned
    | ModelNudged
    | RecoveryTried
    | ToolsDropped
    | LateAnswer
    | RunSettled
)
