"""One segment of a run: performs its effects, each as a step, until the run ends or rests.

A step stores the lines of the journal that came of it, and nothing else is written while a run is under way.
After a crash, the same segment begins again: what is stored is read and folded, each effect is compared with
the recorded one by its fingerprint, and only then does anything happen.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, Literal

from dbos import DBOS

from toolreel._driver import Performer, Wanted, check_endpoints, joined_trace, watched
from toolreel._internal import DurableError, log
from toolreel._journal import Recorded
from toolreel._replay import check_surface
from toolreel.durable._answers import Answers, Uncertain
from toolreel.durable._book import Book, StoredJournal, fingerprint_of, retold
from toolreel.durable._engine import CONNECTION_LOST
from toolreel.durable._runs import Awaited
from toolreel.durable._store import Claimed, Resting, Segment, Store, Written, now_ms
from toolreel_core._errors import ConfigError, ToolreelError
from toolreel_core._loop import pending
from toolreel_core._protocol import AskApproval, RunTool, Settled, Step, Wait, fingerprint, tag
from toolreel_core._tools import ToolSurface

INLINE_MS: Final = 1_000
"""A wait of at most this long is slept through; a longer one gives its place to another run."""
MAX_INTERRUPTIONS: Final = 20
"""Number of workers that may die on one stretch of a run before it is ended: it may be what kills them."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How a worker performs runs."""

    performer: Performer
    secrets: Mapping[str, str]
    uncertain: Uncertain
    stopping: threading.Event
    """Set when the worker is to stop: then runs rest before the next effect, and go on elsewhere."""


def perform_segment(claimed: Claimed, policy: Policy, store: Store, see: Callable[[str], None]) -> str:
    """Perform a run that was claimed until it rests; returns the status that it rests in.

    :param see: called with each line of the journal that a step has stored
    """
    segment = _Segment(claimed, policy, store, see)
    try:
        with joined_trace(claimed.trace):
            return segment.go()
    except CONNECTION_LOST as error:
        return segment.queue_again(error)
    except ToolreelError as error:
        return segment.let_go("refused", str(error))


