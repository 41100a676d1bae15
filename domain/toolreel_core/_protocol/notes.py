"""Notes: the log of a run, one note per decision.

Notes are not effects: nothing has to read them, and reading them changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolreel_core._plan import FallbackReason, IgnoredWhy
from toolreel_core._protocol.outcome import FailureKind
from toolreel_core._replies import PROBLEM_WORDS, WARNING_SENTENCES, FinishReason

NudgeReason: TypeAlias = Literal["no_tool_calls", "text_call_rejected"]
IgnoreReason: TypeAlias = Literal["calls_per_turn", "one_call", "tools_off"]


@dataclass(frozen=True, slots=True)
class PresetsApplied:
    """The plan was made with these presets."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OptionIgnored:
    """An option of the plan is not sent."""

    key: str
    why: IgnoredWhy


@dataclass(frozen=True, slots=True)
class SchemaReduced:
    """Parts of a tool's schema cannot be used and are left out, so that it accepts more than it says."""

    name: str
    left_out: tuple[str, ...]
    """The parts, and why."""


@dataclass(frozen=True, slots=True)
class TextCallsOff:
    """Tools are offered, and calls written as text are not read: ``text_dialects`` is empty."""


@dataclass(frozen=True, slots=True)
class QuirkApplied:
    """A provider setting or a transform changed a request or a reply."""

    turn: int
    name: str
    """Name of the setting or the transform."""
    times: int = 1
    """How many parts of the request or the reply it changed."""


@dataclass(frozen=True, slots=True)
class HistoryShortened:
    """The conversation exceeded the context window; from now on a shorter history is sent."""

    turn: int
    """The turn that it was shortened for."""
    policies: tuple[str, ...]
    """Names of the policies that shortened it."""
    messages_before: int
    messages_after: int
    tokens_before: int
    """Estimated tokens of the messages."""
    tokens_after: int


@dataclass(frozen=True, slots=True)
class SummaryRequested:
    """The conversation exceeded the context window, and the model is asked for a summary of old messages."""

    turn: int
    """The turn that it is needed for."""
    messages: int
    """Messages that it shall stand for; of those that are sent, the oldest, except pinned ones."""
    bytes: int
    """UTF-8 bytes of the request's messages."""
    digest: str
    """The request's digest."""
    attempt: int = 1
    """The number of this attempt, counted from 1."""


@dataclass(frozen=True, slots=True)
class HistorySummarized:
    """From now on, a summary is sent in place of old messages."""

    turn: int
    """The turn that it is needed for."""
    messages_before: int
    messages_after: int
    """Messages that are sent, with the summary."""
    tokens_before: int
    """Estimated tokens of the messages."""
    tokens_after: int
    prompt_tokens: int
    """Tokens of the request for the summary, as counted by the provider."""
    completion_tokens: int
    sample: str
    """The first 200 characters of the summary."""


@dataclass(frozen=True, slots=True)
class SummaryRejected:
    """A summary is not used; the policies that follow shorten the history instead."""

    turn: int
    """The turn that it was needed for."""
    why: str
    """``request_failed``, ``tool_calls``, ``too_long``, or the code of the reply's problem."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class UpstreamPinned:
    """From now on, requests are pinned to the upstream provider of the first reply."""

    turn: int
    upstream: str


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A request was sent to the model."""

    turn: int
    """Counted from 1."""
    messages: int
    bytes: int
    """UTF-8 bytes of the messages."""
    digest: str
    """The request's digest; the same request has the same digest in every run."""
    attempt: int = 1
    """The number of this attempt within the turn, counted from 1."""


@dataclass(frozen=True, slots=True)
class ReplyRead:
    """A reply was parsed."""

    turn: int
    finish: FinishReason
    calls: int
    prompt_tokens: int
    completion_tokens: int
    problem: str = ""
    """The code of the reply's problem; empty without one."""


@dataclass(frozen=True, slots=True)
class RequestAbandoned:
    """The run was cancelled while a request was pending or about to be retried."""

    turn: int


