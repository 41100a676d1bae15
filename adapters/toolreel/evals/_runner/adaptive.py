"""Adaptive evaluations: which runs come next, and which cells have stopped early.

Runs are made in rounds; each brings every open cell up to the next interim look of the rule. Decisions depend
only on the results in the order of their trials, so the same runs are made for any number of jobs and after
any interruption. A void run is no result: its cell waits until it is repeated, or goes on without it where
the plan accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from toolreel.evals._store.results import write_json
from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import Table
from toolreel_core._jsontext.canonical import Tree, parse
from toolreel_core.evals._plan.cells import Cell, Sample
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._statistics.declared_stopping_rules import (
    NarrowEnough,
    PairsDecided,
    Rule,
    rule_from,
    rule_sentence,
)
from toolreel_core.evals._summary.summary import Summary
from toolreel_core.evals._verdicts import Result

if TYPE_CHECKING:
    from toolreel.evals._statistics.stopping_decisions import Decided  # needs SciPy

STOPPED: Final = "stopped.json"
"""The file that lists the stopped cells with reasons."""

_VALID: Final = frozenset({"pass", "pass_unexercised", "fail"})

_Ended: TypeAlias = tuple[Cell, int, Result]
"""A run that has ended: its cell, its trial, and what came of it."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A cell, or two of them that are compared, that the rule has stopped."""

    cells: tuple[Cell, ...]
    trials: int
    """Trials that count; later ones, if some were run before the rule was in the plan, do not."""
    why: str
    confidence: float | None
    """What an interval of these runs may claim after all the looks; ``None`` where nothing was decided."""

    def tree(self) -> Tree:
        """As it is in the file."""
        cell = self.cells[0]
        axes = ("model", "profile", "fallback", "scenario")
        return {
            **{axis: getattr(cell, axis) for axis in axes},
            **({"endpoint": cell.endpoint} if cell.endpoint else {}),
            "strategies": [each.strategy for each in self.cells],
            "trials": self.trials,
            "confidence": self.confidence,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far a cell or a comparison has come."""

    required_trials: int
    """The trials that are needed for now, from the first on."""
    stopped: Stopped | None = None


class Course:
    """Which runs of a plan come next.

    :param results: of the runs that have ended, by key
    :raises ConfigError: if the plan's rule compares strategies, and there are no two
    """

    def __init__(self, plan: EvalPlan, results: Mapping[str, Result]) -> None:
        self._plan = plan
        self._rule = rule_of(plan)
        self._looks: tuple[int, ...] = self._rule.looks.at if self._rule else ()
        self._results: dict[str, Result] = dict(results)
        self._requested: set[str] = set()
        self._samples: dict[Cell, list[Sample]] = {}
        if self._rule:
            for sample in plan.samples():
                self._samples.setdefault(sample.cell, []).append(sample)
        self._groups_compared = [*_groups_compared(self._rule, self._samples)]

    def rounds(self, samples: Callable[[], Iterable[Sample]]) -> Iterator[Iterator[Sample]]:
        """The runs to be made, round by round; without a rule there is one, with all of them.

        :param samples: all samples of the plan, in the order in which they are to be run
        """
        if not self._rule:
            yield (sample for sample in samples() if sample.key not in self._results)
            return
        while keys := self._required_keys():
            self._requested |= keys
            yield (sample for sample in samples() if sample.key in keys)

    def record_ended(self, record: Record) -> None:
        """Take a finished run into account."""
        if _has_ended(self._plan, record.verdict.result, record.verdict.category):
            self._results[record.key] = record.verdict.result

    @property
    def stopped(self) -> tuple[Stopped, ...]:
        """What the rule has stopped, in the order of the plan."""
        progress = (self._progress(cells) for cells in self._groups_compared)
        return tuple(one.stopped for one in progress if one.stopped)

    @property
    def stops(self) -> dict[Cell, Stopped]:
        """The cells that need no more trials; of several comparisons that stopped one, the longest."""
        found: dict[Cell, list[Stopped | None]] = {}
        for cells in self._groups_compared:
            stopped = self._progress(cells).stopped
            for cell in cells:
                found.setdefault(cell, []).append(stopped)
        ended = {cell: [one for one in each if one] for cell, each in found.items() if None not in each}
        return {cell: max(each, key=lambda one: one.trials) for cell, each in ended.items()}

    @property
    def spared(self) -> int:
        """How many runs of the plan need not be made."""
        return sum(
            sample.key not in self._results
            for cell, stop in self.stops.items()
            for sample in self._samples[cell][stop.trials :]
        )

    def save(self, folder: Path) -> None:
        """Write down what was stopped, where the plan has a rule."""
        if not self._rule:
            return
        stopped = self.stopped
        tree: Tree = {
            "rule": rule_sentence(self._rule),
            "asked_for": self._plan.count - self.spared,
            "spared": self.spared,
            "stopped": [one.tree() for one in stopped],
        }
        write_json(folder / STOPPED, tree)

    def _required_keys(self) -> frozenset[str]:
        """The keys of the runs that are needed now; a run is made once, whatever comes of it."""
        needed: dict[Cell, int] = {}
        for cells in self._groups_compared:
            trials = self._progress(cells).required_trials
            for cell in cells:
                needed[cell] = max(trials, needed.get(cell, 0))
        keys = (sample.key for cell, trials in needed.items() for sample in self._samples[cell][:trials])
        return frozenset(key for key in keys if key not in self._results and key not in self._requested)

    def _progress(self, cells: tuple[Cell, ...]) -> _Progress:
        ended = self._ended(cells)
        # Where one of two has no result that counts, there is no pair.
        places = [place for place, trial in enumerate(ended, 1) if _VALID.issuperset(trial)]
        outcomes = [tuple(result != "fail" for result in ended[place - 1]) for place in places]
        decided = _decided(self._rule, outcomes)
        if decided:
            trials = places[decided.runs - 1]
            return _Progress(trials, Stopped(cells, trials, decided.why, decided.confidence))
        last = self._looks[-1]
        if len(outcomes) >= last:
            trials = places[last - 1]
            why = f"after {last} runs, the last at which one looks, nothing is decided"
            return _Progress(trials, Stopped(cells, trials, why, None))
        until = next(look for look in self._looks if look > len(outcomes))
        return _Progress(min(self._plan.trials, len(ended) + until - len(outcomes)))

    def _ended(self, cells: tuple[Cell, ...]) -> list[tuple[Result, ...]]:
        """The results of the trials, as far as there is one of every cell without a gap."""
        trials = zip(*(self._samples[cell] for cell in cells), strict=True)
        whole = takewhile(lambda each: all(sample.key in self._results for sample in each), trials)
        return [tuple(self._results[sample.key] for sample in each) for each in whole]


def rule_of(plan: EvalPlan) -> Rule | None:
    """The rule of a plan, if it has one.

    :raises PlaceError: if it is none
    """
    tree = parse(plan.options.adaptive)
    return rule_from(Table.of(tree, "adaptive")) if tree else None


def course_of(plan: EvalPlan, records: Iterable[Record]) -> Course:
    """The course of an evaluation, from what is in its journal, whatever it was configured with then."""
    ended: Iterable[_Ended] = (
        (record.cell, record.trial, record.verdict.result)
        for record in records
        if _has_ended(plan, record.verdict.result, record.verdict.category)
    )
    return _course(plan, ended)


def required_trials(plan: EvalPlan, stops: Mapping[Cell, Stopped]) -> dict[Cell, range]:
    """Which trials each cell needs for an evaluation to be complete, in the order of the plan.

    :param stops: cells that its rule has stopped; the trials that this spares are not missing
    """
    return {cell: trials_of(cell, plan, stops) for cell in plan.cells()}


def trials_of(cell: Cell, plan: EvalPlan, stops: Mapping[Cell, Stopped]) -> range:
    """The trials of a cell that there have to be, where some cells have stopped early."""
    return range(1, stops[cell].trials + 1) if cell in stops else plan.trials_of(cell)


def stops_of(summary: Summary, plan: EvalPlan) -> dict[Cell, Stopped]:
    """The cells of an evaluation that need no more trials, by the rule of its plan, and why."""
    if not rule_of(plan):
        return {}
    entries = (entry for cell in summary.cells for entry in cell.entries)
    ended: Iterable[_Ended] = (
        (entry.cell, entry.trial, entry.result)
        for entry in entries
        if _has_ended(plan, entry.result, entry.category)
    )
    return _course(plan, ended).stops


def _has_ended(plan: EvalPlan, result: Result, category: str) -> bool:
    """Whether a run need not be repeated."""
    return result != "void" or plan.options.accepted_voids.includes(result, category)


def _course(plan: EvalPlan, runs: Iterable[_Ended]) -> Course:
    keys = {(sample.cell, sample.trial): sample.key for sample in plan.samples()}
    return Course(plan, {keys.get((cell, trial), ""): result for cell, trial, result in runs})


def _groups_compared(rule: Rule | None, cells: Iterable[Cell]) -> Iterator[tuple[Cell, ...]]:
    """What is looked at: each cell, or each cell under one strategy and the next."""
    match rule:
        case None:
            return
        case NarrowEnough():
            yield from ((cell,) for cell in cells)
        case PairsDecided():
            groups: dict[Cell, list[Cell]] = {}
            for cell in cells:
                groups.setdefault(replace(cell, strategy=""), []).append(cell)
            for group in groups.values():
                if len(group) == 1:
                    what = "the rule compares strategies, and the plan has one; choose two, or until = narrow"
                    raise ConfigError(f"adaptive.until: {what}")
                yield from pairwise(group)
        case _:
            assert_never(rule)


def _decided(rule: Rule | None, outcomes: Sequence[tuple[bool, ...]]) -> Decided | None:
    """The decision of the rule about some valid runs, if there is one."""
    from toolreel.evals._statistics.stopping_decisions import cell_decided, pairs_decided

    match rule:
        case None:
            return None
        case NarrowEnough():
            return cell_decided(rule, [one for (one,) in outcomes])
        case PairsDecided():
            return pairs_decided(rule, [(first, second) for first, second in outcomes])
        case _:
            assert_never(rule)