class _Segment:
    """The segment of one run while it runs."""

    def __init__(self, claimed: Claimed, policy: Policy, store: Store, see: Callable[[str], None]) -> None:
        self._claimed = claimed
        self._policy = policy
        self._store = store
        self._see = see
        self._events = 0
        self._early: dict[str, tuple[str, ...]] = {}
        self._answers: Answers | None = None
        """Once what is stored was read."""

    def go(self) -> str:
        """Go on from what is stored."""
        if self._claimed.interrupted > MAX_INTERRUPTIONS:
            return self.let_go(
                "failed",
                f"{self._claimed.interrupted} workers died while they performed it; mend what kills them, "
                "then resume it",
            )
        book, inbox_read = self._begun()
        performer, run = self._policy.performer, self._claimed.run_id
        with watched(Step(book.state, pending(book.state), ()), performer, run) as watches:
            book.watches = watches
            uncertain, inbox_after = self._policy.uncertain, self._store.inbox_after
            answers = Answers(book, self._claimed, performer, uncertain, inbox_after, inbox_read)
            self._answers = answers
            try:
                return self._go_on(answers)
            except CONNECTION_LOST as error:  # here, since the run has not broken for those that watch it
                return self.queue_again(error)

    def _go_on(self, answers: Answers) -> str:
        book = answers.book
        while True:
            wanted, self._events = book.wanted, book.events
            if wanted and self._policy.stopping.is_set():
                return self.let_go("queued")
            stored = self._perform(answers, wanted)
            if stored.problem:
                return self.let_go("failed", stored.problem)
            if book.events > self._events:
                continue
            resting = self._resting(answers, wanted)
            if self._store.release(self._claimed, resting):
                return resting.status
            if not any(answers.waits_for_somebody(effect) for effect in wanted):  # else the next step hears
                self._step(answers, "hear", answers.hear)

    def let_go(self, status: Literal["queued", "failed", "refused"], why: str = "") -> str:
        """Let go of the run before its end."""
        answers = self._answers
        inbox_read, wake_at = (0, 0) if answers is None else (answers.inbox_read, answers.wake_at)
        interrupted = self._claimed.interrupted if answers is None or answers.doubtful else 0
        rest = Resting(
            status, self._events, inbox_read, problem=why, wake_at=wake_at, interrupted=interrupted
        )
        self._store.release(self._claimed, rest)
        return status

    def queue_again(self, error: Exception) -> str:
        """Give the run back to the queue after the database refused a step.

        DBOS waits for most losses of a connection, and raises the others. As after a death of the worker,
        what was under way may have been done, and what is stored counts.
        """
        claimed = self._claimed
        interruption = {"interruption": claimed.interrupted + 1, "error": type(error).__qualname__}
        log("durable", "warning", "run_queued_again", {"run": claimed.run_id, **interruption})
        rest = Resting("queued", claimed.events, 0, interrupted=claimed.interrupted + 1)
        self._store.release(claimed, rest)
        return "queued"

    def _begun(self) -> tuple[Book, int]:
        """Fold what is stored, and compare it; the steps of this segment that are stored are gone past.

        :returns: with how many things that were said the run has inbox_read
        """
        own = self._store.done(self._claimed.workflow_id) if self._claimed.recovered else ()
        last = Segment(self._claimed.workflow_id, tuple(number for number, _ in own))
        stored = self._store.stored((*self._claimed.segments[:-1], last))
        told = StoredJournal.of(self._claimed.plan, stored)
        recorded, state = retold(told.text, f"run {self._claimed.run_id}")
        self._events = len(recorded.records)
        _check_tools(recorded, self._policy.performer)
        _check_endpoints(recorded, self._policy.performer)
        for _, name in own:
            DBOS.run_step({"name": name}, _is_stored)
        self._early = {fp: lines for lines in told.early if (fp := fingerprint_of(lines))}
        book = Book(recorded, state, self._policy.secrets)
        inbox_read = max((written.inbox_read for written in stored), default=0)
        return book, inbox_read

    def _perform(self, answers: Answers, wanted: Sequence[Wanted]) -> Written:
        """Perform what the run wants, if it is not to rest at it."""
        match wanted:
            case ():
                return Written((), answers.inbox_read)
            case (Wait() as wait,) if answers.left_of(wait) > INLINE_MS:
                return Written((), answers.inbox_read)
            case (effect,):
                return self._step(answers, tag(type(effect)), lambda: answers.answer(effect))
            case _:
                return self._perform_together(answers, wanted)

    def _step(self, answers: Answers, name: str, perform: Callable[[], Written]) -> Written:
        """Perform the next step, and store what it returns; one that is stored is not performed again."""
        stored = self._seen(DBOS.run_step({"name": name}, lambda: perform().tree()))
        answers.inbox_read = max(answers.inbox_read, stored.inbox_read)
        return stored

    def _perform_together(self, answers: Answers, wanted: Sequence[Wanted]) -> Written:
        """Perform parallel calls; their answers are written in the order of the calls."""
        if doubtful := next((effect for effect in wanted if answers.is_in_doubt(effect)), None):
            return self._step(answers, tag(RunTool), lambda: answers.answer(doubtful))
        places = [at for at, effect in enumerate(wanted) if fingerprint(effect) not in self._early]

        def begun(at: int) -> Callable[[], Mapping[str, Any]]:
            reserved, context, step = DBOS.reserve_step(), contextvars.copy_context(), tag(type(wanted[at]))
            answer = partial(answers.answer_ahead, wanted[at], at)
            return lambda: context.run(lambda: reserved.run({"name": step}, lambda: answer().tree()))

        ready = [*map(begun, places)]  # in their order, which is that of their numbers
        with ThreadPoolExecutor(len(ready) or 1, thread_name_prefix="toolreel") as pool:
            performed = [self._seen(tree) for tree in pool.map(lambda run: run(), ready)]
        stored = dict(zip(places, performed, strict=True))
        failed = next((written for written in stored.values() if written.problem), None)
        if failed is not None:
            return failed
        for at, effect in enumerate(wanted):
            answers.book.take(stored[at].lines if at in stored else self._early.pop(fingerprint(effect)))
        answers.doubtful = False
        return Written((), answers.inbox_read)

    def _seen(self, tree: object) -> Written:
        written = Written.of(tree)
        for line in written.lines:
            self._see(line)
        return written

    def _resting(self, answers: Answers, wanted: Sequence[Wanted]) -> Resting:
        """What the run rests at: its end, a wait, or decisions that nobody has made."""
        state, counts = answers.book.state, (answers.book.events, answers.inbox_read)
        if isinstance(state.phase, Settled):
            return Resting("ended", *counts, outcome=state.phase.outcome.name)
        doubt = self._claimed.interrupted if answers.doubtful else 0
        match wanted:
            case (Wait() as wait,):
                wake_at = now_ms() + int(answers.left_of(wait))
                return Resting("sleeping", *counts, wake_at=wake_at, interrupted=doubt)
            case _:
                calls = (effect for effect in wanted if isinstance(effect, AskApproval | RunTool))
                waits = [_awaited(effect) for effect in calls if answers.waits_for_somebody(effect)]
                return Resting("waiting", *counts, waits_for=waits, interrupted=doubt)


def _is_stored() -> None:
    raise AssertionError("this step is stored, so DBOS does not perform it")


def _awaited(effect: AskApproval | RunTool) -> dict[str, object]:
    why = "approval" if isinstance(effect, AskApproval) else "uncertain"
    return asdict(Awaited(effect.name, str(effect.arguments), why, fingerprint(effect), effect.ref))


def _check_tools(recorded: Recorded, performer: object) -> None:
    """Check that the worker has the tools that the model was shown.

    :raises DurableError: if it has not
    :raises toolreel.ReplayMismatch: if one has changed
    """
    surface = getattr(getattr(performer, "tools", None), "surface", None)
    if not recorded.plan.sends_tools or not isinstance(surface, ToolSurface):
        return
    there = {tool.name for tool in surface.definitions}
    exposed = [tool.name for tool in recorded.plan.tools.definitions if tool.exposed]
    if missing := [name for name in exposed if name not in there]:
        raise DurableError(
            f"{recorded.source}: this worker does not have the tools {', '.join(missing)}; start one with "
            "them (--tools), or submit to the queue of one that has them (--queue), then resume the run"
        )
    check_surface(recorded, surface)


def _check_endpoints(recorded: Recorded, performer: object) -> None:
    """Check that the worker has an endpoint for each fallback of the run.

    :raises DurableError: if it has not
    """
    try:
        check_endpoints(recorded.plan, getattr(performer, "endpoint", None), "Endpoints")
    except ConfigError as error:
        raise DurableError(
            f"{recorded.source}: {error}, or start the worker with the same --fallback; then resume the run"
        ) from None