@dataclass(frozen=True, slots=True)
class RequestLost:
    """A request failed."""

    turn: int
    failure: FailureKind
    status: int | None
    retry_after_ms: int | None = None
    """The server's Retry-After in milliseconds; more than ``retry_cap_ms`` ends the run."""


@dataclass(frozen=True, slots=True)
class RepairApplied:
    """Something in a reply was repaired or ignored."""

    turn: int
    code: str
    """A warning code of the reply."""


@dataclass(frozen=True, slots=True)
class ContentStripped:
    """The text next to tool calls was not stored in the history."""

    turn: int
    length: int
    """Characters of the whole text."""
    sample: str
    """Its first 200 characters."""


@dataclass(frozen=True, slots=True)
class CallSkipped:
    """A call was not run, because the same call has succeeded and ``repeated_effects`` is ``refuse``."""

    turn: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolsWithheld:
    """The reply of this turn may not call these tools, because the model repeats itself."""

    turn: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallRejected:
    """A call was rejected before it reached its tool; the fault is returned to the model."""

    turn: int
    call_id: str
    name: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call was started."""

    turn: int
    call_id: str
    name: str
    provenance: str
    """``structured``, ``legacy`` or ``text:<dialect>``."""


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A tool call ended."""

    turn: int
    call_id: str
    name: str
    ok: bool
    codes: tuple[str, ...]
    """Codes of the errors in its envelope."""
    bytes: int
    """UTF-8 bytes of the envelope."""
    elapsed_ms: int | None = None
    """Duration of the call; ``None`` if the driver does not measure time."""


@dataclass(frozen=True, slots=True)
class PartsLeftOut:
    """A tool gave images, audio or files that the provider does not take; the model is told of each."""

    turn: int
    call_id: str
    name: str
    """The tool's inner name."""
    labels: tuple[str, ...]
    """Media type, size and the beginning of the digest of each."""


@dataclass(frozen=True, slots=True)
class CallAbandoned:
    """The run ended before a call had its result."""

    turn: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A call waits for approval."""

    turn: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallsIgnored:
    """Calls of a reply were dropped."""

    turn: int
    names: tuple[str, ...]
    why: IgnoreReason


@dataclass(frozen=True, slots=True)
class CallRepeated:
    """The same call had the same result again; the result warns the model."""

    turn: int
    name: str
    times: int
    """How many times in a row, including this one."""


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    """The same request will be sent again."""

    turn: int
    attempt: int
    """The attempt that failed, counted from 1."""
    ms: int
    """The delay before the retry, in milliseconds."""


@dataclass(frozen=True, slots=True)
class ModelNudged:
    """The model was asked again: it skipped its tools, or its call was not read."""

    turn: int
    why: NudgeReason
    text: str
    """What it was asked, as it stands in the history."""


@dataclass(frozen=True, slots=True)
class OutputCalled:
    """The model gave its final answer as a call of the final tool, which is never run."""

    turn: int
    calls: int


@dataclass(frozen=True, slots=True)
class OutputRejected:
    """A final answer does not fit the plan's output."""

    turn: int
    error: str
    """What is wrong with it, by JSON pointers."""
    asked_again: bool
    """Whether the model is asked again; otherwise the run ends."""


@dataclass(frozen=True, slots=True)
class RecoveryTried:
    """The reply was empty, and the model is asked again."""

    turn: int
    tools_sent: bool


@dataclass(frozen=True, slots=True)
class ToolsDropped:
    """The server rejected tools; the run continues without them."""

    turn: int
    message: str
    """The server's error message."""


@dataclass(frozen=True, slots=True)
class EndpointChanged:
    """The run goes on at another endpoint, which also gets what follows in the conversation."""

    turn: int
    """The turn that the endpoint before could not give."""
    before: str
    """The name of that endpoint; empty for the plan's own."""
    after: str
    why: FallbackReason
    dropped: int
    """Messages that are sent without their signatures and reasoning, which no other endpoint gets."""
    prompt_tokens: int
    """Those of the whole run so far."""
    completion_tokens: int
    cost: float | None
    """What the run has cost so far; ``None`` if that of a reply is unknown, or there is none."""


