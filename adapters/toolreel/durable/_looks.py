"""What durable runs are doing now, looked at again and again: turn, cost, and what each waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from toolreel._driver import Run, cost_in_words
from toolreel.durable._runs import DurableRuns, RunSummary
from toolreel.durable._store import Status
from toolreel_core._errors import ToolreelError
from toolreel_core._loop import fold, pending
from toolreel_core._protocol import AskApproval, Effect, Finish, RunTool, SendRequest, State, Wait

ACTIVE: Final[tuple[Status, ...]] = ("running", "waiting", "sleeping", "queued")


@dataclass(frozen=True, slots=True)
class RunLook:
    """A durable run as it is at one moment."""

    summary: RunSummary
    turn: int
    """The turn that it is in; 0 before the first."""
    tokens: int
    """Of prompts and completions so far."""
    cost: str
    """So far, in words; empty if no model has replied."""
    waits_for: str
    """``a worker``, ``the model``, ``approval: pay``, ``a retry``, names of tools; empty once it is over."""

    @property
    def changes(self) -> tuple[str | int, ...]:
        """What is news when it differs."""
        return self.summary.status, self.turn, self.waits_for, self.summary.outcome, self.summary.problem


class RunLooks:
    """Looks at the runs of a database; what has not changed since the last time is not read again."""

    def __init__(self, runs: DurableRuns) -> None:
        self._runs = runs
        self._known: dict[str, RunLook] = {}

    def newest(self, limit: int) -> Sequence[RunLook]:
        """Runs that go on, then those that are over; each group with the newest first."""
        going = [each for one in ACTIVE for each in self._runs.list(status=one, limit=limit)]
        going.sort(key=lambda each: each.created, reverse=True)
        shown = {each.run_id: each for each in going[:limit]}
        for each in self._runs.list(limit=limit):
            if len(shown) < limit and each.run_id not in shown:
                shown[each.run_id] = each
        return [self._look(each) for each in shown.values()]

    def _look(self, summary: RunSummary) -> RunLook:
        known = self._known.get(summary.run_id)
        # The row of a run does not change while a worker performs it, but its events do.
        if known is not None and known.summary == summary and summary.status != "running":
            return known
        look = self._known[summary.run_id] = self._read(summary)
        return look

    def _read(self, summary: RunSummary) -> RunLook:
        recorded = self._runs.get(summary.run_id).recorded
        try:
            state = fold(recorded.plan, recorded.events).state
        except ToolreelError:  # recorded by a release that did something else, so a worker refuses it
            return RunLook(summary, 0, 0, "", "")
        tally = state.tally
        tokens = tally.prompt_tokens + tally.completion_tokens
        return RunLook(summary, tally.turns, tokens, cost_in_words(Run(state, ())), _awaited(summary, state))


def age(since: datetime, now: datetime) -> str:
    """For how long, in one unit.

    >>> from datetime import UTC, timedelta
    >>> at = datetime(2026, 11, 23, tzinfo=UTC)
    >>> [age(at, at + timedelta(seconds=each)) for each in (5, 200, 9000, 200000)]
    ['5 s', '3 min', '2 h', '2 d']
    """
    seconds = max(0, int((now - since).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _awaited(summary: RunSummary, state: State) -> str:
    match summary.status:
        case "queued":
            return "a worker"
        case "waiting":
            return ", ".join(f"{call.why}: {call.name}" for call in summary.waits_for)
        case "running" | "sleeping":
            return ", ".join(filter(None, map(_effect, pending(state))))
        case "ended" | "failed" | "refused":
            return ""
        case _:
            assert_never(summary.status)


def _effect(effect: Effect) -> str:
    match effect:
        case SendRequest():
            return "the model"
        case RunTool():
            return effect.name
        case AskApproval():
            return f"approval: {effect.name}"
        case Wait():
            return "a retry"
        case Finish():
            return ""
        case _:
            assert_never(effect)
