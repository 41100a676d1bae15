"""A run turn by turn, for people: requests, replies, repairs, calls and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, assert_never

from toolreel._driver import Run
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SentCall,
    ToolMessage,
    UserMessage,
    shown_content,
)
from toolreel_core._jsontext import Json, canonical, read
from toolreel_core._plan import IgnoredWhy
from toolreel_core._protocol import Completed, notes
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

    def remarked(self, text: str) -> TurnSummary:
        """This turn with one more remark."""
        return replace(self, remarks=(*self.remarks, text))


def story(run: Run) -> tuple[TurnSummary, ...]:
    """The turns of a run, in order; a run that waits has those so far."""
    turns: dict[int, TurnSummary] = {}
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
                turns[last.number] = last if ended == Completed.name else last.remarked(f"ended as {ended}")
                continue
            case (
                notes.PresetsApplied() | notes.OptionIgnored() | notes.SchemaReduced() | notes.TextCallsOff()
            ):
                number = 1
            case _:
                number = note.turn
        turns[number] = _noted(turns.get(number, TurnSummary(number)), note)
    for number, calls in zip(_calling(run.notes), _calls(run), strict=True):
        turns[number] = replace(turns[number], calls=_timed(calls, number, run))
    for number, answer in _answers(run):
        turns[number] = replace(turns[number], answer=answer)
    return tuple(replace(turn, ms=_request_ms(turn.number, run)) for turn in turns.values())


_IGNORED: Final[Mapping[notes.IgnoreReason, str]] = {
    "one_call": "the request says parallel_tool_calls: false, so the first call runs alone",
    "calls_per_turn": "max_tool_calls_per_turn allows no more calls in a reply",
    "tools_off": "the request offered no tools",
}
_WHY: Final[Mapping[IgnoredWhy, str]] = {
    "reserved": "the run's own to set",
    "with_tools": "refused together with tools",
    "without_tools": "refused without tools",
    "unsupported": "the provider does not take it",
}


def _noted(turn: TurnSummary, note: notes.Note) -> TurnSummary:  # noqa: PLR0912 - one sentence a note
    match note:
        case notes.PresetsApplied():
            return turn.remarked(f"presets: {', '.join(note.names)}")
        case notes.OptionIgnored():
            return turn.remarked(f"not sent: {note.key} ({_WHY[note.why]})")
        case notes.SchemaReduced():
            return turn.remarked(f"{note.name}: left out of its schema: {'; '.join(note.left_out)}")
        case notes.TextCallsOff():
            return turn.remarked("calls written as text are not read (text_dialects is empty)")
        case notes.RequestSent():
            is_retry = bool(turn.digest)
            return turn if is_retry else replace(turn, messages=note.messages, digest=note.digest)
        case notes.QuirkApplied():
            return replace(turn, quirks=tuple(dict.fromkeys((*turn.quirks, note.name))))
        case notes.HistoryShortened():
            counts = f"{note.messages_before} to {note.messages_after} messages"
            return turn.remarked(f"the window was full: {', '.join(note.policies)} took {counts}")
        case notes.SummaryRequested():
            again = f", try {note.attempt}" if note.attempt > 1 else ""
            return turn.remarked(
                f"the window was full: a summary of {note.messages} messages was asked for{again}"
            )
        case notes.HistorySummarized():
            counts = f"{note.messages_before} to {note.messages_after} messages"
            tokens = f"{note.tokens_before} to {note.tokens_after} tokens (estimated)"
            return turn.remarked(f"the summary took {counts}, {tokens}: {note.sample}")
        case notes.SummaryRejected():
            return turn.remarked(f"the summary was not used ({note.why})")
        case notes.UpstreamPinned():
            return turn.remarked(f"from now on only {note.upstream} is asked")
        case notes.EndpointChanged():
            went = f"{_endpoint(note.before)} failed ({note.why}), so it goes on at {note.after}"
            without = f"; {note.dropped} messages go there without their reasoning" if note.dropped else ""
            return turn.remarked(f"{went}{without}")
        case notes.EndpointPinned():
            held = f"{note.bound} messages have signatures or reasoning that only it may get back"
            failed = f"{_endpoint(note.endpoint)} failed ({note.why})"
            return turn.remarked(f"{failed}, and nobody else is asked: {held}")
        case notes.ReplyRead():
            return replace(turn, prompt_tokens=note.prompt_tokens, completion_tokens=note.completion_tokens)
        case notes.RepairApplied() if note.code in UNREPAIRED:
            return replace(turn, notices=(*turn.notices, note.code))
        case notes.RepairApplied():
            return replace(turn, repairs=(*turn.repairs, note.code))
        case notes.ContentStripped():
            return replace(turn, stripped=note.sample)
        case notes.RequestAbandoned():
            return turn.remarked("nobody waited for the reply: the run was cancelled")
        case notes.RequestLost():
            return turn.remarked(f"no reply: {note.failure}" + (f" {note.status}" if note.status else ""))
        case notes.RetryPlanned():
            return turn.remarked(f"try {note.attempt} failed, the next follows after {note.ms} ms")
        case notes.CallsIgnored():
            return turn.remarked(f"ignored: {', '.join(note.names)}; {_IGNORED[note.why]}")
        case notes.CallRepeated():
            return turn.remarked(
                f"{note.name} has had the same result {note.times} times; the model was warned"
            )
        case notes.ModelNudged():
            return turn.remarked(_asked(note.why))
        case notes.CallSkipped():
            return turn.remarked(
                f"{note.name} has succeeded before with these arguments; it was not run again"
            )
        case notes.ToolsWithheld():
            return turn.remarked(f"not offered, since the model repeats itself: {', '.join(note.names)}")
        case notes.OutputRejected():
            then = "the model is asked again" if note.asked_again else "the run ends"
            return turn.remarked(f"the answer does not fit the output; {then}: {note.error}")
        case notes.RecoveryTried():
            return turn.remarked("an empty reply; the model is asked again")
        case notes.ToolsDropped():
            return turn.remarked(f"the server takes no tools, so the run goes on without: {note.message}")
        case notes.ApprovalAsked():
            return replace(turn, approvals=(*turn.approvals, note.name))
        case notes.CallRejected() | notes.CallStarted() | notes.CallEnded() | notes.CallAbandoned():
            return turn
        case notes.PartsLeftOut():
            return turn.remarked(f"the provider does not take {', '.join(note.labels)} of {note.name}")
        case notes.UserMessagesAdded():
            return replace(turn, said=(*turn.said, *note.samples))
        case notes.UserMessageKept():
            return turn.remarked("the user spoke meanwhile; the next request says it")
        case notes.LateAnswer() | notes.RunSettled() | notes.ExchangeBegan() | notes.OutputCalled():
            return turn
        case _:
            assert_never(note)


def remarks_of(note: notes.Note) -> tuple[str, ...]:
    """What a note says to people, apart from repairs and counts; empty for most.

    >>> remarks_of(notes.RetryPlanned(1, attempt=1, ms=500))
    ('try 1 failed, the next follows after 500 ms',)
    """
    return _noted(TurnSummary(0), note).remarks


def _endpoint(name: str) -> str:
    return name or "the plan's own endpoint"


def _asked(why: notes.NudgeReason) -> str:
    match why:
        case "no_tool_calls" | "text_call_rejected":
            return f"the model is asked to call a tool ({why})"
        case "final_check":
            return "before its answer is final, the model is asked what is still to be done"
        case "unsupported_claim":
            return "the answer claims what no call has done; the model is asked again"
        case _:
            assert_never(why)


def _calling(recorded: Iterable[notes.Note]) -> tuple[int, ...]:
    """The turns whose reply had calls that were not ignored, in order."""
    kinds = (
        notes.CallRejected,
        notes.CallSkipped,
        notes.CallStarted,
        notes.CallAbandoned,
        notes.ApprovalAsked,
        notes.OutputCalled,
    )
    return tuple(dict.fromkeys(note.turn for note in recorded if isinstance(note, kinds)))


def _answers(run: Run) -> Iterator[tuple[int, str]]:
    """The text before each message that began an exchange, with the number of its turn."""
    began = {note.turn for note in run.notes if isinstance(note, notes.ExchangeBegan)}
    added = (note for note in run.notes if isinstance(note, notes.UserMessagesAdded))
    messages = tuple(run.state.messages.messages)
    at = len(run.state.plan.messages)
    for note in added:
        # The loop's own messages to the model are user messages, too: the text says which one is meant.
        while not _says(messages[at], note.samples[0]):
            at += 1
        before = messages[at - 1] if at else None
        if note.turn in began and isinstance(before, AssistantMessage) and not before.calls:
            yield note.turn - 1, before.content
        at += len(note.samples)


def _says(message: Message, sample: str) -> bool:
    return isinstance(message, UserMessage) and shown_content(message).startswith(sample)


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


def _request_ms(turn: int, run: Run) -> int | None:
    found = [took.ms for took in run.timing.requests if took.turn == turn]
    known = [ms for ms in found if ms is not None]
    return sum(known) if found and len(known) == len(found) else None


def _timed(calls: Iterable[tuple[str, CallSummary]], turn: int, run: Run) -> tuple[CallSummary, ...]:
    """The calls of a turn, each with the time of its tool; the ids are the key."""
    ms = {took.call_id: took.ms for took in run.timing.tools if took.turn == turn}
    return tuple(replace(call, ms=ms.get(id_)) for id_, call in calls)


def _call(call: SentCall, result: ToolMessage, provenance: str) -> CallSummary:
    match read(result.content).value_or(result.content):
        case {"ok": False, "errors": [*errors]}:
            reasons = "; ".join(_reason(error) for error in errors)
            return CallSummary(call.name, call.arguments, provenance, False, reasons)
        case {"ok": True, "tool_name": _, "data": data}:
            return CallSummary(call.name, call.arguments, provenance, True, canonical(data))
        case data:
            return CallSummary(call.name, call.arguments, provenance, True, canonical(data))


def _reason(error: Json) -> str:
    match error:
        case {"code": code, "message": message}:
            return f"{code}: {message}"
        case _:
            return canonical(error)
