"""Retraces a recorded run: its events in order, each with its effect, the state before it, and a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, assert_never

from toolreel._driver import (
    NOT_MEASURED,
    EffectTime,
    Journal,
    Lap,
    Run,
    Timing,
    Wanted,
    record,
    register_journal_secrets,
)
from toolreel._journal import JournalRecord, Recorded
from toolreel_core._conversation import readable_parts_text
from toolreel_core._errors import ProtocolError, ReplayMismatch
from toolreel_core._loop import parse_reply_body, pending, start, step
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
    """A run in progress, event by event; a driver may use it as its journal."""

    keeps_times: Final = True

    def __init__(self, begun: Plan | Run, journal: Journal | None = None) -> None:
        self._took: list[EffectTime] = []
        if isinstance(begun, Plan):
            self.at = start(begun)
        else:
            self.at = Step(begun.state, pending(begun.state), begun.notes)
            self._took += begun.timing.took
        self.wanted: dict[int, Wanted] = {}
        """Pending effects by ``ref``; they stay after the end of the run, since answers may arrive late."""
        self.answered: list[Answered] = []
        """What was taken here."""
        self.watch: Callable[[Answered, Lap, State], None] | None = None
        """Called with each event once it is recorded, its times, and the state after it."""
        self._notes = [*self.at.notes]
        self._journal = journal
        self._add_wanted_effects()

    @property
    def state(self) -> State:
        return self.at.state

    @property
    def run(self) -> Run:
        return Run(self.state, tuple(self._notes), timing=Timing(tuple(self._took)))

    def take_event(
        self, effect: Wanted | None, event: events.Event, lap: Lap | None = None
    ) -> tuple[Note, ...]:
        """Returns what the run notes of it."""
        turn = self.state.tally.turns
        self.at = step(self.state, event)
        self.answered.append(Answered(effect, event))
        self._notes += self.at.notes
        if lap is not None:
            self._took.append(EffectTime.of(effect, event, lap, turn))
        if effect is not None:
            del self.wanted[effect.ref]
        self._add_wanted_effects()
        return self.at.notes

    def record(self, effect: Wanted | None, event: events.Event, lap: Lap | None = None) -> events.Event:
        """Record an event, and take it as it was written; also if the journal cannot write it."""
        written = event
        try:
            written = record(self._journal, effect, event, lap)
        finally:
            self.take_event(effect, written, lap)
        if self.watch:
            self.watch(self.answered[-1], lap or NOT_MEASURED, self.state)
        return written

    def withhold(self, secrets: Mapping[str, str]) -> None:
        register_journal_secrets(self._journal, secrets)

    def _add_wanted_effects(self) -> None:
        self.wanted |= {each.ref: each for each in self.at.effects if not isinstance(each, Finish)}


def join_runs(before: Run, after: Run) -> Run:
    return Run(after.state, before.notes + after.notes, timing=before.timing + after.timing)


_LINE = 100
"""Characters of a summary."""


@dataclass(frozen=True, slots=True)
class Traced:
    record: JournalRecord
    effect: Wanted | None
    before: State
    notes: tuple[Note, ...] = ()
    """What the run decided upon it."""

    @property
    def turn(self) -> int:
        """The turn that the run is in; 1 before the first."""
        return max(1, self.before.tally.turns)

    @property
    def summary(self) -> str:
        return shorten_line(_event_summary(self))


@dataclass(frozen=True, slots=True)
class Trace:
    recorded: Recorded
    events: tuple[Traced, ...]
    run: Run


def retrace(recorded: Recorded) -> Trace:
    """:raises toolreel.ReplayMismatch: if an event does not answer the recorded effect; names its line"""
    run, traced = Underway(recorded.plan), list[Traced]()
    for line in recorded.records:
        effect = None
        if line.fp is not None:
            answered = (each for each in run.wanted.values() if fingerprint(each) == line.fp)
            effect = next(answered, None)
            if effect is None:
                raise ReplayMismatch(
                    f"{recorded.source}, line {line.line}: this {line.kind} is not what the run wants "
                    "there; the record was edited, or toolreel has changed: record again"
                )
        before = run.state
        # What nobody asked for, such as a message of the user, has no time.
        lap = line.lap or (None if effect is None else NOT_MEASURED)
        try:
            notes = run.take_event(effect, line.event, lap)
        except ProtocolError as error:
            raise ReplayMismatch(f"{recorded.source}, line {line.line}: {error}") from None
        traced.append(Traced(line, effect, before, notes))
    return Trace(recorded, tuple(traced), run.run)


def shorten_line(text: str, length: int = _LINE) -> str:
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
            return f"the user said: {readable_parts_text(event.parts) or event.content}"
        case events.RunStarted():
            return "started"
        case _:
            assert_never(event)


def _reply_in_words(reply: Reply) -> str:
    calls = (
        f"{call.name}({call.original if isinstance(call.arguments, ArgumentError) else call.arguments})"
        for call in reply.calls
    )
    if said := ", ".join(calls) or reply.content:
        return said
    return (reply.problem.code if reply.problem else "nothing") + (
        f", only reasoning: {reply.reasoning}" if reply.reasoning else ""
    )
