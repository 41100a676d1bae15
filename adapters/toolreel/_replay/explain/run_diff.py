"""Compare two runs: their plans, the first different event, and the turns side by side.

Any two live sessions differ in ids, times and token counts. So replies are compared after normalisation,
and call ids by their position; ``replay`` is what proves that bytes are identical.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from typing import Final, Literal, TypeAlias, cast

from toolreel._driver import Run, describe_outcome, outcome_of
from toolreel._journal import Source, opened
from toolreel._replay.explain.plan_and_event_changes import effect_changes, event_changes, plan_changes
from toolreel._replay.explain.turns import TurnSummary, story
from toolreel._replay.trace import Trace, Traced, retrace
from toolreel.cassette import Change
from toolreel_core._jsontext import Json
from toolreel_core._protocol import Completed

Aspect: TypeAlias = Literal["wanted", "told", "end"]
"""``wanted``: the effects differ, such as the request or the call; ``told``: the same effect has a different
answer; ``end``: one of the runs has no more events."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event in which two runs differ."""

    n: int
    """Its number, counted from 1."""
    turn: int
    """Its turn in the first run, or in the second if the first has no such event."""
    aspect: Aspect
    changes: tuple[Change, ...]
    """The differences by place; empty if one of the runs has ended."""
    a: str
    """The event of the first run, in one line."""
    b: str


@dataclass(frozen=True, slots=True)
class TurnPair:
    """A turn of both runs: calls, their results, and other decisions."""

    number: int
    a: tuple[str, ...]
    """Empty if the run has no such turn."""
    b: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether both turns are equal."""
        return self.a == self.b


_BEHIND_COST: Final = ("priced", "unpriced", "by_tools")
"""Counts that only say whether the cost is known, which its absence says already, and parts of others."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs as a whole."""

    source: str
    events: int
    outcome: str
    """The name of the outcome; ``unfinished`` if the run has not ended."""
    tally: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two runs."""

    a: Side
    b: Side
    plan: tuple[Change, ...]
    """The keys in which the plans differ."""
    first: Divergence | None
    """The first difference beyond the plans; ``None`` if there is none."""
    turns: tuple[TurnPair, ...]
    other_bytes: tuple[int, ...]
    """Earlier events that differ only in ids, times, token counts and the like."""

    @property
    def same(self) -> bool:
        """Whether nothing differs that the loop acts on."""
        return not self.plan and self.first is None and self.a.outcome == self.b.outcome

    def tree(self) -> dict[str, Json]:
        """The same as one JSON object."""
        turns: list[Json] = [asdict(turn) | {"same": turn.same} for turn in self.turns]
        return cast("dict[str, Json]", {"same": self.same, **asdict(self), "turns": turns})


def diff(a: Source, b: Source) -> Difference:
    """Compare two recorded runs.

    >>> from toolreel.demo._recorded_session import demo_cassette
    >>> from toolreel._replay.fork_changes import Changes
    >>> from toolreel._replay.forked_run import fork
    >>> forked = fork(demo_cassette(), 2, Changes(config={"max_turns": 2}))
    >>> difference = diff(demo_cassette(), forked.recorded)
    >>> [change.place for change in difference.plan], difference.first.n, difference.first.aspect
    (['config.max_turns'], 5, 'end')

    :param a: a record, or the path of its journal or cassette
    :raises AdapterError: if one of them cannot be read
    :raises toolreel.ReplayMismatch: if one of them no longer replays
    """
    one, other = retrace(opened(a)), retrace(opened(b))
    first = _first(one, other)
    alike = (first.n if first else min(len(one.events), len(other.events)) + 1) - 1
    pairs = zip(one.events[:alike], other.events[:alike], strict=True)
    return Difference(
        _side(one),
        _side(other),
        plan_changes(one.recorded.plan, other.recorded.plan),
        first,
        _turns(one.run, other.run),
        tuple(x.record.n for x, y in pairs if x.record.event != y.record.event),
    )


def _first(one: Trace, other: Trace) -> Divergence | None:
    for a, b in zip_longest(one.events, other.events):
        if a is None or b is None:
            return _end(one, other, a, b)
        turn = a.before.tally.turns
        if changed := effect_changes(a, b):
            return Divergence(a.record.n, turn, "wanted", changed, a.summary, b.summary)
        if changed := event_changes(a, b):
            return Divergence(a.record.n, turn, "told", changed, a.summary, b.summary)
    return None


def _end(one: Trace, other: Trace, a: Traced | None, b: Traced | None) -> Divergence:
    """The divergence where one run has no more events."""
    lines = [
        traced.summary if traced else f"no event: {_ended(trace.run)}"
        for trace, traced in ((one, a), (other, b))
    ]
    turn = max(traced.before.tally.turns for traced in (a, b) if traced)
    return Divergence(1 + min(len(one.events), len(other.events)), turn, "end", (), *lines)


def _ended(run: Run) -> str:
    outcome = outcome_of(run)
    return "the run rests" if outcome is None else f"the run has ended as {outcome.name}"


def _side(trace: Trace) -> Side:
    outcome, tally = outcome_of(trace.run), trace.run.state.tally
    name = outcome.name if outcome else "unfinished"
    counts = {key: count for key, count in asdict(tally).items() if key not in _BEHIND_COST}
    return Side(trace.recorded.source, len(trace.events), name, {**counts, "cost": tally.known_cost})


def _turns(one: Run, other: Run) -> tuple[TurnPair, ...]:
    pairs = zip_longest(_actions(one), _actions(other), fillvalue=())
    return tuple(TurnPair(number, a, b) for number, (a, b) in enumerate(pairs, 1))


def _actions(run: Run) -> list[tuple[str, ...]]:
    """The calls and remarks of each turn; the last one has the outcome too."""
    turns = [_actions_in(turn) for turn in story(run)]
    if turns:
        turns[-1] += (_ending(run),)
    return turns


def _actions_in(turn: TurnSummary) -> tuple[str, ...]:
    calls = (
        (f"→ {call.name}({call.arguments})", f"{'←' if call.ok else '✗'} {call.result}")
        for call in turn.calls
    )
    approvals = (f"{name} needs approval" for name in turn.approvals)
    said = (f"user: {text}" for text in turn.said)
    answer = (turn.answer,) if turn.answer else ()
    return (*said, *approvals, *chain.from_iterable(calls), *turn.remarks, *answer)


def _ending(run: Run) -> str:
    outcome = outcome_of(run)
    if outcome is None:
        return "rests"
    words, _ = describe_outcome(outcome)
    return outcome.content if isinstance(outcome, Completed) else f"{outcome.name}: {words}"
