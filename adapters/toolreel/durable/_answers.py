"""What answers the effects of a run: its ports, and what is said to it from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Literal, TypeAlias

from toolreel._driver import EffectScopes, Lap, Performer, Wanted
from toolreel.durable._book import Book
from toolreel.durable._store import Claimed, InboxEntry, Written, now_ms
from toolreel_core._jsontext import digest
from toolreel_core._loop import uncertain
from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
    CancelRequested,
    Event,
    RunTool,
    ToolReturned,
    UserSpoke,
    Wait,
    WaitElapsed,
    fingerprint,
    tag,
)
from toolreel_core._tools import failed, result_unknown

Uncertain: TypeAlias = Literal["repeat", "ask"]
"""What is done about a call that a dead worker may have begun, if repeating it may do harm."""


class Answers:
    """Performs the effects of one run. The book takes what comes of them while a step is performed."""

    def __init__(
        self,
        book: Book,
        claimed: Claimed,
        performer: Performer,
        policy: Uncertain,
        inbox_after: Callable[[str, int], Sequence[InboxEntry]],
        inbox_read: int,
    ) -> None:
        self.book = book
        self.inbox_read = inbox_read
        """How many things that were said the run has heard."""
        self.doubtful = claimed.interrupted > 0
        """Whether the next effect may have been begun by a worker that died."""
        self._claimed = claimed
        self._policy = policy
        self._inbox_after = inbox_after
        self._began_at = book.events
        self._performer = performer
        self._scopes = EffectScopes(book.state, book.watches)

    @property
    def wake_at(self) -> int:
        """When the wait is over that the run is in; 0 if it is in none that began before this segment."""
        return self._claimed.wake_at if self.book.events == self._began_at else 0

    def left_of(self, wait: Wait) -> float:
        """The milliseconds that are left of a wait, which is over when the run's time is."""
        return max(0, self.wake_at - now_ms()) if self.wake_at else min(wait.ms, self._left_of_run)

    @property
    def _left_of_run(self) -> float:
        """The milliseconds that the run had left after its last event."""
        state = self.book.state
        limit = state.plan.config.max_wall_ms
        return inf if limit is None else max(0, state.exchange_began.at_ms + limit - state.tally.at_ms)

    def is_in_doubt(self, effect: Wanted) -> bool:
        """Whether somebody has to decide about a call that may have run already."""
        return self._policy == "ask" and self.doubtful and effect in uncertain(self.book.state)

    def waits_for_somebody(self, effect: Wanted) -> bool:
        """Whether an effect waits for a decision from outside."""
        return isinstance(effect, AskApproval) or self.is_in_doubt(effect)

    def answer(self, effect: Wanted) -> Written:
        """Perform an effect, hear what was said before its answer, and write both."""
        return self._safely(effect, lambda: self._answer(effect))

    def answer_ahead(self, effect: Wanted, ahead: int) -> Written:
        """Perform one of several parallel effects, and write its answer for the book to take later.

        :param ahead: how many answers are written before it
        """

        def answered() -> Written:
            event, lap = self._timed_event(effect)
            return Written(
                () if event is None else self.book.lines(effect, event, lap, ahead)[0], self.inbox_read
            )

        return self._safely(effect, answered)

    def hear(self) -> Written:
        """Hear what was said, where no effect is performed."""
        said = self._said()
        events = (one.event for one in said if isinstance(one.event, UserSpoke | CancelRequested))
        lines = tuple(line for event in events for line in self.book.add(None, event))
        return Written(lines, said[-1].n if said else self.inbox_read)

    def _answer(self, effect: Wanted) -> Written:
        # Later effects of a segment need not ask: what was said was heard with the answer before.
        is_first = self.book.events == self._began_at
        before = self._said() if is_first or self.waits_for_somebody(effect) else ()
        if any(isinstance(one.event, CancelRequested) for one in before):
            return self.hear()
        event, lap = self._decided(effect, before) or self._timed_event(effect)
        # A decision that comes just now is for the next step, so without an answer nothing later is heard.
        said, lines = before if event is None else self._said(), list[str]()
        for one in said:
            if isinstance(one.event, UserSpoke):
                lines += self.book.add(None, one.event)
        if event is not None:
            lines += self.book.add(effect, event, lap)
            self.doubtful = False
        for one in said:
            if isinstance(one.event, CancelRequested):
                lines += self.book.add(None, one.event)
        return Written(tuple(lines), said[-1].n if said else self.inbox_read)

    def _decided(self, effect: Wanted, said: Iterable[InboxEntry]) -> tuple[Event | None, Lap | None] | None:
        """What somebody has decided; ``None`` if nobody has to, or the ports are to perform it."""
        about = fingerprint(effect) if isinstance(effect, AskApproval | RunTool) else None
        given = (one.event for one in said if one.answers == about)
        decision = next((event for event in given if isinstance(event, ApprovalGiven)), None)
        match effect:
            case AskApproval() if decision is not None:
                return decision, None
            case RunTool() if self.is_in_doubt(effect):
                if decision is None:
                    return None, None
                unknown = failed(effect.name, result_unknown(effect.name)).text()
                return None if decision.approved else (ToolReturned(effect.ref, unknown), None)
            case _:
                return None

    def _timed_event(self, effect: Wanted) -> tuple[Event | None, Lap]:
        self._scopes.renew(self.book.state)
        began, wanted = time.monotonic(), effect
        event: Event | None = None
        if isinstance(effect, RunTool):  # with a key of this run's own: two runs of one plan are two tasks
            wanted = replace(effect, key=digest(f"{self._claimed.run_id} {effect.key}"))
        elif isinstance(effect, Wait):
            left = int(self.left_of(effect))
            wanted, event = replace(effect, ms=left), None if left else self._woken(effect)
        if event is None:
            with self._scopes.around(wanted):
                event = self._performer.perform(wanted)
            event = self._scopes.answered(wanted, event)
        ms = round((time.monotonic() - began) * 1000)
        return event, Lap(ms, ms)

    def _woken(self, wait: Wait) -> WaitElapsed:
        """The end of a wait that no worker sat through: it counts as time of the run all the same."""
        state = self.book.state
        if state.plan.config.max_wall_ms is None:
            return WaitElapsed(wait.ref)
        at_ms = state.tally.at_ms + int(min(wait.ms, self._left_of_run))
        slept = replace(state, tally=replace(state.tally, at_ms=at_ms))
        self._scopes = EffectScopes(slept, self.book.watches)
        return WaitElapsed(wait.ref, at_ms)

    def _said(self) -> Sequence[InboxEntry]:
        return self._inbox_after(self._claimed.run_id, self.inbox_read)

    def _safely(self, effect: Wanted, perform: Callable[[], Written]) -> Written:
        """What a step stores; a bug in a port is no answer, so that the effect can be performed again."""
        try:
            return perform()
        except Exception as error:  # noqa: BLE001 - whatever a port raises
            return Written(
                (), self.inbox_read, f"{tag(type(effect))} {effect.ref}: {type(error).__name__}: {error}"
            )
