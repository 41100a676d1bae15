"""A run that a driver performs: the part of both drivers that does no I/O.

A driver looks into the inbox before it records the answer to an effect. So the order of the events in the
journal is the order in which the run has taken them, and a replay gives it the same messages at the same
places.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import inf
from typing import TypeAlias

from toolreel._driver.endpoints import server_of
from toolreel._driver.inbox import Incoming, message_of
from toolreel._driver.ports import Journal, Observer, Wanted, ending_at, notify, secrets_of, withhold
from toolreel._driver.run_result import Run
from toolreel._driver.timing import EffectTime, Lap, Timing
from toolreel._driver.watch import WATCHERS, Begun, Watch, Watches
from toolreel_core._conversation import Said, unsupported_part_error
from toolreel_core._errors import ConfigError
from toolreel_core._loop import pending, step
from toolreel_core._protocol import (
    CancelRequested,
    Completed,
    Event,
    Finish,
    RunStarted,
    Settled,
    State,
    Step,
    UserSpoke,
)

Taken: TypeAlias = tuple[Wanted | None, Event]
"""An event that the run has taken, with the effect that it answers."""
Answer: TypeAlias = tuple[Wanted, Event | None]
"""An effect with the event that answers it; ``None`` if an approver has not decided."""


def watch_logs(begun: Begun) -> Watch:
    """Log a run."""
    from toolreel._driver.log_watch import LogWatch  # it imports what describes outcomes

    return LogWatch(begun)


WATCHERS.append(watch_logs)


class LapTimes:
    """The times of what a driver performs, from its begin on.

    The clock is that of the ports if it tells the time (``now``, in seconds), else the system's. A performer
    that answers from a record has a method ``lap_of``: the recorded times of an effect that it has answered,
    or ``None`` if it was performed just now. Effects that run together are started and stopped in threads of
    their own, and taken by the driver, in its order.
    """

    def __init__(self, performer: object) -> None:
        self._now: Callable[[], float] = getattr(getattr(performer, "clock", None), "now", time.monotonic)
        self._recorded: Callable[[Wanted], Lap | None] | None = getattr(performer, "lap_of", None)
        self._began = self._now()
        self._counted = 0
        """The milliseconds since then that are in laps."""
        self._times: dict[int, list[float]] = {}
        """When each effect was started, when its first piece came, if it was streamed, and when it ended."""
        self._took: list[tuple[Wanted, Event, Lap, int]] = []

    @property
    def timing(self) -> Timing:
        """The times so far."""
        return Timing(
            tuple(EffectTime.of(effect, event, lap, turn) for effect, event, lap, turn in self._took)
        )

    def start(self, effect: Wanted) -> None:
        """Note that an effect begins."""
        self._times[effect.ref] = [self._now()]

    def note_piece(self, effect: Wanted) -> bool:
        """Note that a piece of a reply has come; whether it is the first."""
        times = self._times[effect.ref]
        if is_first := len(times) == 1:
            times.append(self._now())
        return is_first

    def stop(self, effect: Wanted) -> None:
        """Note that an effect has ended."""
        self._times[effect.ref].append(self._now())

    def pop_lap(self, effect: Wanted, event: Event, turn: int) -> Lap:
        """The times of an effect that has ended, of the event that came of it, in this turn."""
        started, *first, ended = self._times.pop(effect.ref)
        lap = None if self._recorded is None else self._recorded(effect)
        if lap is None:
            first_ms = _ms(first[0] - started) if first else None
            lap = Lap(_ms(ended - started), self._count_elapsed(ended), first_ms)
        else:  # what follows goes on from here: reading a record takes a run no time
            self._began, self._counted = ended, 0
        self._took.append((effect, event, lap, turn))
        return lap

    def lap_since_last(self) -> Lap:
        """The time since the last effect that ended: that of what is cancelled now."""
        passed = self._count_elapsed(self._now())
        return Lap(passed, passed)

    def _count_elapsed(self, now: float) -> int:
        # Less than 0: of several that ran together, one that was done before the others.
        passed = max(0, _ms(now - self._began) - self._counted)
        self._counted += passed
        return passed


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def record(journal: Journal | None, effect: Wanted | None, event: Event, lap: Lap | None) -> Event:
    """Record an event, with its times in a journal that keeps them; the event that the run continues with.

    A journal that keeps them says so by ``keeps_times``.
    """
    if journal is None:
        return event
    keep: Callable[..., Event | None] = journal.record
    keeps_times = lap is not None and getattr(journal, "keeps_times", False)
    return (keep(effect, event, lap) if keeps_times else keep(effect, event)) or event


class EffectScopes:
    """Puts the time on events, limits the time of effects, and lets watchers surround them.

    The core has no clock: time reaches it only on events, so that a replay makes the same decisions. A run
    whose plan does not limit its time has none on its events.

    :param state: where the run begins, or goes on with its time so far
    """

    def __init__(self, state: State, watches: Watches) -> None:
        self._watches = watches
        self._began = time.monotonic() - state.tally.at_ms / 1000
        self.renew_limit(state)

    def renew_limit(self, state: State) -> None:
        """Take the limit of the present exchange, which may have begun since the last effect."""
        limit = state.plan.config.max_wall_ms
        self._ends_at = inf if limit is None else self._began + (state.exchange_began.at_ms + limit) / 1000

    def scope_of(self, effect: Wanted) -> AbstractContextManager[None]:
        """The scope in which an effect is performed, or the next piece of a reply is read."""
        watched = self._watches.performing(effect)
        return watched if self._ends_at == inf else ending_at(self._ends_at, watched)

    def with_time(self, effect: Wanted, event: Event | None) -> Event | None:
        """The event that came of an effect, with the milliseconds since the run began."""
        self._watches.performed(effect)
        if (
            self._ends_at == inf
            or event is None
            or isinstance(event, (RunStarted, CancelRequested, UserSpoke))
            or event.at_ms is not None  # from a recording
        ):
            return event
        return replace(event, at_ms=round((time.monotonic() - self._began) * 1000))


class Progress:
    """A run while a driver performs it; the driver performs what it wants, and hands it the answers."""

    def __init__(
        self,
        at: Step,
        performer: object,
        watches: Watches,
        journal: Journal | None = None,
        inbox: Incoming | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.at = at
        """The step that the run has reached."""
        self._notes = [*at.notes]
        self._performer, self._watches = performer, watches
        self._journal, self._inbox, self._observe = journal, inbox, observe
        self._laps = LapTimes(performer)
        self._scopes = EffectScopes(at.state, watches)
        withhold(journal, secrets_of(performer))
        if observe is not None:
            notify(observe, at.notes)

    @property
    def run(self) -> Run:
        """The result so far."""
        state = self.at.state
        server = server_of(self._performer, state.endpoint_name)
        return Run(state, tuple(self._notes), timing=self._laps.timing, server=server)

    def next_effects(self) -> Sequence[Wanted]:
        """The effects to perform next; none at the end of the run."""
        self._scopes.renew_limit(self.at.state)
        return [effect for effect in self.at.effects if not isinstance(effect, Finish)]

    def begin_effect(self, effect: Wanted) -> Callable[[], AbstractContextManager[None]]:
        """Start the time of an effect; returns the scope in which it is performed, as often as needed."""
        self._laps.start(effect)
        return lambda: self._scopes.scope_of(effect)

    def began_to_arrive(self, effect: Wanted) -> None:
        """A piece of a streamed reply is there."""
        if self._laps.note_piece(effect):
            self._watches.began_to_arrive(effect)

    def end_effect(self, effect: Wanted, event: Event | None) -> Event | None:
        """Stop the time of an effect; returns its event with the time of the run."""
        answer = self._scopes.with_time(effect, event)
        self._laps.stop(effect)
        return answer

    def take_answers(self, answers: Iterable[Answer]) -> Iterator[Taken]:
        """Record the answers to effects, with what the user says meanwhile, and step; yields each event.

        An answer that is ``None`` leaves the run at rest, and then no more effects are wanted.
        """
        for effect, answer in answers:
            yield from self._take_messages(effect)
            if answer is None:
                self.at = Step(self.at.state, (), ())
                return
            lap = self._laps.pop_lap(effect, answer, self.at.state.tally.turns)
            yield self._step(effect, record(self._journal, effect, answer, lap))
        # After any end but a complete answer nothing is heard: the caller shall see that end first.
        phase = self.at.state.phase
        if isinstance(phase, Settled) and isinstance(phase.outcome, Completed):
            yield from self._take_messages(None)

    def _take_messages(self, effect: Wanted | None) -> Iterator[Taken]:
        """Take what the user said before the answer to an effect, or after a complete answer."""
        for said in () if self._inbox is None else self._inbox.messages_before(effect):
            yield self._step(None, record(self._journal, None, said, None))
            if effect is None:
                # The first message leads to the next request, and the others wait for its reply.
                self.at = Step(self.at.state, pending(self.at.state), ())

    def _step(self, effect: Wanted | None, event: Event) -> Taken:
        self.at = step(self.at.state, event)
        self._notes += self.at.notes
        if self._observe is not None:
            notify(self._observe, self.at.notes)
        self._watches.stepped(effect, event, self.at)
        return effect, event

    def cancel(self, stopped: BaseException, reason: str) -> None:
        """Record that the run was cancelled, if it was stopped from outside before its end.

        An error of the run itself cancels nothing: as without a stream, the run can then be resumed.
        """
        if isinstance(stopped, Exception) or isinstance(self.at.state.phase, Settled):
            return
        try:
            record(self._journal, None, CancelRequested(reason), self._laps.lap_since_last())
        except Exception as error:  # noqa: BLE001 - it must not take the place of what stopped the run
            warnings.warn(f"the cancellation was not recorded: {error!r}", RuntimeWarning, stacklevel=2)


def check_state(state: object) -> None:
    """Check that a driver was given the state of a run to go on with.

    :raises ConfigError: if not; says what to write
    """
    if not isinstance(state, State):
        kind = type(state).__name__
        raise ConfigError(f"state: expected the state of a run, got {kind}; write run.state")


def step_with_message(run: Run | State, content: Said | UserSpoke, journal: Journal | None) -> Step:
    """Say something to a run that nobody performs: its new state, all pending effects, and the notes.

    :raises ConfigError: if the message is empty, or has a part that the provider is known not to take
    """
    state = run.state if isinstance(run, Run) else run
    check_state(state)
    event = message_of(content)
    if why := unsupported_part_error(event.parts, state.present.provider):
        raise ConfigError(f"content: {why}")
    at = step(state, record(journal, None, event, None))
    return Step(at.state, pending(at.state), at.notes)
