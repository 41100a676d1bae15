"""``fork``: continue a recorded run from one of its events, with something changed.

A fork keeps the first events of a record and continues from there. Since a run is a fold of its plan and its
events, you can change two things, alone or together:

- **the plan** (model, prompt, preset, limit, option, tools). The kept events stay as they were recorded,
  although the requests that they answer are different now; the state is computed under the changed plan.
- **one tool result**: that of the last kept event.

The events after the kept ones are new: performed live or by a script, taken from another record, or answered
by the record itself as far as it fits (:mod:`toolreel._replay.carry_over`). The journal of a fork has its own
plan and all events, with the fingerprints of the effects that they answer now, so it can be replayed and
forked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from toolreel._driver.ports import Journal, Observer, Performer, Wanted, tell
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


@dataclass(frozen=True, slots=True)
class Beginning:
    """The kept part of a fork; any driver continues it with ``go_on(begun.state, performer)``."""

    source: Recorded
    answered: tuple[Answered, ...]
    """The kept events, each with the effect that it answers under the changed plan."""
    state: State
    """The state after the kept events."""

    @property
    def plan(self) -> Plan:
        """The recorded plan with the changes."""
        return self.state.plan

    @property
    def kept(self) -> int:
        """The number of kept events."""
        return len(self.answered)


@dataclass(frozen=True, slots=True)
class Forked:
    """The result of a fork."""

    begun: Beginning
    answered: tuple[Answered, ...]
    """All events, the kept ones first."""
    run: Run
    stop: Stop | None = None
    """Where the answering record no longer fits; ``None`` if the run ended, or a performer answered."""

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the run; ``None`` if it has not ended."""
        return outcome_of(self.run)

    @property
    def recorded(self) -> Recorded:
        """The fork as a record; its ``text`` is the content of a journal file."""
        journal = MemoryJournal(self.begun.plan)
        for effect, event in self.answered:
            journal.record(effect, event)
        return parse_journal(journal.text, f"fork of {self.begun.source.source} at {self.begun.kept}")


def beginning(source: Source, at: int | str, changes: Changes = NOTHING_CHANGED) -> Beginning:
    """Keep the first events of a recorded run under a changed plan.

    :param source: a record, or the path of its journal or cassette
    :param at: number of events to keep, from 0 to all; or the id of a tool call, whose result is the last one
    :param changes: what to change
    :raises ForkError: if there is no such event, or no tool result to change; lists the events
    :raises toolreel.ReplayMismatch: if a kept event does not fit the run under the changed plan; names the
        event and the phase
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
    """Continue a recorded run from one of its events, with something changed.

    >>> from toolreel.demo._session import demo_cassette
    >>> forked = fork(demo_cassette(), 2, Changes(config={"max_turns": 2}))
    >>> len(forked.answered), forked.outcome
    (4, MaxTurns(limit=2))

    :param source: a record, or the path of its journal or cassette
    :param at: number of events to keep, from 0 to all; or the id of a tool call, whose result is the last one
    :param changes: what to change; the rest stays as recorded
    :param performer: performs the effects after the kept events, such as
        :class:`~toolreel._driver.performer.Ports`
    :param answers: another record, whose events after the kept ones answer as far as they fit; by default and
        without a performer, those of ``source``
    :param journal: makes a journal for the fork's plan; it then gets all events, the kept ones first
    :param observe: called with the notes after the last kept event, if there is a performer
    :returns: the fork with all its events; ``outcome`` is ``None`` if the answering record did not fit to the
        end
    :raises ForkError: if there is no such event, or nothing there to change; lists the events
    :raises AdapterError: if a record cannot be read
    :raises toolreel.ReplayMismatch: if a kept event does not fit the run under the changed plan
    """
    begun = beginning(source, at, changes)
    collected = _Collector(journal(begun.plan) if journal else None)
    for effect, event in begun.answered:
        collected.record(effect, event)
    if performer is not None:
        tell(observe, fold(begun.plan, collected.events).notes)
        go_on(begun.state, performer, journal=collected, observe=observe)
        return Forked(begun, tuple(collected.answered), retold(begun.plan, collected.events))
    run = Underway(begun.plan)
    for effect, event in begun.answered:
        run.take(effect, event)
    other = retrace(begun.source if answers is None else opened(answers))
    stop = carry(run, other.events[begun.kept :]) or ending(run, len(other.events))
    for effect, event in run.answered[begun.kept :]:
        collected.record(effect, event)
    return Forked(begun, tuple(run.answered), run.run, stop)


class _Collector:
    """A journal that keeps the events, and passes them to another one."""

    def __init__(self, inner: Journal | None) -> None:
        self.answered: list[Answered] = []
        self._inner = inner

    @property
    def events(self) -> list[Event]:
        return [event for _, event in self.answered]

    def record(self, effect: Wanted | None, event: Event) -> None:
        self.answered.append(Answered(effect, event))
        if self._inner is not None:
            self._inner.record(effect, event)


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
