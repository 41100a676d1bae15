"""The answer of an evaluation: who is best, by how much, and what nothing decides; strategy by strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from toolreel.evals._statistics.side_differences import compare_scenarios
from toolreel.evals._summary.run_pairs import pair_runs, paired_cells
from toolreel.evals._summary.summary_statistics import LEVEL, Findings, PValues, Total, counted_cells
from toolreel.evals._tables.formats import percent, points
from toolreel_core.evals import Difference, GateResult, Pairs, RunEntry, Summary, total_pairs

_NAMED: Final = 4
"""Candidates that a sentence names; it counts more of them."""


@dataclass(frozen=True, slots=True)
class StrategyPair:
    """Two strategies on the tasks that both have run."""

    first: str
    second: str
    pairs: Pairs
    difference: Difference
    """About scenarios such as these."""
    holm: float
    """The exact p-value, with Holm's correction for all pairs of strategies."""

    @property
    def name(self) -> str:
        """Its name in pictures and tables."""
        return f"{self.second} over {self.first}"


def compared_strategies(summary: Summary, findings: Findings) -> tuple[StrategyPair, ...]:
    """Each strategy with each that comes after it in the plan, where they share a valid task."""
    found = []
    for first, second in combinations([total.name for total in findings.strategies], 2):
        matches = pair_runs(_runs_of(summary, first), _runs_of(summary, second), "strategy")
        cells = paired_cells(matches.both, "strategy")
        if (difference := compare_scenarios(cells)) is not None:
            holm = _p_value(first, second, findings.strategy_p_values)
            pairs = total_pairs(cell.pairs for cell in cells)
            found.append(StrategyPair(first, second, pairs, difference, holm))
    return tuple(found)


def _runs_of(summary: Summary, strategy: str) -> tuple[RunEntry, ...]:
    cells = [cell for cell in summary.cells if cell.cell.strategy == strategy]
    return tuple(entry for cell in counted_cells(cells) for entry in cell.entries)


def _p_value(first: str, second: str, found: PValues) -> float:
    """Of two candidates, named in either order."""
    return found.get((first, second), found.get((second, first), 1.0))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader has to know first."""

    sentences: tuple[str, ...]
    """About models and strategies; one about all runs where there is nothing to choose from."""
    gates: tuple[GateResult, ...]

    @property
    def verdict(self) -> str:
        """How the gates stand, in a sentence."""
        if not self.gates:
            return "The plan has no gate."
        standings = [gate.standing for gate in self.gates]
        counts = (f"{count} {name}" for name in _STANDINGS if (count := standings.count(name)))
        return f"{'Gate' if len(standings) == 1 else 'Gates'}: {', '.join(counts)}."


_STANDINGS: Final = ("failed", "undecided", "passed")
"""What needs an action comes first."""


def answer_of(findings: Findings, compared: Sequence[StrategyPair], gates: Sequence[GateResult]) -> Answer:
    """The answer, from the figures of the report and the results of the plan's gates."""
    strategies = _best("strategy", "strategies", findings.strategies, findings.strategy_p_values, compared)
    models = _best("model", "models", findings.models, findings.model_p_values, ())
    return Answer((*models, *strategies) or (_alone(findings.whole),), tuple(gates))


def _alone(whole: Total) -> str:
    if whole.clustered is None:
        return "No run says anything about a model yet."
    return f"{_rate(whole)} of the tool scenarios pass."


def _best(
    one: str, several: str, totals: Sequence[Total], found: PValues, compared: Sequence[StrategyPair]
) -> Iterator[str]:
    known = {total.name: total for total in totals if total.clustered}
    ranked = sorted(known, key=lambda name: (-(known[name].rate or 0.0), name))
    if len(ranked) < 2:
        return
    best, following = ranked[0], ranked[1]
    equals = [name for name in ranked[1:] if _p_value(best, name, found) > LEVEL]
    ahead = _ahead(known[best], known[following], compared)
    if not equals:
        others = f"the other {len(ranked) - 1}" if len(ranked) > 2 else following
        yield (
            f"{best} is the best {one}: {_rate(known[best])}, {ahead}; a test separates it from {others} "
            f"(p {_p(best, ranked[1:], found):.3g}, Holm)."
        )
        return
    undecided = f"Undecided which of the {len(ranked)} {several} is best:"
    level = f"p {_p(best, equals, found):.3g}, level {LEVEL}, Holm"
    if known[best].rate == known[following].rate:
        level_with = [name for name in equals if known[name].rate == known[best].rate]
        yield (
            f"{undecided} {_named([best, *level_with])} have the highest rate, "
            f"{_rate(known[best])}, and no test separates {best} from {_named(equals)} ({level})."
        )
    else:
        yield (
            f"{undecided} {best} has the highest rate, "
            f"{_rate(known[best])}, {ahead}, but no test separates it from {_named(equals)} ({level})."
        )


def _rate(total: Total) -> str:
    clustered = total.clustered
    return f"{percent(total.rate)} (95 % interval {clustered.interval})" if clustered else percent(None)


def _ahead(best: Total, following: Total, compared: Sequence[StrategyPair]) -> str:
    """By how much: on the tasks that both have where they were compared, else the difference of the rates."""
    for pair in compared:
        if {pair.first, pair.second} == {best.name, following.name}:
            sign = 1 if pair.second == best.name else -1
            bounds = sorted((sign * pair.difference.interval.low, sign * pair.difference.interval.high))
            interval = " to ".join(points(bound).removesuffix(" points") for bound in bounds)
            ahead = points(sign * pair.difference.difference)
            return f"{ahead} over {following.name} (95 % interval {interval})"
    return f"{points((best.rate or 0) - (following.rate or 0))} over {following.name}"


def _p(best: str, others: Sequence[str], found: PValues) -> float:
    """The p-value nearest to a change: the largest of those that separate, or the smallest of all."""
    values = [_p_value(best, name, found) for name in others]
    separated = [value for value in values if value <= LEVEL]
    return max(separated) if len(separated) == len(values) else min(values, default=1.0)


def _named(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} others"
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