@dataclass(frozen=True, slots=True)
class EndpointPinned:
    """The run does not go on at another endpoint: the history has what must come back to the present one."""

    turn: int
    endpoint: str
    """The name of the present endpoint; empty for the plan's own."""
    why: FallbackReason
    """The reason to go on."""
    bound: int
    """Messages with a signature, or with reasoning that the provider demands back."""


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """An answer that arrived after the end of the run was dropped."""

    ref: int


@dataclass(frozen=True, slots=True)
class UserMessageKept:
    """The user spoke while the model or its tools were at work; the next request sends it."""

    turn: int
    """The turn in progress."""


@dataclass(frozen=True, slots=True)
class UserMessagesAdded:
    """What the user has said since the last request joins the history."""

    turn: int
    """The turn whose request sends it."""
    samples: tuple[str, ...]
    """The first 200 characters of each message."""


@dataclass(frozen=True, slots=True)
class ExchangeBegan:
    """The user spoke after the end of a run: the next exchange of the same conversation begins."""

    turn: int
    """Its first turn."""


@dataclass(frozen=True, slots=True)
class RunSettled:
    """The run, or an exchange of a conversation, is over."""

    outcome: str
    """The name of its outcome."""


Note: TypeAlias = (
    PresetsApplied
    | OptionIgnored
    | SchemaReduced
    | TextCallsOff
    | QuirkApplied
    | HistoryShortened
    | SummaryRequested
    | HistorySummarized
    | SummaryRejected
    | UpstreamPinned
    | RequestSent
    | ReplyRead
    | RequestAbandoned
    | RequestLost
    | RepairApplied
    | ContentStripped
    | CallRejected
    | CallSkipped
    | ToolsWithheld
    | CallStarted
    | CallEnded
    | PartsLeftOut
    | CallAbandoned
    | ApprovalAsked
    | CallsIgnored
    | CallRepeated
    | RetryPlanned
    | ModelNudged
    | OutputCalled
    | OutputRejected
    | RecoveryTried
    | ToolsDropped
    | EndpointChanged
    | EndpointPinned
    | LateAnswer
    | UserMessageKept
    | UserMessagesAdded
    | ExchangeBegan
    | RunSettled
)
"""What a run says about itself."""


# What each note says to its reader.


NoteLevel: TypeAlias = Literal["bad", "warn", "info", "silent"]
"""How much a note matters to somebody who looks for what went wrong; ``silent``: shown in another place."""

_SENTENCES: Mapping[type[Note], tuple[NoteLevel, str]] = {
    PresetsApplied: ("info", "presets: {names}"),
    OptionIgnored: ("warn", "not sent: {key} ({why})"),
    SchemaReduced: ("warn", "{name}: left out of its schema: {left_out}"),
    TextCallsOff: ("warn", "calls written as text are not read (text_dialects is empty)"),
    QuirkApplied: ("info", "changed for the provider: {name}{times}"),
    HistoryShortened: (
        "warn",
        "the window was full: {policies} took {messages_before} to {messages_after} messages",
    ),
    SummaryRequested: (
        "info",
        "the window was full: a summary of {messages} messages was asked for{attempt}",
    ),
    HistorySummarized: (
        "warn",
        "the summary took {messages_before} to {messages_after} messages, {tokens_before} to {tokens_after} "
        "tokens (estimated): {sample}",
    ),
    SummaryRejected: ("bad", "the summary was not used ({why})"),
    UpstreamPinned: ("info", "from now on only {upstream} is asked"),
    EndpointChanged: ("warn", "{before} failed ({why}), so it goes on at {after}{dropped}"),
    EndpointPinned: (
        "warn",
        "{endpoint} failed ({why}), and nobody else is asked: {bound} messages have signatures or reasoning "
        "that only it may get back",
    ),
    ReplyRead: ("bad", "{problem}"),
    RepairApplied: ("warn", "{code}"),
    ContentStripped: ("info", "the text with the calls is not stored ({length:,} characters)"),
    RequestAbandoned: ("warn", "nobody waited for the reply: the run was cancelled"),
    RequestLost: ("bad", "no reply: {failure}{status}"),
    RetryPlanned: ("warn", "try {attempt} failed, the next follows after {ms} ms"),
    CallsIgnored: ("bad", "ignored: {names}; {why}"),
    CallRejected: ("bad", "{name} was not run: {code}: {message}"),
    CallEnded: ("bad", "{name} failed: {codes}"),
    CallAbandoned: ("bad", "{name} got no result: the run ended first"),
    CallRepeated: ("warn", "{name} has had the same result {times} times; the model was warned"),
    CallSkipped: ("warn", "{name} has succeeded before with these arguments; it was not run again"),
    OutputCalled: ("info", "the answer came as a call of the final tool"),
    ModelNudged: ("warn", "the model is asked to call a tool ({why}): {text}"),
    ToolsWithheld: ("warn", "not offered, since the model repeats itself: {names}"),
    OutputRejected: ("bad", "the answer does not fit the output; {asked_again}: {error}"),
    RecoveryTried: ("warn", "an empty reply; the model is asked again"),
    ToolsDropped: ("bad", "the server takes no tools, so the run goes on without: {message}"),
    PartsLeftOut: ("warn", "the provider does not take {labels} of {name}"),
    UserMessageKept: ("info", "the user spoke meanwhile; the next request says it"),
}
"""The sentence of each note that is not silent; names in braces are its fields, in words."""

