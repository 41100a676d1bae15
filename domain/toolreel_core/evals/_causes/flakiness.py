"""Flaky cells: where the trials of one cell part, how alike they are, and how many runs tell more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, comb, log
from typing import Final, Literal, TypeAlias

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import canonical, read
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._scenarios.evidence import ObservedTurn
from toolreel_core.evals._statistics.counts import Count

_WORD: Final = re.compile(r"\w+(?:[-.]\w+)*")
"""A word, a number or an identifier: what texts of runs are compared by."""
_EXCERPT: Final = 80


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a cell."""

    number: int
    key: str
    passed: bool
    opening: str
    """All texts of the opening messages."""
    turns: tuple[ObservedTurn, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """What some of the trials did in a turn."""

    what: str
    """The calls or the text, or a different result of the same calls; shortened."""
    passed: tuple[int, ...]
    """The trials among them that passed."""
    failed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parting:
    """The turns in which the trials of a cell part."""

    turn: int
    """The first turn in which they differ; before it, all of them did the same."""
    variants: tuple[Variant, ...]
    deciding: int | None
    """The first turn after which trials that did the same so far all passed or all failed; ``None`` if there
    is none."""


def parting(trials: Sequence[Trial]) -> Parting | None:
    """Where trials part; ``None`` if all of them did the same from beginning to end.

    Names, numbers and identifiers that a trial draws from its seed are no difference: what one opening has
    in the place of another's word counts as that word.
    """
    told = [_steps(_in_words_of(trials[0], trial)) for trial in trials]
    longest = max(map(len, told))
    for turn in range(1, longest + 1):
        steps = [each[turn - 1] if turn <= len(each) else _NO_TURN for each in told]
        if len(set(steps)) > 1:
            return Parting(turn, _variants(trials, steps), _deciding(trials, told, turn, longest))
    return None


_NO_TURN: Final = ("", "", "no further turn")
_Step: TypeAlias = tuple[str, str, str]
"""What the model did in a turn, what came back, and the first in words."""


def _variants(trials: Sequence[Trial], steps: Sequence[_Step]) -> tuple[Variant, ...]:
    same_calls = len({step[0] for step in steps}) == 1
    found: dict[_Step, Variant] = {}
    for trial, step in zip(trials, steps, strict=True):
        what = f"{step[2]} came to {_cut(step[1])}" if same_calls else step[2]
        one = found.get(step, Variant(what, (), ()))
        if trial.passed:
            found[step] = replace(one, passed=(*one.passed, trial.number))
        else:
            found[step] = replace(one, failed=(*one.failed, trial.number))
    return tuple(found.values())


def _deciding(
    trials: Sequence[Trial], told: Sequence[tuple[_Step, ...]], first: int, longest: int
) -> int | None:
    for turn in range(first, longest + 1):
        results: dict[tuple[_Step, ...], set[bool]] = {}
        for trial, steps in zip(trials, told, strict=True):
            # A run that ended earlier has done something else than one that goes on.
            results.setdefault((steps + (_NO_TURN,) * longest)[:turn], set()).add(trial.passed)
        if all(len(each) == 1 for each in results.values()):
            return turn
    return None


def _steps(turns: Iterable[ObservedTurn]) -> tuple[_Step, ...]:
    return tuple(map(_step, turns))


def _step(turn: ObservedTurn) -> _Step:
    if not turn.calls:
        return turn.text, "", f'"{_cut(turn.text)}"'
    calls = [f"{call.name}({_canonical(call.arguments)})" for call in turn.calls]
    results = " and ".join(_canonical(call.result) for call in turn.calls)
    return " and ".join(calls), results, _cut(" and ".join(calls))


def _canonical(text: str) -> str:
    return read(text).map(canonical).value_or(text)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


def _in_words_of(first: Trial, trial: Trial) -> tuple[ObservedTurn, ...]:
    """The turns of a trial with the words of another's opening in the place of its own."""
    one, other = _WORD.findall(first.opening), _WORD.findall(trial.opening)
    if one == other or len(one) != len(other):
        return trial.turns
    words = {mine: theirs for theirs, mine in zip(one, other, strict=True) if mine != theirs}

    def said(text: str) -> str:
        return _WORD.sub(lambda found: words.get(found[0], found[0]), text)

    return tuple(
        replace(
            turn,
            text=said(turn.text),
            calls=tuple(
                replace(call, arguments=said(call.arguments), result=said(call.result)) for call in turn.calls
            ),
        )
        for turn in trial.turns
    )


def within_cell_correlation(cells: Iterable[Count]) -> float | None:
    """How alike the runs of a cell are: 0, no more than those of different cells; 1, all the same.

    The intraclass correlation by analysis of variance, R. A. Fisher 1925; of cells with two runs or more.
    Without such cells, or where no run differs from any other, there is none.

    >>> within_cell_correlation([Count(3, 3), Count(0, 3), Count(3, 3)])
    1.0
    """
    counts = [cell for cell in cells if cell.runs > 1]
    runs, groups = sum(cell.runs for cell in counts), len(counts)
    if groups < 2:
        return None
    whole = sum(cell.passed for cell in counts) / runs
    rates = [(cell.passed / cell.runs, cell.runs) for cell in counts]
    between = sum(size * (rate - whole) ** 2 for rate, size in rates) / (groups - 1)
    within = sum(size * rate * (1 - rate) for rate, size in rates) / (runs - groups)
    size = (runs - sum(cell.runs**2 for cell in counts) / runs) / (groups - 1)
    variance = between + (size - 1) * within
    return (between - within) / variance if variance > 0 else None


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be told apart, and how often the answer may be wrong.

    :raises ConfigError: if the rates or the errors are not in order
    """

    broken: float = 0.05
    """A cell that passes at most this often is broken."""
    flaky: float = 0.5
    """A cell that passes at least this often is not broken but flaky."""
    alpha: float = 0.05
    """How often a broken cell may be called flaky."""
    beta: float = 0.05
    """How often a flaky cell may be called broken."""

    def __post_init__(self) -> None:
        if not 0 <= self.broken < self.flaky < 1:
            raise ConfigError(
                f"--broken and --flaky: expected two rates, the first smaller, below 1; "
                f"got {self.broken:g} and {self.flaky:g}"
            )
        for name in ("alpha", "beta"):
            value: float = getattr(self, name)
            if not 0 < value < 0.5:
                raise ConfigError(f"--{name}: expected a share between 0 and 0.5, got {value:g}")

    @property
    def runs(self) -> tuple[int, int]:
        """How many runs of a cell tell the two apart, and from how many passes on it is called flaky.

        >>> Question().runs
        (11, 3)
        """
        runs = 0
        while True:
            runs += 1
            least = next(
                count for count in range(runs + 2) if _at_least(count, runs, self.broken) <= self.alpha
            )
            if 1 - _at_least(least, runs, self.flaky) <= self.beta:
                return runs, least

    @property
    def clean_runs(self) -> int:
        """How many runs without a pass exclude a flaky cell, and how many without a failure its mirror."""
        return ceil(log(self.beta) / log(1 - self.flaky))


def _at_least(least: int, runs: int, rate: float) -> float:
    """How likely this many of the runs pass, or more."""
    return sum(
        comb(runs, count) * rate**count * (1 - rate) ** (runs - count) for count in range(least, runs + 1)
    )


CellState: TypeAlias = Literal["flaky", "broken", "sound", "undecided"]
"""``flaky``: runs passed and failed; ``broken``, ``sound``: none or all passed, often enough to exclude that
it is flaky; ``undecided``: none or all passed, and that says too little."""


def state_of(count: Count, question: Question) -> CellState:
    """What is known of a cell with valid runs.

    >>> [state_of(Count(*each), Question()) for each in ((2, 3), (0, 3), (0, 5), (5, 5))]
    ['flaky', 'undecided', 'broken', 'sound']
    """
    if 0 < count.passed < count.runs:
        return "flaky"
    if count.runs < question.clean_runs:
        return "undecided"
    return "sound" if count.passed else "broken"


@dataclass(frozen=True, slots=True)
class FlakyCell:
    """One cell, and where its trials part."""

    cell: Cell
    count: Count
    state: CellState
    parting: Parting | None = None
    """Of a flaky cell whose trials can be replayed, and differ in what they did."""
    why: str = ""
    """Why there is none, if the cell is flaky."""
    keys: Mapping[int, str] | None = None
    """The keys of the runs, by trial."""
