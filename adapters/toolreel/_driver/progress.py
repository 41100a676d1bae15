"""A run that a driver performs: the part of both drivers that does no I/O.

A driver looks into the inbox before it records the answer to an effect. So the order of the events in the
journal is the order in which the run has taken them, and a replay gives it the same messages at the same
places.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import inf
from typing import Any, Self, TypeAlias

from toolreel._driver.first_checks import performer_from_argument
from toolreel._driver.inbox import Incoming, user_message_event
from toolreel._driver.ports import (
    Journal,
    Observer,
    Wanted,
    check_run_arguments,
    limit_time_until,
    notify,
    register_journal_secrets,
    secrets_of_ports,
    server_address_of_performer,
)
from toolreel._driver.run_result import EffectTime, Lap, Run, Timing
from toolreel._driver.watch import WATCHERS, Begun, Watch, Watches
from toolreel_core._conversation import Said
from toolreel_core._errors import ConfigError
from toolreel_core._loop import pending, step
from toolreel_core._protocol import (
    CancelRequested,
    Completed,
    Event,
    Finish,
    RunStarted,
    SendRequest,
    Settled,
    State,
    Step,
    UserSpoke,
)

Taken: TypeAlias = tuple[Wanted | None, Event]
"""An event that the run has taken, with the effect that it answers."""
Answer: TypeAlias = tuple[Wanted, Event | None]
"""An effect with the event that answers it; ``None`` if an approver has not decided."""


def make_log_watch(begun: Begun) -> Watch:
    from toolreel._driver.log_watch import LogWatch  # it imports what describes outcomes

    return LogWatch(begun)


WATCHERS.append(make_log_watch)
_NAME_BYTES = 6
"""Of the name of a run that has none. It is in no journal and no digest: a replay has another one."""


def record(journal: Journal | None, effect: Wanted | None, event: Event, lap: Lap | None) -> Event:
    """Record an event, with its times in a journal that keeps them; the event that the run continues with."""
    if journal is None:
        return event
    keep: Callable[..., Event | None] = journal.record
    keeps_times = lap is not None and getattr(journal, "keeps_times", False)
    return (keep(effect, event, lap) if keeps_times else keep(effect, event)) or event


class Progress:
    """A run while a driver performs it, without I/O: it records the answers, and steps.

    The core has no clock. Time reaches it on events (``at_ms``), and only where the plan limits it, so that a
    replay makes the same decisions. What a run is told to have taken (:class:`Lap`) is measured by the clock
    of the ports if it tells the time (``now``, in seconds). A performer that answers from a record has a
    method ``lap_of``: the recorded times of an effect that it has answered, or ``None`` if it was performed
    just now. Effects that run together begin and end in threads of their own; the driver takes them in order.

    :param run: the name of a durable run
    """

    def __init__(
        self,
        at: Step,
        performer: Any,  # noqa: ANN401 - sync or async
        journal: Journal | None = None,
        inbox: Incoming | None = None,
        observe: Observer | None = None,
        run: str = "",
    ) -> None:
        check_run_arguments(journal=journal, observe=observe, inbox=inbox)
        self._secrets = secrets_of_ports(performer)
        register_journal_secrets(journal, self._secrets)
        self.at, self.performer = at, performer
        self._notes = [*at.notes]
        self._journal, self._inbox, self._observe, self._name = journal, inbox, observe, run
        self._lap_of: Callable[[Wanted], Lap | None] | None = getattr(performer, "lap_of", None)
        self._replays_requests = bool(getattr(getattr(performer, "endpoint", performer), "replays", False))
        self._now: Callable[[], float] = getattr(getattr(performer, "clock", None), "now", time.monotonic)
        self._times: dict[int, list[float]] = {}
        """When each effect began, when its first piece came, if it was streamed, and when it ended."""
        self._took: list[tuple[Wanted, Event, Lap, int]] = []
        self._ends_at = inf

    def __enter__(self) -> Self:
        name, replays = self._name or os.urandom(_NAME_BYTES).hex(), self._lap_of or self._replays_requests
        begun = Begun(name, self.at, self.performer, self._secrets, bool(self._name), bool(replays))
        self._watches = Watches(begun)
        self._laps_began, self._counted_ms = self._now(), 0
        """When laps began, and the milliseconds since then that are in laps."""
        # A run that is continued has used the time of its last event.
        self._began = time.monotonic() - self.at.state.tally.at_ms / 1000
        notify(self._observe, self.at.notes)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._watches.call("ended", self.at.state, error)

    @property
    def run(self) -> Run:
        state = self.at.state
        server = server_address_of_performer(self.performer, state.endpoint_name)
        timing = Timing(tuple(EffectTime.of(*took) for took in self._took))
        return Run(state, tuple(self._notes), timing=timing, server=server)

    def next_effects(self) -> Sequence[Wanted]:
        return [effect for effect in self.at.effects if not isinstance(effect, Finish)]

    def begin_effect(self, effect: Wanted) -> None:
        """Start the time of an effect, and limit it by that of the present exchange."""
        state = self.at.state
        if (limit := state.plan.config.max_wall_ms) is not None:
            self._ends_at = self._began + (state.exchange_began.at_ms + limit) / 1000
        self._times[effect.ref] = [self._now()]

    def scope_of_effect(self, effect: Wanted) -> AbstractContextManager[object]:
        watched = self._watches.performing(effect)
        return watched if self._ends_at == inf else limit_time_until(self._ends_at, watched)

    def mark_first_piece(self, effect: Wanted) -> None:
        times = self._times[effect.ref]
        if len(times) == 1:
            times.append(self._now())
            self._watches.call("began_to_arrive", effect)

    def end_effect(self, effect: Wanted, event: Event | None) -> Event | None:
        """Stop the time of an effect; returns its event with the milliseconds since the run began."""
        replayed = self._lap_of is not None and self._lap_of(effect) is not None
        replayed = replayed or (self._replays_requests and isinstance(effect, SendRequest))
        self._watches.call("performed", effect, replayed=replayed)
        self._times[effect.ref].append(self._now())
        if (
            self._ends_at == inf
            or event is None
            or isinstance(event, (RunStarted, CancelRequested, UserSpoke))
            or event.at_ms is not None  # from a recording
        ):
            return event
        return replace(event, at_ms=_seconds_to_ms(time.monotonic() - self._began))

    def pop_effect_times(self, effect: Wanted, event: Event) -> Lap:
        started, *first, ended = self._times.pop(effect.ref)
        lap = None if self._lap_of is None else self._lap_of(effect)
        if lap is None:
            first_ms = _seconds_to_ms(first[0] - started) if first else None
            lap = Lap(_seconds_to_ms(ended - started), self._count_new_elapsed_ms(ended), first_ms)
        else:  # the next lap begins here: the time to read a record does not count
            self._laps_began, self._counted_ms = ended, 0
        self._took.append((effect, event, lap, self.at.state.tally.turns))
        return lap

    def take_answers(self, answers: Iterable[Answer]) -> Iterator[Taken]:
        """Take the answers to effects, with what the user says meanwhile; yields each event.

        An answer that is ``None`` leaves the run at rest, and then no more effects are wanted.
        """
        for effect, answer in answers:
            yield from self._take_messages(effect)
            if answer is None:
                self.at = Step(self.at.state, (), ())
                return
            yield self.take(effect, answer, self.pop_effect_times(effect, answer))
        # Only after a complete answer: the caller has to see any other end before the next exchange begins.
        phase = self.at.state.phase
        if isinstance(phase, Settled) and isinstance(phase.outcome, Completed):
            yield from self._take_messages(None)

    def take(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Taken:
        event = record(self._journal, effect, event, lap)
        self.at = step(self.at.state, event)
        self._notes += self.at.notes
        notify(self._observe, self.at.notes)
        self._watches.call("stepped", effect, event, self.at)
        return effect, event

    def cancel(self, stopped: BaseException, reason: str) -> None:
        # A run that an exception ended can be resumed; a recorded cancellation would settle it.
        if isinstance(stopped, Exception) or isinstance(self.at.state.phase, Settled):
            return
        # The time since the last effect ended is that of the cancelled one.
        passed = self._count_new_elapsed_ms(self._now())
        try:
            record(self._journal, None, CancelRequested(reason), Lap(passed, passed))
        except Exception as error:  # noqa: BLE001 - it must not take the place of what stopped the run
            warnings.warn(f"the cancellation was not recorded: {error!r}", RuntimeWarning, stacklevel=2)

    def _take_messages(self, effect: Wanted | None) -> Iterator[Taken]:
        for said in () if self._inbox is None else self._inbox.messages_before(effect):
            yield self.take(None, said)
            if effect is None:
                # The first message leads to the next request, and the others wait for its reply.
                self.at = Step(self.at.state, pending(self.at.state), ())

    def _count_new_elapsed_ms(self, now: float) -> int:
        # Negative for one of several concurrent effects that ended before the others.
        passed = max(0, _seconds_to_ms(now - self._laps_began) - self._counted_ms)
        self._counted_ms += passed
        return passed


def _seconds_to_ms(seconds: float) -> int:
    return round(seconds * 1000)


def progress_of_state(
    call: str,
    run: Run | State,
    content: Said | UserSpoke | None,
    performer: object,
    journal: Journal | None,
    inbox: Incoming | None,
    observe: Observer | None = None,
) -> Progress:
    """The progress of a run that has paused or was stored, with all its pending effects.

    :param call: the function of the drivers that was called
    """
    state = run.state if isinstance(run, Run) else run
    if not isinstance(state, State):
        raise ConfigError(f"state: expected the state of a run, got {type(state).__name__}; write run.state")
    performer = performer_from_argument(performer, call)
    at = Step(state, (), ())
    if content is not None:
        event = user_message_event(content, state.present.provider)
        register_journal_secrets(journal, secrets_of_ports(performer))
        at = step(state, record(journal, None, event, None))
    return Progress(Step(at.state, pending(at.state), at.notes), performer, journal, inbox, observe)
