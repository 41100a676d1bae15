"""Whether a repeated evaluation came to the same, scenario by scenario and as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel.evals._drift.diverging_runs import DivergedPair, diverged_pairs
from toolreel.evals._store.results import Results
from toolreel.evals._summary.comparison import Comparison, Row, compare
from toolreel.evals._summary.comparison_sides import EvaluationSide
from toolreel.evals._summary.summary_files import summary_of
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.equivalence import Equivalence, equivalence

DriftVerdict: TypeAlias = Literal["same", "drifted", "undecided"]
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Drift:
    """What came of repeating an evaluation."""

    comparison: Comparison
    whole: Equivalence | None
    """``None`` without a pair of valid runs."""
    drifted: tuple[Row, ...]
    """The scenarios that differ significantly, adjusted for so many of them."""
    diverged: tuple[DivergedPair, ...]
    """The pairs that ended differently."""
    identical: int
    """Pairs of which both conversations are the same, call by call."""
    recorded: int
    """Pairs of which both conversations are known."""

    @property
    def verdict(self) -> DriftVerdict:
        """The answer; a run of the repetition that is missing or void leaves it open, unless it drifted."""
        if self.drifted or (self.whole and self.whole.verdict == "different"):
            return "drifted"
        if self.whole and self.whole.verdict == "equivalent" and not self.comparison.second.lacking:
            return "same"
        return "undecided"


def drift_between(results: Results, plan: EvalPlan, repeated: Results, margin: float) -> Drift:
    """Compare a stored evaluation with its repetition, about these scenarios and no others.

    :param plan: of the repetition
    :raises ConfigError: if the margin is not between 0 and 1
    """
    first, second = _side(results, plan, "before"), _side(repeated, plan, "now")
    comparison = compare(first.side, second.side)
    pairs = diverged_pairs(comparison.matches.both, results, repeated)
    whole = comparison.whole.these
    return Drift(
        comparison,
        equivalence(whole, margin) if whole else None,
        tuple(_drifted(comparison)),
        tuple(pair for pair in pairs if pair.match.flip),
        sum(pair.known and pair.diverging is None for pair in pairs),
        sum(pair.known for pair in pairs),
    )


def _side(results: Results, plan: EvalPlan, name: str) -> EvaluationSide:
    return EvaluationSide(results, plan, summary_of(results, plan), name)


def _drifted(comparison: Comparison) -> Iterator[Row]:
    for row in comparison.rows:
        adjusted = 1.0 if row.p_holm is None else row.p_holm
        if row.axis == "scenario" and row.these and row.these.difference and adjusted <= _LEVEL:
            yield row
