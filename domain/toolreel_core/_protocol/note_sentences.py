"""What each note of a run says to its reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from toolreel_core._protocol import notes
from toolreel_core._protocol.notes import Note
from toolreel_core._replies import PROBLEM_WORDS, WORDS

Level: TypeAlias = Literal["bad", "warn", "info", "silent"]
"""How much a note matters to somebody who looks for what went wrong; ``silent``: shown in another place."""

_SENTENCES: Final[Mapping[type[Note], tuple[Level, str]]] = {
    notes.PresetsApplied: ("info", "presets: {names}"),
    notes.OptionIgnored: ("warn", "not sent: {key} ({why})"),
    notes.SchemaReduced: ("warn", "{name}: left out of its schema: {left_out}"),
    notes.TextCallsOff: ("warn", "calls written as text are not read (text_dialects is empty)"),
    notes.QuirkApplied: ("info", "changed for the provider: {name}{times}"),
    notes.HistoryShortened: (
        "warn",
        "the window was full: {policies} took {messages_before} to {messages_after} messages",
    ),
    notes.SummaryRequested: (
        "info",
        "the window was full: a summary of {messages} messages was asked for{attempt}",
    ),
    notes.HistorySummarized: (
        "warn",
        "the summary took {messages_before} to {messages_after} messages, {tokens_before} to {tokens_after} "
        "tokens (estimated): {sample}",
    ),
    notes.SummaryRejected: ("bad", "the summary was not used ({why})"),
    notes.UpstreamPinned: ("info", "from now on only {upstream} is asked"),
    notes.EndpointChanged: ("warn", "{before} failed ({why}), so it goes on at {after}{dropped}"),
    notes.EndpointPinned: (
        "warn",
        "{endpoint} failed ({why}), and nobody else is asked: {bound} messages have signatures or reasoning "
        "that only it may get back",
    ),
    notes.ReplyRead: ("bad", "{problem}"),
    notes.RepairApplied: ("warn", "{code}"),
    notes.ContentStripped: ("info", "the text with the calls is not stored ({length:,} characters)"),
    notes.RequestAbandoned: ("warn", "nobody waited for the reply: the run was cancelled"),
    notes.RequestLost: ("bad", "no reply: {failure}{status}"),
    notes.RetryPlanned: ("warn", "try {attempt} failed, the next follows after {ms} ms"),
    notes.CallsIgnored: ("bad", "ignored: {names}; {why}"),
    notes.CallRejected: ("bad", "{name} was not run: {code}: {message}"),
    notes.CallEnded: ("bad", "{name} failed: {codes}"),
    notes.CallAbandoned: ("bad", "{name} got no result: the run ended first"),
    notes.CallRepeated: ("warn", "{name} has had the same result {times} times; the model was warned"),
    notes.CallSkipped: ("warn", "{name} has succeeded before with these arguments; it was not run again"),
    notes.OutputCalled: ("info", "the answer came as a call of the final tool"),
    notes.ModelNudged: ("warn", "the model is asked to call a tool ({why}): {text}"),
    notes.ToolsWithheld: ("warn", "not offered, since the model repeats itself: {names}"),
    notes.OutputRejected: ("bad", "the answer does not fit the output; {asked_again}: {error}"),
    notes.RecoveryTried: ("warn", "an empty reply; the model is asked again"),
    notes.ToolsDropped: ("bad", "the server takes no tools, so the run goes on without: {message}"),
    notes.PartsLeftOut: ("warn", "the provider does not take {labels} of {name}"),
    notes.UserMessageKept: ("info", "the user spoke meanwhile; the next request says it"),
}
"""The sentence of each note that is not silent; names in braces are its fields, in words."""

# Notes hold codes as plain strings: records of other releases may have some that this one does not know.
_PROBLEMS: Final[Mapping[str, str]] = dict(PROBLEM_WORDS.items())
_REPAIRS: Final[Mapping[str, str]] = dict(WORDS.items())
_WHY: Final[Mapping[str, str]] = {
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


def note_sentence(note: Note) -> tuple[Level, str]:  # noqa: PLR0912 - a case for each note that needs one
    """The level of a note, and what it says; silent notes say nothing.

    >>> note_sentence(notes.RetryPlanned(1, attempt=1, ms=500))
    ('warn', 'try 1 failed, the next follows after 500 ms')
    """
    level, sentence = _SENTENCES.get(type(note), ("silent", ""))
    words: dict[str, Any] = {key: getattr(note, key) for key in note.__dataclass_fields__}
    for key, value in words.items():
        if isinstance(value, tuple):
            words[key] = "; ".join(value) if key == "left_out" else ", ".join(value)
    match note:
        case notes.OptionIgnored() | notes.CallsIgnored():
            words["why"] = _WHY[note.why]
        case notes.QuirkApplied():
            words["times"] = f", {note.times} times" if note.times > 1 else ""
        case notes.SummaryRequested():
            words["attempt"] = f", try {note.attempt}" if note.attempt > 1 else ""
        case notes.EndpointChanged():
            without = f"; {note.dropped} messages go there without their reasoning"
            words |= {"before": note.before or _FIRST, "dropped": without if note.dropped else ""}
        case notes.EndpointPinned():
            words["endpoint"] = note.endpoint or _FIRST
        case notes.RequestLost():
            words["status"] = f" {note.status}" if note.status else ""
        case notes.ModelNudged():
            words["text"] = " ".join(note.text.split())
        case notes.OutputRejected():
            words["asked_again"] = "the model is asked again" if note.asked_again else "the run ends"
        case notes.ReplyRead():
            words["problem"] = _with_sentence(note.problem, _PROBLEMS)
            level = level if note.problem else "silent"
        case notes.RepairApplied():
            words["code"] = _with_sentence(note.code, _REPAIRS)
        case notes.CallEnded():
            words["codes"] = words["codes"] or "without a code"
            level = "silent" if note.ok else level
        case _:
            pass
    return level, "" if level == "silent" else sentence.format(**words)


_FIRST: Final = "the plan's own endpoint"


def _with_sentence(code: str, sentences: Mapping[str, str]) -> str:
    """A code with its sentence, if it has one."""
    return f"{code}: {sentences[code]}" if code in sentences else code
