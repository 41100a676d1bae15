"""A run that a driver performs: the part of both drivers that does no I/O.

A driver looks into the inbox before it records the answer to an effect. So the order of the events in the
journal is the order in which the run has taken them, and a replay gives it the same messages at the same
places.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from math import inf
from typing import TypeAlias

from toolreel._driver.endpoints import server_of
from toolreel._driver.inbox import Incoming
from toolreel._driver.ports import Journal, Observer, Wanted, secrets_of, tell, withhold
from toolreel._driver.run_result import Run
from toolreel._driver.timing import LapTimes, ending_at, record
from toolreel._driver.watch import Watches
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


class EffectScopes:
    """Puts the time on events, limits the time of effects, and lets watchers surround them.

    The core has no clock: time reaches it only on events, so that a replay makes the same decisions. A run
    whose plan does not limit its time has none on its events.

    :param state: where the run begins, or goes on with its time so far
    """

    def __init__(self, state: State, watches: Watches) -> None:
        self._watches = watches
        self._began = time.monotonic() - state.tally.at_ms / 1000
        self.renew(state)

    def renew(self, state: State) -> None:
        """Take the limit of the present exchange, which may have begun since the last effect."""
        limit = state.plan.config.max_wall_ms
        self._ends_at = inf if limit is None else self._began + (state.exchange_began.at_ms + limit) / 1000

    @contextmanager
    def around(self, effect: Wanted) -> Generator[None]:
        """The scope in which an effect is performed, or the next piece of a reply is read."""
        with ending_at(self._ends_at), self._watches.performing(effect):
            yield

    def answered(self, effect: Wanted, event: Event | None) -> Event | None:
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
        tell(observe, at.notes)

    @property
    def run(self) -> Run:
        """The result so far."""
        state = self.at.state
        server = server_of(self._performer, state.endpoint_name)
        return Run(state, tuple(self._notes), timing=self._laps.timing, server=server)

    def wanted(self) -> Sequence[Wanted]:
        """The effects to perform next; none at the end of the run."""
        self._scopes.renew(self.at.state)
        return [effect for effect in self.at.effects if not isinstance(effect, Finish)]

    def begin(self, effect: Wanted) -> Callable[[], AbstractContextManager[None]]:
        """Start the time of an effect; returns the scope in which it is performed, as often as needed."""
        self._laps.start(effect)
        return lambda: self._scopes.around(effect)

    def began_to_arrive(self, effect: Wanted) -> None:
        """A piece of a streamed reply is there."""
        if self._laps.arrive(effect):
            self._watches.began_to_arrive(effect)

    def end(self, effect: Wanted, event: Event | None) -> Event | None:
        """Stop the time of an effect; returns its event with the time of the run."""
        answer = self._scopes.answered(effect, event)
        self._laps.stop(effect)
        return answer

    def take(self, answers: Iterable[Answer]) -> Iterator[Taken]:
        """Record the answers to effects, with what the user says meanwhile, and step; yields each event.

        An answer that is ``None`` leaves the run at rest, and then no more effects are wanted.
        """
        for effect, answer in answers:
            yield from self._hear(effect)
            if answer is None:
                self.at = Step(self.at.state, (), ())
                return
            lap = self._laps.take(effect, answer, self.at.state.tally.turns)
            yield self._step(effect, record(self._journal, effect, answer, lap))
        # After any end but a complete answer nothing is heard: the caller shall see that end first.
        phase = self.at.state.phase
        if isinstance(phase, Settled) and isinstance(phase.outcome, Completed):
            yield from self._hear(None)

    def _hear(self, effect: Wanted | None) -> Iterator[Taken]:
        """Take what the user said before the answer to an effect, or after a complete answer."""
        for said in () if self._inbox is None else self._inbox.messages_before(effect):
            yield self._step(None, record(self._journal, None, said, None))
            if effect is None:
                # The first message leads to the next request, and the others wait for its reply.
                self.at = Step(self.at.state, pending(self.at.state), ())

    def _step(self, effect: Wanted | None, event: Event) -> Taken:
        self.at = step(self.at.state, event)
        self._notes += self.at.notes
        tell(self._observe, self.at.notes)
        self._watches.stepped(effect, event, self.at)
        return effect, event

    def cancel(self, stopped: BaseException, reason: str) -> None:
        """Record that the run was cancelled, if it was stopped from outside before its end.

        An error of the run itself cancels nothing: as without a stream, the run can then be resumed.
        """
        if isinstance(stopped, Exception) or isinstance(self.at.state.phase, Settled):
            return
        try:
            record(self._journal, None, CancelRequested(reason), self._laps.rest())
        except Exception as error:  # noqa: BLE001 - it must not take the place of what stopped the run
            warnings.warn(f"the cancellation was not recorded: {error!r}", RuntimeWarning, stacklevel=2)
