"""Retraces a recorded run: its events in order, each with its effect, the state before it, and a summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple, assert_never

from toolreel._driver import NOT_MEASURED, EffectTime, Run, Timing, Wanted
from toolreel._journal import Record, Recorded
from toolreel_core._conversation import readable_parts
from toolreel_core._errors import ProtocolError, ReplayMismatch
from toolreel_core._loop import parse_reply_body, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    AskApproval,
    Finish,
    Note,
    RunTool,
    State,
    Step,
    Wait,
    events,
    fingerprint,
)
from toolreel_core._replies import ArgumentError, Reply


class Answered(NamedTuple):
    """An event of a run, and the effect that it answers."""

    effect: Wanted | None
    """``None`` for an event that answers none, such as a cancellation."""
    event: events.Event


class Underway:
    """A run in progress: its state, its pending effects and its events."""

    def __init__(self, plan: Plan) -> None:
        at = start(plan)
        self.state = at.state
        self.wanted: dict[int, Wanted] = {}
        """Pending effects by ``ref``; they stay after the end of the run, since answers may arrive late."""
        self.answered: list[Answered] = []
        self._notes = [*at.notes]
        self._await_effects(at)

    def take_event(self, effect: Wanted | None, event: events.Event) -> tuple[Note, ...]:
        """Feed an event that answers one of the pending effects, or none; returns what the run notes of it.

        :raises toolreel.errors.ProtocolError: if the event does not fit the state
        """
        at = step(self.state, event)
        self.answered.append(Answered(effect, event))
        self.state = at.state
        self._notes += at.notes
        if effect is not None:
            del self.wanted[effect.ref]
        self._await_effects(at)
        return at.notes

    @property
    def run(self) -> Run:
        """The run so far."""
        return Run(self.state, tuple(self._notes))

    def _await_effects(self, at: Step) -> None:
        self.wanted |= {effect.ref: effect for effect in at.effects if not isinstance(effect, Finish)}


def join_runs(before: Run, after: Run) -> Run:
    """A run and its continuation as one."""
    return Run(after.state, before.notes + after.notes, timing=before.timing + after.timing)


_LINE: Final = 100


@dataclass(frozen=True, slots=True)
class Traced:
    """One event of a recorded run."""

    record: Record
    effect: Wanted | None
    """The effect that it answers; ``None`` for an event that answers none."""
    before: State
    """The state before the event."""
    notes: tuple[Note, ...] = ()
    """What the run decided upon it."""

    @property
    def turn(self) -> int:
        """The turn that the run is in; 1 before the first."""
        return max(1, self.before.tally.turns)

    @property
    def summary(self) -> str:
        """The event in one line: the call and its result, or the calls or text of a reply."""
        return shorten_line(_event_summary(self))


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded run with all of its events."""

    recorded: Recorded
    events: tuple[Traced, ...]
    run: Run
    """The state after all events, and all notes."""


def retrace(recorded: Recorded) -> Trace:
    """Fold a record event by event, and check that every event answers the recorded effect.

    :raises toolreel.ReplayMismatch: if one does not; names its line
    """
    run, traced = Underway(recorded.plan), list[Traced]()
    for record in recorded.records:
        effect = None
        if record.fp is not None:
            answered = (each for each in run.wanted.values() if fingerprint(each) == record.fp)
            effect = next(answered, None)
            if effect is None:
                raise ReplayMismatch(
                    f"{recorded.source}, line {record.line}: this {record.kind} is not what the run wants "
                    "there; the record was edited, or toolreel has changed: record again"
                )
        before = run.state
        try:
            notes = run.take_event(effect, record.event)
        except ProtocolError as error:
            raise ReplayMismatch(f"{recorded.source}, line {record.line}: {error}") from None
        traced.append(Traced(record, effect, before, notes))
    # What nobody asked for, such as a message of the user, has no time.
    timing = Timing(
        tuple(
            EffectTime.of(
                one.effect, one.record.event, one.record.lap or NOT_MEASURED, one.before.tally.turns
            )
            for one in traced
            if one.effect is not None or one.record.lap is not None
        )
    )
    return Trace(recorded, tuple(traced), replace(run.run, timing=timing))


def shorten_line(text: str, length: int = _LINE) -> str:
    """The text in one line, shortened to ``length`` characters.

    >>> shorten_line("to be or not to be", 10)
    'to be or …'
    """
    line = text.replace("\n", "\\n")
    return line if len(line) <= length else line[: length - 1] + "…"


def _event_summary(traced: Traced) -> str:
    event, effect = traced.record.event, traced.effect
    called = "something that nobody asked for"
    if isinstance(effect, RunTool | AskApproval):
        called = f"{effect.name}({effect.arguments})"
    match event:
        case events.ReplyReceived():
            return f"reply: {_reply_in_words(parse_reply_body(event.body, traced.before).reply)}"
        case events.RequestFailed():
            return f"no reply: {event.message}"
        case events.ToolReturned():
            return f"{called} returned {event.output}"
        case events.ApprovalGiven():
            return f"{called} {'approved' if event.approved else 'denied'}"
        case events.WaitElapsed():
            return f"a wait of {effect.ms} ms elapsed" if isinstance(effect, Wait) else "a wait elapsed"
        case events.CancelRequested():
            return f"cancelled: {event.reason}" if event.reason else "cancelled"
        case events.UserSpoke():
            return f"the user said: {readable_parts(event.parts) or event.content}"
        case events.RunStarted():
            return "started"
        case _:
            assert_never(event)


def _reply_in_words(reply: Reply) -> str:
    """The calls of a reply, else its text, else what is wrong with it."""
    calls = (
        f"{call.name}({call.original if isinstance(call.arguments, ArgumentError) else call.arguments})"
        for call in reply.calls
    )
    if said := ", ".join(calls) or reply.content:
        return said
    return (reply.problem.code if reply.problem else "nothing") + (
        f", only reasoning: {reply.reasoning}" if reply.reasoning else ""
    )
