"""What each note of a run says to its reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._plan import IgnoredWhy
from toolreel_core._protocol import notes
from toolreel_core._protocol.notes import Note
from toolreel_core._replies import PROBLEM_WORDS, WORDS

Level: TypeAlias = Literal["bad", "warn", "info", "silent"]
"""How much a note matters to somebody who looks for what went wrong; ``silent``: shown in another place."""

_IGNORED_CALLS: Final[Mapping[notes.IgnoreReason, str]] = {
    "one_call": "the request says parallel_tool_calls: false, so the first call runs alone",
    "calls_per_turn": "max_tool_calls_per_turn allows no more calls in a reply",
    "tools_off": "the request offered no tools",
}
_IGNORED_OPTIONS: Final[Mapping[IgnoredWhy, str]] = {
    "reserved": "the run's own to set",
    "with_tools": "refused together with tools",
    "without_tools": "refused without tools",
    "unsupported": "the provider does not take it",
}
_NUDGES: Final[Mapping[notes.NudgeReason, str]] = {
    "no_tool_calls": "the model is asked to call a tool (no_tool_calls)",
    "text_call_rejected": "the model is asked to call a tool (text_call_rejected)",
    "final_check": "before its answer is final, the model is asked what is still to be done",
    "unsupported_claim": "the answer claims what no call has done; the model is asked again",
}
_FIRST_ENDPOINT: Final = "the plan's own endpoint"
# Notes hold codes as plain strings: records of other releases may have some that this one does not know.
_PROBLEMS: Final[Mapping[str, str]] = dict(PROBLEM_WORDS.items())
_REPAIRS: Final[Mapping[str, str]] = dict(WORDS.items())


def note_sentence(note: Note) -> tuple[Level, str]:  # noqa: PLR0912 - one sentence a note
    """The level of a note, and what it says; silent notes say nothing.

    >>> note_sentence(notes.RetryPlanned(1, attempt=1, ms=500))
    ('warn', 'try 1 failed, the next follows after 500 ms')
    """
    match note:
        case notes.PresetsApplied():
            return "info", f"presets: {', '.join(note.names)}"
        case notes.OptionIgnored():
            return "warn", f"not sent: {note.key} ({_IGNORED_OPTIONS[note.why]})"
        case notes.SchemaReduced():
            return "warn", f"{note.name}: left out of its schema: {'; '.join(note.left_out)}"
        case notes.TextCallsOff():
            return "warn", "calls written as text are not read (text_dialects is empty)"
        case notes.QuirkApplied():
            times = f", {note.times} times" if note.times > 1 else ""
            return "info", f"changed for the provider: {note.name}{times}"
        case notes.HistoryShortened():
            counts = f"{note.messages_before} to {note.messages_after} messages"
            return "warn", f"the window was full: {', '.join(note.policies)} took {counts}"
        case notes.SummaryRequested():
            again = f", try {note.attempt}" if note.attempt > 1 else ""
            return "info", f"the window was full: a summary of {note.messages} messages was asked for{again}"
        case notes.HistorySummarized():
            counts = f"{note.messages_before} to {note.messages_after} messages"
            tokens = f"{note.tokens_before} to {note.tokens_after} tokens (estimated)"
            return "warn", f"the summary took {counts}, {tokens}: {note.sample}"
        case notes.SummaryRejected():
            return "bad", f"the summary was not used ({note.why})"
        case notes.UpstreamPinned():
            return "info", f"from now on only {note.upstream} is asked"
        case notes.EndpointChanged():
            without = f"; {note.dropped} messages go there without their reasoning" if note.dropped else ""
            failed = f"{note.before or _FIRST_ENDPOINT} failed ({note.why})"
            return "warn", f"{failed}, so it goes on at {note.after}{without}"
        case notes.EndpointPinned():
            held = f"{note.bound} messages have signatures or reasoning that only it may get back"
            failed = f"{note.endpoint or _FIRST_ENDPOINT} failed ({note.why})"
            return "warn", f"{failed}, and nobody else is asked: {held}"
        case notes.ReplyRead():
            return ("bad", _in_words(note.problem, _PROBLEMS)) if note.problem else ("silent", "")
        case notes.RepairApplied():
            return "warn", _in_words(note.code, _REPAIRS)
        case notes.ContentStripped():
            return "info", f"the text with the calls is not stored ({note.length:,} characters)"
        case notes.RequestAbandoned():
            return "warn", "nobody waited for the reply: the run was cancelled"
        case notes.RequestLost():
            return "bad", f"no reply: {note.failure}" + (f" {note.status}" if note.status else "")
        case notes.RetryPlanned():
            return "warn", f"try {note.attempt} failed, the next follows after {note.ms} ms"
        case notes.CallsIgnored():
            return "bad", f"ignored: {', '.join(note.names)}; {_IGNORED_CALLS[note.why]}"
        case notes.CallRejected():
            return "bad", f"{note.name} was not run: {note.code}: {note.message}"
        case notes.CallEnded():
            failed = f"{note.name} failed: {', '.join(note.codes) or 'without a code'}"
            return ("silent", "") if note.ok else ("bad", failed)
        case notes.CallAbandoned():
            return "bad", f"{note.name} got no result: the run ended first"
        case notes.CallRepeated():
            return "warn", f"{note.name} has had the same result {note.times} times; the model was warned"
        case notes.CallSkipped():
            return "warn", f"{note.name} has succeeded before with these arguments; it was not run again"
        case notes.OutputCalled():
            return "info", "the answer came as a call of the final tool"
        case notes.ModelNudged():
            return "warn", f"{_NUDGES[note.why]}: {' '.join(note.text.split())}"
        case notes.ToolsWithheld():
            return "warn", f"not offered, since the model repeats itself: {', '.join(note.names)}"
        case notes.OutputRejected():
            then = "the model is asked again" if note.asked_again else "the run ends"
            return "bad", f"the answer does not fit the output; {then}: {note.error}"
        case notes.RecoveryTried():
            return "warn", "an empty reply; the model is asked again"
        case notes.ToolsDropped():
            return "bad", f"the server takes no tools, so the run goes on without: {note.message}"
        case notes.PartsLeftOut():
            return "warn", f"the provider does not take {', '.join(note.labels)} of {note.name}"
        case notes.UserMessageKept():
            return "info", "the user spoke meanwhile; the next request says it"
        case (
            notes.RequestSent()
            | notes.CallStarted()
            | notes.ApprovalAsked()
            | notes.UserMessagesAdded()
            | notes.ExchangeBegan()
            | notes.RunSettled()
            | notes.LateAnswer()
        ):
            return "silent", ""
        case _:
            assert_never(note)


def _in_words(code: str, words: Mapping[str, str]) -> str:
    """A code with its sentence, if it has one."""
    return f"{code}: {words[code]}" if code in words else code
