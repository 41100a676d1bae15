"""One segment of a run: performs its effects, each as a step, until the run ends or rests.

A step stores the lines of the journal that came of it, and nothing else is written while a run is under way.
After a crash, the same segment begins again: what is stored is read and folded, each effect is compared with
the recorded one by its fingerprint, and only then does anything happen. Of calls that might run in parallel,
the next one begins when the one before it is stored.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import UnionType
from typing import Final, Literal, TypeAlias

from dbos import DBOS

from toolreel._driver import (
    Lap,
    Performer,
    Progress,
    Wanted,
    check_fallback_endpoints,
    continue_trace_from_headers,
    fault_event,
    time_left,
)
from toolreel._internal import DurableError, SecretFound, log
from toolreel._journal import MemoryJournal, Recorded, parse_journal, timed_event_line, withhold_result
from toolreel._replay import check_tools_unchanged, retrace
from toolreel._secrets import check_line_for_secrets
from toolreel.durable._database import CONNECTION_LOST
from toolreel.durable._runs import Awaited
from toolreel.durable._store import Claimed, InboxEntry, Status, Store, StoredStep, journal_text
from toolreel_core._errors import ConfigError, ReplayMismatch, ToolreelError
from toolreel_core._jsontext import digest
from toolreel_core._loop import pending, uncertain
from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
    CancelRequested,
    Event,
    RunTool,
    Settled,
    State,
    Step,
    ToolReturned,
    UserSpoke,
    Wait,
    WaitElapsed,
    blobs_in,
    fingerprint,
    type_name,
)
from toolreel_core._tools import ToolSurface, result_unknown

MAX_INTERRUPTIONS = 20
"""Number of workers that may die on one stretch of a run before it is ended: it may be what kills them."""

Uncertain: TypeAlias = Literal["repeat", "ask"]
"""What is done about a call that a dead worker may have begun, if repeating it may do harm."""


@dataclass(frozen=True, slots=True)
class Policy:
    performer: Performer
    secrets: Mapping[str, str]
    uncertain: Uncertain
    poll_seconds: float
    stopping: threading.Event
    """Set when the worker is to stop: then runs rest before the next effect, and go on elsewhere."""


QUEUE_AGAIN = "then queue it again with `toolreel durable adopt --failed RUN`"
HIDDEN = "a reply was not stored, because it holds a secret"


class Book(MemoryJournal):
    """The journal of a run that goes on; ``lines`` are those that no step has taken yet."""

    keeps_times: Final = True

    def __init__(self, recorded: Recorded, secrets: Mapping[str, str]) -> None:
        super().__init__(recorded.plan)
        for event in recorded.events:
            super().record(None, event)
        self.lines = []
        self._secrets, self._source = secrets, recorded.source

    def record(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Event:
        """Write an event; for one with a secret, write and return what stands for it."""
        number = self.events + 1
        line, place = timed_event_line(number, effect, event, lap), f"{self._source}, event {number}"
        try:
            check_line_for_secrets(line, self._secrets, place, blobs_in(event))
        except SecretFound:
            if isinstance(event, ToolReturned):
                event = withhold_result(event, "secret")
            else:
                event = CancelRequested(HIDDEN)
        return super().record(effect, event, lap)

    def take_lines(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


def perform_segment(claimed: Claimed, policy: Policy, store: Store, see: Callable[[str], None]) -> str:
    """Perform a run that was claimed until it rests; returns the status that it rests in.

    :param see: called with each line of the journal that a step has stored
    """
    segment = _Segment(claimed, policy, store, see)
    try:
        with continue_trace_from_headers(claimed.trace):
            return segment.perform()
    except CONNECTION_LOST as error:
        return segment.queue_again(error)
    except ToolreelError as error:
        return segment.release_with_status("refused", str(error))
    except Exception as error:  # noqa: BLE001 - a bug of ours must not keep the run
        return segment.release_with_status("failed", f"{type(error).__name__}: {error}")


class _Segment:
    _book: Book
    _progress: Progress
    _only_cancels: bool
    """Whether it was begun to cancel the run, which needs neither its tools nor its fallbacks."""

    def __init__(self, claimed: Claimed, policy: Policy, store: Store, see: Callable[[str], None]) -> None:
        self._claimed = claimed
        self._policy = policy
        self._store = store
        self._see = see
        self._events = claimed.events
        """Events before the present step."""
        self._inbox_read = 0
        """How many things that were said the run has heard."""
        self._is_first = True
        """Whether this segment has performed no effect yet."""
        self._doubtful = claimed.interrupted > 0
        """Whether the next effect may have been begun by a worker that died."""

    def perform(self) -> str:
        deaths = self._claimed.interrupted
        if deaths > MAX_INTERRUPTIONS:
            why = f"{deaths} workers died while they performed it; mend what kills them, {QUEUE_AGAIN}"
            return self.release_with_status("failed", why)
        state = self._begin()
        begun = Step(state, pending(state), ())
        with Progress(begun, self._policy.performer, self._book, run=self._claimed.run_id) as self._progress:
            try:
                return self._perform_steps()
            except CONNECTION_LOST as error:  # here, since the run has not broken for those that watch it
                return self.queue_again(error)

    def release_with_status(self, status: Literal["queued", "failed", "refused"], why: str = "") -> str:
        self._release(status, problem=why)
        return status

    def queue_again(self, error: Exception) -> str:
        """Give the run back to the queue after the database refused a step.

        DBOS waits for most losses of a connection, and raises the others. As after a death of the worker,
        what was under way may have been done, and what is stored counts.
        """
        times = self._claimed.interrupted + 1
        interruption = {"interruption": times, "error": type(error).__qualname__}
        log("durable", "warning", "run_queued_again", {"run": self._claimed.run_id, **interruption})
        self._release("queued", interrupted=times)
        return "queued"

    def _begin(self) -> State:
        claimed, performer = self._claimed, self._policy.performer
        own = self._store.step_names(claimed.workflow_id) if claimed.recovered else ()
        stored = self._store.stored_steps(claimed.segments)
        recorded = parse_journal(journal_text(claimed.plan, stored), f"run {claimed.run_id}")
        try:
            state = retrace(recorded).run.state
        except ReplayMismatch as drift:
            raise DurableError(
                f"{recorded.source}: this release of toolreel would do something else than what is recorded "
                f"({drift}). Nothing was changed. Finish it with a worker of the release that began it, "
                "after `toolreel durable adopt --failed` there; or export it and fork it"
            ) from None
        self._events = len(recorded.records)
        self._inbox_read = max((written["heard"] for written in stored), default=0)
        self._only_cancels = self._is_cancelled()
        if not self._only_cancels:
            _check_worker_can_perform(recorded, performer)
        # DBOS numbers steps as they are called. To call a stored one performs nothing, and counts it.
        for name in own:
            DBOS.run_step({"name": name}, _fail_on_stored_step)
        self._book = Book(recorded, self._policy.secrets)
        return state

    @property
    def _state(self) -> State:
        return self._progress.at.state

    def _perform_steps(self) -> str:
        book = self._book
        while True:
            effect, self._events = next(iter(pending(self._state)), None), book.events
            if effect is not None:
                if self._policy.stopping.is_set() or (self._only_cancels and not self._is_cancelled()):
                    return self.release_with_status("queued")
                stored = self._perform_step(type_name(type(effect)), self._answer_or_problem)
                if "problem" in stored:
                    return self.release_with_status("failed", stored["problem"])
                # A wait that was cut short has no event: the worker stops, or the next step cancels the run.
                if book.events > self._events or isinstance(effect, Wait):
                    continue
            status, values = self._resting_status(effect)
            if self._release(status, **values):
                return status
            if effect is None:  # else the next step hears
                self._perform_step("hear", self._process_inbox)

    def _perform_step(self, name: str, perform: Callable[[], StoredStep]) -> StoredStep:
        """Perform the next step, and store what it returns; one that is stored is not performed again."""
        stored = DBOS.run_step({"name": name}, perform)
        for line in stored["lines"]:
            self._see(line)
        self._inbox_read = max(self._inbox_read, stored["heard"])
        return stored

    def _release(self, status: Status, **values: object) -> bool:
        values = {"interrupted": self._claimed.interrupted if self._doubtful else 0, **values}
        return self._store.release_run(self._claimed, status, self._events, self._inbox_read, **values)

    def _resting_status(self, effect: Wanted | None) -> tuple[Status, dict[str, object]]:
        phase = self._state.phase
        if isinstance(phase, Settled):
            return "ended", {"outcome": phase.outcome.name, "interrupted": 0}
        waits: list[dict[str, object]] = []
        if isinstance(effect, AskApproval | RunTool) and (why := self._wait_reason(effect)):
            call = Awaited(effect.name, str(effect.arguments), why, fingerprint(effect), effect.ref)
            waits = [asdict(call)]
        return "waiting", {"waits_for": json.dumps(waits)}

    # What answers the effects: the ports, and what is said to the run from outside.

    def _wait_reason(self, effect: Wanted) -> str:
        """Why an effect waits for somebody, as :class:`Awaited` has it; empty if it does not."""
        if isinstance(effect, AskApproval):
            return "approval"
        in_doubt = self._policy.uncertain == "ask" and self._doubtful and effect in uncertain(self._state)
        return "uncertain" if in_doubt else ""

    def _answer_or_problem(self) -> StoredStep:
        """What a step stores; a bug in a port is not an answer, so that the effect can be performed again."""
        (effect, *_) = pending(self._state)
        try:
            return self._answer(effect)
        except Exception as error:  # noqa: BLE001 - whatever a port raises
            problem = f"{type_name(type(effect))} {effect.ref}: {type(error).__name__}: {error}"
            return {"heard": self._inbox_read, "lines": [], "problem": problem}

    def _answer(self, effect: Wanted) -> StoredStep:
        # Others need not ask: what was said was heard with the answer before.
        asks = self._is_first or self._wait_reason(effect) or isinstance(effect, Wait)
        before = self._read_inbox() if asks else ()
        if any(isinstance(one.event, CancelRequested) for one in before):
            return self._process_inbox()
        event, lap = self._event(effect, before)
        if event is None:  # a decision that comes just now is for the next step, so nothing later is heard
            return self._take_inbox_entries(before, UserSpoke)
        entries = self._read_inbox()
        # Messages before the answer, so that the request that follows from it has them; a cancellation after
        # it, so that what was done still counts.
        said = self._take_inbox_entries(entries, UserSpoke)
        self._progress.take(effect, event, lap)
        self._doubtful = self._is_first = False
        answer = self._take_inbox_entries(entries, CancelRequested)
        return {**answer, "lines": said["lines"] + answer["lines"]}

    def _process_inbox(self) -> StoredStep:
        return self._take_inbox_entries(self._read_inbox(), UserSpoke | CancelRequested)

    def _take_inbox_entries(self, entries: Sequence[InboxEntry], kinds: type | UnionType) -> StoredStep:
        """Take what was said, if it is of these kinds; what is to be stored, where all of it counts as heard.

        A cancellation that comes after the end is nothing.
        """
        for one in entries:
            late = isinstance(one.event, CancelRequested) and isinstance(self._state.phase, Settled)
            if isinstance(one.event, kinds) and not late:
                self._progress.take(None, one.event)
        heard = entries[-1].n if entries else self._inbox_read
        return {"heard": heard, "lines": self._book.take_lines()}

    def _read_inbox(self) -> Sequence[InboxEntry]:
        return self._store.inbox_after(self._claimed.run_id, self._inbox_read)

    def _wait(self, seconds: float) -> bool:
        """Whether the time has passed; not if the worker stops or the run is cancelled meanwhile."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._policy.stopping.wait(min(left, self._policy.poll_seconds)) or self._is_cancelled():
                return False
        return True

    def _is_cancelled(self) -> bool:
        return any(isinstance(one.event, CancelRequested) for one in self._read_inbox())

    def _event(self, effect: Wanted, said: Iterable[InboxEntry]) -> tuple[Event | None, Lap | None]:
        """What somebody has decided, or what the ports answer; no event where nobody has decided yet."""
        progress, performed = self._progress, effect
        event: Event | None = None
        if isinstance(effect, AskApproval | RunTool):
            about = fingerprint(effect)
            given = (one.event for one in said if one.answers == about)
            decision = next((each for each in given if isinstance(each, ApprovalGiven)), None)
            if isinstance(effect, AskApproval):
                if decision is not None:
                    return decision, None
            elif self._wait_reason(effect):
                if decision is None:
                    return None, None
                if not decision.approved:
                    fault = result_unknown(effect.name)
                    message = f"{fault.message} {decision.reason}".rstrip()
                    return fault_event(effect, lambda _: fault._replace(message=message)), None
        if isinstance(effect, RunTool):  # with a key of this run's own: two runs of one plan are two tasks
            performed = replace(effect, key=digest(f"{self._claimed.run_id} {effect.key}"))
        progress.begin_effect(performed)
        with progress.scope_of_effect(performed):
            if not isinstance(effect, Wait):
                event = self._policy.performer.perform(performed)
            elif self._wait(min(effect.ms / 1000, time_left())):
                event = WaitElapsed(effect.ref)
        event = progress.end_effect(performed, event)
        return event, None if event is None else progress.pop_effect_times(effect, event)


def _fail_on_stored_step() -> None:
    raise AssertionError("this step is stored, so DBOS does not perform it")


def _check_worker_can_perform(recorded: Recorded, performer: object) -> None:
    surface = getattr(getattr(performer, "tools", None), "surface", None)
    try:
        if recorded.plan.sends_tools and isinstance(surface, ToolSurface):
            check_tools_unchanged(recorded, surface)
        check_fallback_endpoints(recorded.plan, performer)
    except ReplayMismatch as error:
        raise DurableError(
            f"{error}\nStart a worker with the run's tools (--tools), or submit to the queue of one that has "
            f"them (--queue), {QUEUE_AGAIN}"
        ) from None
    except ConfigError as error:
        remedy = f"or start the worker with the same --fallback, {QUEUE_AGAIN}"
        raise DurableError(f"{recorded.source}: {error}, {remedy}") from None
