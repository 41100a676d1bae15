"""Whether a repeated evaluation had the same results: each model at each endpoint, scenario by scenario.

What answers is one model at one endpoint, so that is what can drift. A total over several of them would let
one that got better hide another that got worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, TypeAlias

from toolreel.evals._drift.diverging_runs import DivergedPair, diverged_pairs
from toolreel.evals._statistics.multiple_comparisons import holm
from toolreel.evals._store.results import Results
from toolreel.evals._summary.comparison import Comparison, Row, compare
from toolreel.evals._summary.comparison_sides import EvaluationSide, Side
from toolreel.evals._summary.summary_files import summary_of
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.equivalence import Equivalence, equivalence

DriftVerdict: TypeAlias = Literal["same", "drifted", "undecided"]
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model at one endpoint, before and now."""

    model: str
    endpoint: str
    whole: Equivalence | None
    """``None`` without a pair of valid runs."""
    p_holm: float
    """The p-value of the difference, adjusted for this many models and endpoints."""
    drifted: tuple[Row, ...]
    """The scenarios that differ significantly, adjusted for this many of them everywhere."""

    @property
    def verdict(self) -> DriftVerdict:
        """What is known of it."""
        different = self.whole is not None and self.whole.verdict == "different" and self.p_holm <= _LEVEL
        if self.drifted or different:
            return "drifted"
        return "same" if self.whole and self.whole.verdict == "equivalent" else "undecided"


@dataclass(frozen=True, slots=True)
class Drift:
    """What came of repeating an evaluation."""

    comparison: Comparison
    """Of all runs together; it decides nothing."""
    served: tuple[ServedModel, ...]
    """Each model at each endpoint."""
    diverged: tuple[DivergedPair, ...]
    """The pairs that ended differently."""
    identical: int
    """Pairs of which both conversations are the same, call by call."""
    recorded: int
    """Pairs of which both conversations are known."""

    @property
    def verdict(self) -> DriftVerdict:
        """The answer; a run of the repetition that is missing or void leaves it open, unless it drifted."""
        found = {one.verdict for one in self.served}
        if "drifted" in found:
            return "drifted"
        return "same" if found == {"same"} and not self.comparison.second.lacking else "undecided"

    @property
    def whole(self) -> Equivalence | None:
        """All of it, if there is one model at one endpoint."""
        return self.served[0].whole if len(self.served) == 1 else None


def drift_between(results: Results, plan: EvalPlan, repeated: Results, margin: float) -> Drift:
    """Compare a stored evaluation with its repetition, about these scenarios and no others.

    :param plan: of the repetition
    :raises ConfigError: if the margin is not between 0 and 1
    """
    first, second = _side(results, plan, "before").side, _side(repeated, plan, "now").side
    comparison = compare(first, second)
    pairs = diverged_pairs(comparison.matches.both, results, repeated)
    return Drift(
        comparison,
        tuple(_served(first, second, [*product(plan.models, plan.endpoints)], margin)),
        tuple(pair for pair in pairs if pair.match.flip),
        sum(pair.known and pair.diverging is None for pair in pairs),
        sum(pair.known for pair in pairs),
    )


def _side(results: Results, plan: EvalPlan, name: str) -> EvaluationSide:
    return EvaluationSide(results, plan, summary_of(results, plan), name)


def _served(
    first: Side, second: Side, places: Sequence[tuple[str, str]], margin: float
) -> Iterator[ServedModel]:
    found = {place: compare(_at(first, place), _at(second, place)) for place in places}
    known = {place: each.whole.these for place, each in found.items()}
    adjusted = holm({place: these.p_value for place, these in known.items() if these})
    for place, comparison in found.items():
        these = known[place]
        yield ServedModel(
            *place,
            equivalence(these, margin) if these else None,
            # Alone, its interval decides, which needs no adjusting.
            adjusted.get(place, 1.0) if len(found) > 1 else 0.0,
            tuple(_drifted(comparison.rows, len(found))),
        )


def _at(side: Side, place: tuple[str, str]) -> Side:
    cells = tuple(cell for cell in side.cells if (cell.cell.model, cell.cell.endpoint) == place)
    return replace(side, cells=cells)


def _drifted(rows: Sequence[Row], times: int) -> Iterator[Row]:
    for row in rows:
        adjusted = 1.0 if row.p_holm is None else min(1.0, times * row.p_holm)
        if row.axis == "scenario" and row.these and row.these.difference and adjusted <= _LEVEL:
            yield replace(row, p_holm=adjusted)
