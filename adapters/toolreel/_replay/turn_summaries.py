"""A run turn by turn, for people: requests, replies, repairs, calls and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final

from toolreel._driver import Run
from toolreel_core._conversation import (
    AssistantMessage,
    SentCall,
    ToolMessage,
    UserMessage,
    shown_content,
)
from toolreel_core._jsontext import canonical, read
from toolreel_core._protocol import Completed, note_sentence, notes
from toolreel_core._replies import UNREPAIRED


@dataclass(frozen=True, slots=True)
class CallSummary:
    """One tool call and its result."""

    name: str
    arguments: str
    provenance: str
    """``structured``, ``legacy`` or ``text:<dialect>``; empty for a call that never ran."""
    ok: bool
    result: str
    """The tool's output, or why the call failed."""
    ms: int | None = field(default=None, compare=False)
    """How long the tool ran, if that is known."""


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """One request, its reply, and the calls in it."""

    number: int
    messages: int = 0
    """Messages that were sent."""
    digest: str = ""
    """The request's digest."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    repairs: tuple[str, ...] = ()
    """Codes of the repairs to the reply."""
    notices: tuple[str, ...] = ()
    """Codes of what was noticed in the reply and left as it was, or skipped."""
    quirks: tuple[str, ...] = ()
    """Provider settings and transforms that changed something."""
    stripped: str = ""
    """Beginning of the text next to calls that was left out of the history."""
    approvals: tuple[str, ...] = ()
    """Names of tools for whose calls approval was asked."""
    calls: tuple[CallSummary, ...] = ()
    remarks: tuple[str, ...] = ()
    """Other decisions of the loop in this turn, in words."""
    said: tuple[str, ...] = ()
    """Beginning of each message of the user that this request is the first to send; not of the plan's."""
    answer: str = ""
    """The model's text, if an exchange of a conversation ended here and another one followed."""
    ms: int | None = field(default=None, compare=False)
    """How long the request took, with its repetitions, if that is known."""


def story(run: Run) -> tuple[TurnSummary, ...]:
    """The turns of a run, in order; a run that waits has those so far."""
    turns: dict[int, TurnSummary] = {}
    times: dict[int, list[int | None]] = {}
    number, ended = 1, ""
    for note in run.notes:
        match note:
            case notes.RunSettled():
                ended = note.outcome
                continue
            case notes.LateAnswer():
                continue
            case notes.ExchangeBegan():
                last = turns.get(note.turn - 1, TurnSummary(max(1, note.turn - 1)))
                remark = () if ended == Completed.name else (f"ended as {ended}",)
                turns[last.number] = replace(last, remarks=(*last.remarks, *remark))
                continue
            case (
                notes.PresetsApplied() | notes.OptionIgnored() | notes.SchemaReduced() | notes.TextCallsOff()
            ):
                number = 1  # noted before the first request
            case _:
                number = note.turn
        turns[number] = _noted(turns.get(number, TurnSummary(number)), note)
    # The turns whose reply had calls that were not ignored, in order, as their messages are
    calling = dict.fromkeys(note.turn for note in run.notes if isinstance(note, _ABOUT_CALLS))
    tool_ms = {(took.turn, took.call_id): took.ms for took in run.timing.tools}
    for number, calls in zip(calling, _calls(run), strict=True):
        timed = tuple(replace(call, ms=tool_ms.get((number, id_))) for id_, call in calls)
        turns[number] = replace(turns[number], calls=timed)
    for number, answer in _answers(run):
        turns[number] = replace(turns[number], answer=answer)
    for took in run.timing.requests:  # the time of a turn is known if that of each try is
        times.setdefault(took.turn, []).append(took.ms)
    known = {turn: sum(filter(None, ms)) for turn, ms in times.items() if None not in ms}
    return tuple(replace(turn, ms=known.get(turn.number)) for turn in turns.values())


_ABOUT_CALLS: Final = (
    notes.CallRejected,
    notes.CallSkipped,
    notes.CallStarted,
    notes.CallAbandoned,
    notes.ApprovalAsked,
    notes.OutputCalled,
)


def _noted(turn: TurnSummary, note: notes.Note) -> TurnSummary:
    """The turn with what a note says: in a field of its own, or else as a remark."""
    match note:
        case notes.RequestSent():
            is_retry = bool(turn.digest)
            return turn if is_retry else replace(turn, messages=note.messages, digest=note.digest)
        case notes.QuirkApplied():
            return replace(turn, quirks=tuple(dict.fromkeys((*turn.quirks, note.name))))
        case notes.ReplyRead():
            return replace(turn, prompt_tokens=note.prompt_tokens, completion_tokens=note.completion_tokens)
        case notes.RepairApplied():
            if note.code in UNREPAIRED:
                return replace(turn, notices=(*turn.notices, note.code))
            return replace(turn, repairs=(*turn.repairs, note.code))
        case notes.ContentStripped():
            return replace(turn, stripped=note.sample)
        case notes.ApprovalAsked():
            return replace(turn, approvals=(*turn.approvals, note.name))
        case notes.UserMessagesAdded():
            return replace(turn, said=(*turn.said, *note.samples))
        case notes.CallRejected() | notes.CallEnded() | notes.CallAbandoned() | notes.OutputCalled():
            return turn  # the call is shown with its result
        case _:
            _, sentence = note_sentence(note)
            return replace(turn, remarks=(*turn.remarks, sentence)) if sentence else turn


def _answers(run: Run) -> Iterator[tuple[int, str]]:
    """The text before each message that began an exchange, with the number of its turn."""
    began = {note.turn for note in run.notes if isinstance(note, notes.ExchangeBegan)}
    added = (note for note in run.notes if isinstance(note, notes.UserMessagesAdded))
    messages = tuple(run.state.messages.messages)
    at = len(run.state.plan.messages)
    for note in added:
        # The loop's own messages to the model are user messages, too: the text says which one is meant.
        while not (
            isinstance(message := messages[at], UserMessage)
            and shown_content(message).startswith(note.samples[0])
        ):
            at += 1
        before = messages[at - 1] if at else None
        if note.turn in began and isinstance(before, AssistantMessage) and not before.calls:
            yield note.turn - 1, before.content
        at += len(note.samples)


def _calls(run: Run) -> Iterator[tuple[tuple[str, CallSummary], ...]]:
    """The calls of each assistant message that have a result, each with its id."""
    provenance = {note.call_id: note.provenance for note in run.notes if isinstance(note, notes.CallStarted)}
    messages = tuple(run.state.messages.messages)[len(run.state.plan.opening) :]
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.calls:
            results = takewhile(lambda later: isinstance(later, ToolMessage), messages[at + 1 :])
            yield tuple(
                (call.id, _call(call, result, provenance.get(call.id, "")))
                for call, result in zip(message.calls, results, strict=False)
                if isinstance(result, ToolMessage)
            )


def _call(call: SentCall, result: ToolMessage, provenance: str) -> CallSummary:
    match read(result.content).value_or(result.content):
        case {"ok": False, "errors": [*errors]}:
            reasons = [
                f"{error['code']}: {error['message']}"
                if isinstance(error, Mapping) and {"code", "message"} <= error.keys()
                else canonical(error)
                for error in errors
            ]
            return CallSummary(call.name, call.arguments, provenance, False, "; ".join(reasons))
        case {"ok": True, "tool_name": _, "data": data} | data:
            return CallSummary(call.name, call.arguments, provenance, True, canonical(data))