# Notes hold codes as plain strings: records of other releases may have some that this one does not know.
_PROBLEMS: Mapping[str, str] = dict(PROBLEM_WORDS.items())
_REPAIRS: Mapping[str, str] = dict(WARNING_SENTENCES.items())
_WHY: Mapping[str, str] = {
    # of ignored calls
    "one_call": "the request says parallel_tool_calls: false, so the first call runs alone",
    "calls_per_turn": "max_tool_calls_per_turn allows no more calls in a reply",
    "tools_off": "the request offered no tools",
    # of ignored options
    "reserved": "the run's own to set",
    "with_tools": "refused together with tools",
    "without_tools": "refused without tools",
    "unsupported": "the provider does not take it",
}


def note_sentence(note: Note) -> tuple[NoteLevel, str]:  # noqa: PLR0912 - a case for each note that needs one
    """The level of a note, and what it says; silent notes say nothing.

    >>> note_sentence(RetryPlanned(1, attempt=1, ms=500))
    ('warn', 'try 1 failed, the next follows after 500 ms')
    """
    level, sentence = _SENTENCES.get(type(note), ("silent", ""))
    words: dict[str, Any] = {key: getattr(note, key) for key in note.__dataclass_fields__}
    for key, value in words.items():
        if isinstance(value, tuple):
            words[key] = "; ".join(value) if key == "left_out" else ", ".join(value)
    match note:
        case OptionIgnored() | CallsIgnored():
            words["why"] = _WHY[note.why]
        case QuirkApplied():
            words["times"] = f", {note.times} times" if note.times > 1 else ""
        case SummaryRequested():
            words["attempt"] = f", try {note.attempt}" if note.attempt > 1 else ""
        case EndpointChanged():
            without = f"; {note.dropped} messages go there without their reasoning"
            words |= {"before": note.before or _FIRST, "dropped": without if note.dropped else ""}
        case EndpointPinned():
            words["endpoint"] = note.endpoint or _FIRST
        case RequestLost():
            words["status"] = f" {note.status}" if note.status else ""
        case ModelNudged():
            words["text"] = " ".join(note.text.split())
        case OutputRejected():
            words["asked_again"] = "the model is asked again" if note.asked_again else "the run ends"
        case ReplyRead():
            words["problem"] = _code_with_sentence(note.problem, _PROBLEMS)
            level = level if note.problem else "silent"
        case RepairApplied():
            words["code"] = _code_with_sentence(note.code, _REPAIRS)
        case CallEnded():
            words["codes"] = words["codes"] or "without a code"
            level = "silent" if note.ok else level
        case _:
            pass
    return level, "" if level == "silent" else sentence.format(**words)


_FIRST = "the plan's own endpoint"


def _code_with_sentence(code: str, sentences: Mapping[str, str]) -> str:
    """A code with its sentence, if it has one."""
    return f"{code}: {sentences[code]}" if code in sentences else code
