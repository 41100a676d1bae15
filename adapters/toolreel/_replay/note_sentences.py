"""What each note of a run says to its reader: `explain` and the page read the same sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Final, Literal, TypeAlias, assert_never

from toolreel._driver import Run
from toolreel._replay.trace import cut
from toolreel_core._jsontext import Json
from toolreel_core._plan import IgnoredWhy
from toolreel_core._protocol import Note, notes
from toolreel_core._replies import UNREPAIRED

Level: TypeAlias = Literal["bad", "warn", "info", "silent"]
"""How much a note matters to somebody who looks for what went wrong; ``silent``: shown in another place."""

_LONGEST: Final = 140
"""Characters of a warning above the turns."""
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
            return ("bad", f"the reply has a problem: {note.problem}") if note.problem else ("silent", "")
        case notes.RepairApplied():
            did = "noticed" if note.code in UNREPAIRED else "repaired"
            return "warn", f"{did} in the reply: {note.code}"
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
            return "warn", _NUDGES[note.why]
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


_FIRST_ENDPOINT: Final = "the plan's own endpoint"


def note_line(note: Note) -> str:
    """A note with all of its fields, in one line.

    >>> note_line(notes.RunSettled("completed"))
    'RunSettled: outcome completed'
    """
    shown = (
        f"{each.name} {value}"
        for each in fields(note)
        if each.name != "turn" and (value := getattr(note, each.name)) not in {"", None, ()}
    )
    return f"{type(note).__name__}: {', '.join(shown)}".removesuffix(": ")


def notes_for_page(found: Iterable[Note]) -> list[Json]:
    """The notes that are not silent, as lists of level, kind and sentence."""
    told = ((type(note).__name__, *note_sentence(note)) for note in found)
    return [[level, kind, words] for kind, level, words in told if level != "silent"]


def warnings_of(run: Run) -> list[tuple[Level, str, list[int]]]:
    """What is worth a warning above the turns, the worst first: level, sentence and turns of each."""
    found: dict[tuple[Level, str], list[int]] = {}
    for note in run.notes:
        level, words = note_sentence(note)
        if level in {"bad", "warn"}:
            turns, turn = found.setdefault((level, cut(words, _LONGEST)), []), getattr(note, "turn", 0)
            if turn and turn not in turns:
                turns.append(turn)
    for words in _unused_tools(run):
        found["warn", words] = []
    ordered = sorted(found.items(), key=lambda each: each[0][0] != "bad")
    return [(level, words, turns) for (level, words), turns in ordered]


def _unused_tools(run: Run) -> Iterator[str]:
    """Tools that were offered and never called: an answer may claim what none of them has done."""
    called = {note.name for note in run.notes if isinstance(note, notes.CallStarted)}
    tools = run.state.plan.tools
    offered = [each.name for each in tools.definitions]
    unused = [name for name in offered if not called & {name, tools.inner(name)}]
    if unused and len(unused) == len(offered):
        yield f"no tool was run, and {'1 was' if len(offered) == 1 else f'{len(offered)} were'} offered"
    elif 0 < len(unused) <= 8:
        yield f"offered and never run: {', '.join(unused)}"
