"""Whether a cell may stop before all of its trials are run, by a rule that is in the plan.

A decision is made of the outcomes in the order of their trials, at the looks of the rule and nowhere
else. So it is the same for any number of jobs, and after a resumption; what was run beyond the look that
decided plays no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolreel.evals._statistics.intervals import wilson
from toolreel.evals._statistics.significance_tests import mcnemar_p
from toolreel_core.evals._statistics.counts import Count, Pairs
from toolreel_core.evals._statistics.declared_stopping_rules import NarrowEnough, PairsDecided
from toolreel_core.evals._statistics.early_stops import EarlyStop
from toolreel_core.evals._statistics.interval import Interval


@dataclass(frozen=True, slots=True)
class Decided:
    """Why a cell, or a comparison, needs no more runs."""

    runs: int
    """Runs, or pairs, after which it was decided: those from the first on count."""
    confidence: float
    """What an interval of these runs may claim after all the looks: 1 less the level of this one."""
    why: str


def cell_decided(rule: NarrowEnough, outcomes: Sequence[bool]) -> Decided | None:
    """Why a cell needs no more trials; ``None`` if it does, or if all of its trials are run.

    >>> from toolreel_core.evals._statistics.declared_stopping_rules import Looks
    >>> cell_decided(NarrowEnough(0.3, Looks((10, 20, 40))), [True] * 23).why
    'after 20 runs the interval is 0.223 wide, and at most 0.3 is asked for: 77.7 to 100 %'

    :param outcomes: whether each valid run passed, in the order of the trials
    """
    for runs, level in zip(rule.looks.at, rule.looks.levels, strict=True):
        if runs > len(outcomes):
            break
        interval = wilson(Count.of(outcomes[:runs]), 1 - level)
        if interval and interval.width <= rule.width:
            asked = f"at most {rule.width:g} is asked for"
            why = f"after {runs} runs the interval is {interval.width:.3g} wide, and {asked}: {interval}"
            return Decided(runs, 1 - level, why)
    return None


@lru_cache(maxsize=8)
def early_stops(rule: NarrowEnough) -> tuple[EarlyStop, ...]:
    """With how many passes a cell stops at each look.

    >>> from toolreel_core.evals._statistics.declared_stopping_rules import Looks
    >>> [(stop.runs, sorted(stop.passed)) for stop in early_stops(NarrowEnough(0.55, Looks((6, 9))))]
    [(6, [0, 6]), (9, [0, 1, 2, 7, 8, 9])]
    """
    return tuple(
        EarlyStop(
            runs,
            frozenset(
                passed
                for passed in range(runs + 1)
                if (interval := wilson(Count(passed, runs), 1 - level)) and interval.width <= rule.width
            ),
        )
        for runs, level in zip(rule.looks.at, rule.looks.levels, strict=True)
    )


def counting_outcomes(rule: NarrowEnough, outcomes: Sequence[bool]) -> Sequence[bool]:
    """The outcomes of a cell that count: those until the rule has stopped it."""
    decided = cell_decided(rule, outcomes)
    return outcomes[: decided.runs if decided else rule.looks.at[-1]]


def interval_after_looks(rule: NarrowEnough, count: Count) -> Interval | None:
    """Where the rate of a cell lies that may have stopped early; ``None`` if it has no runs.

    It is Wilson's at the level of its look, the next one if there was none since. Looks are as many chances
    to be wrong; their levels add up, so the interval is right as often as if there had been one look.

    >>> from toolreel_core.evals._statistics.declared_stopping_rules import Looks
    >>> rule = NarrowEnough(0.3, Looks((10, 20, 40)))
    >>> print(interval_after_looks(rule, Count(20, 20)), "and with one look", wilson(Count(20, 20)))
    77.7 to 100 % and with one look 83.9 to 100 %
    """
    looks = zip(rule.looks.at, rule.looks.levels, strict=True)
    level = next((level for runs, level in looks if runs >= count.runs), rule.looks.levels[-1])
    found = wilson(count, 1 - level)
    method = f"Wilson at {100 * (1 - level):.3g} %, as there are {len(rule.looks.at)} looks"
    return Interval(found.low, found.high, 1 - rule.looks.alpha, method) if found else None


def pairs_decided(rule: PairsDecided, outcomes: Sequence[tuple[bool, bool]]) -> Decided | None:
    """Why a comparison needs no more pairs; ``None`` if it does, or if all of them are run.

    >>> from toolreel_core.evals._statistics.declared_stopping_rules import Looks
    >>> pairs_decided(PairsDecided(Looks((10, 20))), [(False, True)] * 10).why
    'after 10 pairs, 10 gained and 0 lost, exact p = 0.00195 is at most 0.025'

    :param outcomes: whether the first and whether the second passed, in the order of the trials
    """
    for runs, level in zip(rule.looks.at, rule.looks.levels, strict=True):
        if runs > len(outcomes):
            break
        pairs = Pairs.of(outcomes[:runs])
        exact_p, _ = mcnemar_p(pairs.lost, pairs.gained)
        if exact_p <= level:
            found = f"{pairs.gained} gained and {pairs.lost} lost, exact p = {exact_p:.3g}"
            return Decided(runs, 1 - level, f"after {runs} pairs, {found} is at most {level:.3g}")
    return None
