"""Forking a recorded run: how it would have gone on if one thing had been different.

A fork keeps the first events of a record and goes on from there. Since a run is a fold of its plan
and its events, two things can be changed, alone or together:

- **the plan** (model, prompt, preset, limit, option, tools). The events that are kept stand as they
  were recorded: the replies and the results of tools are the recorded ones, although the requests
  that they answer are now others. What follows from them is worked out anew under the changed plan.
- **one tool's result**: that of the last event which is kept. All before it is as it was.

Everything after the kept events is new: performed live, by a script, taken from another record, or
answered by the record itself as far as that carries (:mod:`toolreel._replay.carry_over`). The journal
of a fork begins with its own plan and holds all events, the kept ones with the fingerprints of the
effects that they answer now, so it is a record like any other: it replays, and can be forked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from toolreel._driver.observers import tell
from toolreel._driver.ports import Journal, Observer, Performer, Wanted
from toolreel._driver.run import Run, outcome_of, retold
from toolreel._driver.sync import go_on
from toolreel._errors import ForkError
from toolreel._journal.record import MemoryJournal, Recorded, parse_journal
from toolreel._replay.carry_over import Stop, carry, ending
from toolreel._replay.changes import NOTHING_CHANGED, Changes
from toolreel._replay.run_in_progress import Answered, Underway
from toolreel._replay.trace import Source, Trace, Traced, opened, retrace
from toolreel_core._errors import ReplayMismatch
from toolreel_core._loop.reducer import fold
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import Event, ToolReturned
from toolreel_core._protocol.outcome import Outcome
from toolreel_core._protocol.state import State

__all__ = ["Beginning", "Forked", "beginning", "fork"]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a fork keeps, from which any driver can go on: ``go_on(begun.state, performer)``."""

    source: Recorded
    answered: tuple[Answered, ...]
    """The events that are kept, and what they answer under the changed plan."""
    state: State
    """The run after them."""

    @property
    def plan(self) -> Plan:
        """The recorded plan with the changes."""
        return self.state.plan

    @property
    def kept(self) -> int:
        """How many events are kept."""
        return len(self.answered)


@dataclass(frozen=True, slots=True)
class Forked:
    """A fork that has gone on as far as it could."""

    begun: Beginning
    answered: tuple[Answered, ...]
    """All events, the kept ones first."""
    run: Run
    stop: Stop | None = None
    """Where the record that answers does not carry on; ``None`` for a run that ended, or has a performer."""

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended; ``None`` if it has not."""
        return outcome_of(self.run)

    @property
    def recorded(self) -> Recorded:
        """The fork as a record of its own; its text is what a journal's file would hold."""
        journal = MemoryJournal(self.begun.plan)
        for effect, event in self.answered:
            journal.record(effect, event)
        return parse_journal(journal.text, f"fork of {self.begun.source.source} at {self.begun.kept}")


def beginning(source: Source, at: int | str, changes: Changes = NOTHING_CHANGED) -> Beginning:
    """Keep the first events of a recorded run under a changed plan.

    :param at: how many events are kept, from 0 to all of them; or the id of a tool call, whose result is
        then the last of them
    :raises ForkError: if there is no such event, or no tool's result there to be changed; lists the events
    :raises toolreel.ReplayMismatch: if a kept event answers nothing that the run wants under the changed
        plan; names the event and the phase
    """
    trace = retrace(opened(source))
    kept = [*_kept(trace, at)]
    if changes.tool_result is not None:
        kept[-1:] = [_with_result(trace, kept, changes.tool_result)]
    run = Underway(changes.plan(trace.recorded.plan))
    stop = carry(run, kept)
    if len(run.answered) < len(kept):
        raise ReplayMismatch(_not_carried(trace, run, stop))
    return Beginning(trace.recorded, tuple(run.answered), run.state)


