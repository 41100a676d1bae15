"""A run told turn by turn, for people: what was asked, what came, what was mended, what the tools said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final, TypeAlias, assert_never, cast

from toolreel._driver.run import Run
from toolreel_core._conversation.message import AssistantMessage, SentCall, ToolMessage
from toolreel_core._jsontext.canonical import Json, JsonText, canonical, parse
from toolreel_core._plan.request import IgnoredWhy
from toolreel_core._protocol.notes import (
    ApprovalAsked,
    CallAbandoned,
    CallEnded,
    CallRejected,
    CallRepeated,
    CallsIgnored,
    CallStarted,
    ContentStripped,
    HistoryShortened,
    LateAnswer,
    ModelNudged,
    Note,
    OptionIgnored,
    PresetsApplied,
    QuirkApplied,
    RecoveryTried,
    RepairApplied,
    ReplyRead,
    RequestAbandoned,
    RequestLost,
    RequestSent,
    RetryPlanned,
    RunSettled,
    ToolsDropped,
    UpstreamPinned,
)


@dataclass(frozen=True, slots=True)
class CallTold:
    """One tool call and its result."""

    name: str
    arguments: str
    provenance: str
    """``structured``, ``legacy`` or ``text:<dialect>``; empty for a call that never ran."""
    ok: bool
    result: str
    """What the tool said, or why the call failed."""


@dataclass(frozen=True, slots=True)
class TurnTold:
    """One request and what came of it."""

    number: int
    messages: int = 0
    """Messages that were sent."""
    digest: str = ""
    """The request's digest."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    repairs: tuple[str, ...] = ()
    """What was mended in the reply, by code."""
    quirks: tuple[str, ...] = ()
    """Settings for the provider, and transforms, that changed something."""
    stripped: str = ""
    """Beginning of the text that stood beside calls and was kept out of the history."""
    calls: tuple[CallTold, ...] = ()
    remarks: tuple[str, ...] = ()
    """What else was decided in this turn, in words."""

    def remarked(self, text: str) -> TurnTold:
        """This turn with one more remark."""
        return replace(self, remarks=(*self.remarks, text))


def story(run: Run) -> tuple[TurnTold, ...]:
    """The turns of a run, in order; one that rests tells what has happened so far."""
    turns: dict[int, TurnTold] = {}
    for note in run.notes:
        match note:
            case LateAnswer() | RunSettled():
                continue
            case PresetsApplied() | OptionIgnored():
                turns[1] = _opened(turns.get(1, TurnTold(1)), note)
            case _:
                turns[note.turn] = _noted(turns.get(note.turn, TurnTold(note.turn)), note)
    for number, calls in zip(_calling(run.notes), _calls(run), strict=True):
        turns[number] = replace(turns[number], calls=calls)
    return tuple(turns.values())


def _opened(turn: TurnTold, note: PresetsApplied | OptionIgnored) -> TurnTold:
    match note:
        case PresetsApplied():
            return turn.remarked(f"presets: {', '.join(note.names)}")
        case OptionIgnored():
            return turn.remarked(f"not sent: {note.key} ({_WHY[note.why]})")
        case _:
            assert_never(note)


_WHY: Final[Mapping[IgnoredWhy, str]] = {
    "reserved": "the run's own to set",
    "with_tools": "refused beside tools",
    "without_tools": "refused without tools",
    "unsupported": "the provider does not take it",
}


Told: TypeAlias = (
    RequestSent
    | QuirkApplied
    | HistoryShortened
    | UpstreamPinned
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
)


def _noted(turn: TurnTold, note: Told) -> TurnTold:  # noqa: PLR0912 - one sentence a note
    match note:
        case RequestSent():
            asked_before = bool(turn.digest)
            return turn if asked_before else replace(turn, messages=note.messages, digest=note.digest)
        case QuirkApplied():
            return replace(turn, quirks=tuple(dict.fromkeys((*turn.quirks, note.name))))
        case HistoryShortened():
            counts = f"{note.messages_before} to {note.messages_after} messages"
            return turn.remarked(f"the window was full: {', '.join(note.policies)} took {counts}")
        case UpstreamPinned():
            return turn.remarked(f"from now on only {note.upstream} is asked")
        case ReplyRead():
            return replace(turn, prompt_tokens=note.prompt_tokens, completion_tokens=note.completion_tokens)
        case RepairApplied():
            return replace(turn, repairs=(*turn.repairs, note.code))
        case ContentStripped():
            return replace(turn, stripped=note.sample)
        case RequestAbandoned():
            return turn.remarked("nobody waited for the reply: the run was cancelled")
        case RequestLost():
            return turn.remarked(f"no reply: {note.failure}" + (f" {note.status}" if note.status else ""))
        case RetryPlanned():
            return turn.remarked(f"try {note.attempt} failed, the next follows after {note.ms} ms")
        case CallsIgnored():
            return turn.remarked(f"ignored ({note.why}): {', '.join(note.names)}")
        case CallRepeated():
            return turn.remarked(
                f"{note.name} has had the same result {note.times} times; the model was warned"
            )
        case ModelNudged():
            return turn.remarked(f"the model is asked to call a tool ({note.why})")
        case RecoveryTried():
            return turn.remarked("an empty answer; the model is asked for it once more")
        case ToolsDropped():
            return turn.remarked(f"the server takes no tools, so the run goes on without: {note.message}")
        case ApprovalAsked():
            return turn.remarked(f"{note.name} needs approval")
        case CallRejected() | CallStarted() | CallEnded() | CallAbandoned():
            return turn
        case _:
            assert_never(note)


def _calling(notes: Iterable[Note]) -> tuple[int, ...]:
    """The turns whose reply had calls that were heard, in order."""
    heard = (CallRejected, CallStarted, CallAbandoned, ApprovalAsked)
    return tuple(dict.fromkeys(note.turn for note in notes if isinstance(note, heard)))


def _calls(run: Run) -> Iterator[tuple[CallTold, ...]]:
    """The calls of each assistant message that has some, as far as they have come back."""
    provenance = {note.call_id: note.provenance for note in run.notes if isinstance(note, CallStarted)}
    said = tuple(run.state.messages.messages)[len(run.state.plan.messages) :]
    for at, message in enumerate(said):
        if isinstance(message, AssistantMessage) and message.calls:
            results = takewhile(lambda later: isinstance(later, ToolMessage), said[at + 1 :])
            yield tuple(
                _call(call, result, provenance.get(call.id, ""))
                for call, result in zip(message.calls, results, strict=False)
                if isinstance(result, ToolMessage)
            )


def _call(call: SentCall, result: ToolMessage, provenance: str) -> CallTold:
    envelope = cast("Mapping[str, Json]", parse(JsonText(result.content)))
    if envelope.get("ok", True):
        return CallTold(
            call.name, call.arguments, provenance, True, canonical(envelope.get("data", envelope))
        )
    errors = cast("list[Mapping[str, str]]", envelope.get("errors", []))
    told = "; ".join(f"{error['code']}: {error['message']}" for error in errors)
    return CallTold(call.name, call.arguments, provenance, False, told)