def fork(
    source: Source,
    at: int | str,
    changes: Changes = NOTHING_CHANGED,
    *,
    performer: Performer | None = None,
    answers: Source | None = None,
    journal: Callable[[Plan], Journal] | None = None,
    observe: Observer | None = None,
) -> Forked:
    """Go on from an event of a recorded run with something changed.

    >>> from toolreel.demo._session import demo_cassette
    >>> forked = fork(demo_cassette(), 2, Changes(config={"max_turns": 2}))
    >>> len(forked.answered), forked.outcome
    (4, MaxTurns(limit=2))

    :param source: a record, or the path of its journal or cassette
    :param at: how many events are kept, or the id of the tool call whose result is the last of them
    :param performer: performs what is wanted after them, such as :class:`~toolreel._driver.performer.Ports`
    :param answers: another record, whose events after that many answer as far as they carry; without it and
        without a performer, ``source`` itself does
    :param journal: makes a journal of the fork's plan, which is then told every event, the kept ones first
    :param observe: is shown what the last of the kept events led to, and what a performer leads to
    :raises ForkError: as :func:`beginning` does, which also says what else is raised
    """
    begun = beginning(source, at, changes)
    heard = _Heard(journal(begun.plan) if journal else None)
    for effect, event in begun.answered:
        heard.record(effect, event)
    if performer is not None:
        tell(observe, fold(begun.plan, heard.events).notes)
        go_on(begun.state, performer, journal=heard, observe=observe)
        return Forked(begun, tuple(heard.answered), retold(begun.plan, heard.events))
    run = Underway(begun.plan)
    for effect, event in begun.answered:
        run.take(effect, event)
    other = retrace(begun.source if answers is None else opened(answers))
    stop = carry(run, other.events[begun.kept :]) or ending(run, len(other.events))
    for effect, event in run.answered[begun.kept :]:
        heard.record(effect, event)
    return Forked(begun, tuple(run.answered), run.run, stop)


class _Heard:
    """A journal that keeps what it is told, and hands it on."""

    def __init__(self, beyond: Journal | None) -> None:
        self.answered: list[Answered] = []
        self._beyond = beyond

    @property
    def events(self) -> list[Event]:
        return [event for _, event in self.answered]

    def record(self, effect: Wanted | None, event: Event) -> None:
        self.answered.append(Answered(effect, event))
        if self._beyond is not None:
            self._beyond.record(effect, event)


def _kept(trace: Trace, at: int | str) -> tuple[Traced, ...]:
    match at:
        case int():
            if 0 <= at <= len(trace.events):
                return trace.events[:at]
            why = f"there is no event {at} to fork at"
        case str():
            found = [traced for traced in trace.events if _is_result(traced, at)]
            if len(found) == 1:
                return trace.events[: found[0].record.n]
            several = ", ".join(str(traced.record.n) for traced in found)
            why = f"the call id {at!r} was used several times, in events {several}; name one by its number"
            why = why if found else f"there is no result of a call {at!r} to fork at"
        case _:
            assert_never(at)
    raise _error(trace, why)


def _is_result(traced: Traced, call_id: str) -> bool:
    return isinstance(traced.effect, RunTool) and traced.effect.call_id == call_id


def _with_result(trace: Trace, kept: list[Traced], output: str) -> Traced:
    last = kept[-1] if kept else None
    if last is None or not isinstance(last.record.event, ToolReturned):
        raise _error(trace, f"event {len(kept)} is no result of a tool, so there is none to change")
    event = replace(last.record.event, output=output)
    return replace(last, record=replace(last.record, event=event))


def _error(trace: Trace, why: str) -> ForkError:
    count = len(trace.events)
    return ForkError(
        f"{trace.recorded.source}: {why}; the run can be forked at 0 (before all) to {count}, after one of:\n"
        f"{trace.told}"
    )


def _not_carried(trace: Trace, run: Underway, stop: Stop | None) -> str:
    n, outcome = len(run.answered) + 1, outcome_of(run.run)
    why = f"the run is in phase Settled after event {n - 1}, as {outcome.name}" if outcome else ""
    return (
        f"{trace.recorded.source}, event {n}: it does not fit the changed run: {stop.why if stop else why}. "
        f"Fork at {n - 1} or before. The event: {trace.events[n - 1].told}"
    )
