"""Which gates of a plan its scenarios and trials can never decide, known before the first run.

Each gate is checked as it will be, against the clearest results that there could be: all runs of one strategy
pass and none of the other, both pass all, or the other way round; for a bound, all runs pass or none does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from typing import assert_never

from toolreel.evals._statistics.intervals import MODELS_OF_A_SAMPLE, CellRate, clustered_rate
from toolreel.evals._statistics.side_differences import compare_scenarios, compare_trials
from toolreel.evals._summary.plan_gates import (
    adjusted_comparisons,
    counting_cells,
    gates_of,
    tests_of,
    tool_cells,
)
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.counts import Count, Pairs
from toolreel_core.evals._statistics.differences import About, PairedCell, clusters_to_show, runs_to_show
from toolreel_core.evals._statistics.gates import (
    Gate,
    GateResult,
    Measurements,
    NoRegression,
    NoWorseThan,
    StrategyComparison,
    Threshold,
    check_gate,
)


def gate_warnings(plan: EvalPlan) -> tuple[str, ...]:
    """A sentence about each gate that can't be decided, or not without a difference, with what it takes.

    :raises ConfigError: if a gate compares strategies that the plan does not have
    """
    gates = gates_of(plan)
    if not gates:
        return ()
    # A pair passes on both sides, is lost, or is gained.
    same, worse, better = (
        _measured(plan, gates, Pairs(*(plan.trials if place == at else 0 for place in range(4))))
        for at in range(3)
    )
    return tuple(filter(None, (_warning(gate, plan, same, worse, better) for gate in gates)))


def _warning(gate: Gate, plan: EvalPlan, same: Measurements, *clearest: Measurements) -> str:
    match gate:
        case Threshold():
            return _bound_warning(gate, plan)
        case NoRegression() | NoWorseThan():
            without, *others = (check_gate(gate, _asked_for(gate.about, each)) for each in (same, *clearest))
            decided = [found for found in others if _decided(found)]
            if not decided and not _decided(without):
                return f"this gate can never be decided: {without.sentence}"
            if _decided(without):
                return ""
            return f"without a difference, this gate is undecided: {without.sentence}"
        case _:
            assert_never(gate)


def _asked_for(about: About, measured: Measurements) -> Measurements:
    """Without what would be said next to it of these scenarios, since the results are made up."""
    if about == "these-scenarios":
        return measured
    return Measurements(comparisons=tuple(replace(each, these=None) for each in measured.comparisons))


def _decided(found: GateResult) -> bool:
    return found.standing != "undecided"


def _measured(plan: EvalPlan, gates: Iterable[Gate], pairs: Pairs) -> Measurements:
    """What would be measured if all pairs of all cells were these."""
    names = [strategy.name for strategy in plan.strategies]
    found = {pair: _compared_if(plan, pairs, *pair) for pair in permutations(names, 2)}
    return Measurements(comparisons=tuple(adjusted_comparisons(found, tests_of(gates)).values()))


def _compared_if(plan: EvalPlan, pairs: Pairs, strategy: str, against: str) -> StrategyComparison:
    sides = [first for first, _ in tool_cells(plan, (strategy, against))]
    cells = [PairedCell(cell.scenario, cell.model, pairs) for cell in sides]
    return StrategyComparison(strategy, against, compare_scenarios(cells), compare_trials(cells))


def _bound_warning(gate: Threshold, plan: EvalPlan) -> str:
    """Whether even the best results leave a bound on the wrong side."""
    cells = _cells(gate, plan)
    match gate.metric, gate.side:
        case "lower_bound", "at_least":
            passed, needed = plan.trials, 1 - gate.limit
        case "upper_bound", "at_most":
            passed, needed = 0, gate.limit
        case _:
            return ""
    count = Count(passed, plan.trials)
    found = clustered_rate([CellRate.of(cell.scenario, cell.model, count) for cell in cells])
    if found is None:
        return ""
    bound = found.interval.low if passed else found.interval.high
    if bound >= gate.limit if passed else bound <= gate.limit:
        return ""
    runs = f"{'all' if passed else 'none'} of its runs pass{'' if passed else 'es'}"
    return (
        f"this gate can never pass: {gate.metric} has to be {gate.side.replace('_', ' ')} {gate.limit:g}, "
        f"and if {runs}, it is {bound:.3f}; {_takes(found.clusters, found.models, needed)}"
    )


def _takes(scenarios: int, models: int, room: float) -> str:
    if not 0 < room < 1:
        return "no number of scenarios can show that"
    if models >= MODELS_OF_A_SAMPLE:
        return f"with {models} models, which are a sample too, it takes more of both, or a gate on each model"
    if scenarios == 1:
        return f"one scenario takes {runs_to_show(room)} runs"
    return f"it takes {clusters_to_show(room)} scenarios, of which there are {scenarios}"


def _cells(gate: Threshold, plan: EvalPlan) -> list[Cell]:
    """The cells of the group that a gate is about, in the order of the plan."""
    given = [
        cell
        for cell in plan.cells()
        if gate.strategy in {"", cell.strategy}
        and gate.model in {"", cell.model}
        and gate.scenario in {"", cell.scenario}
    ]
    counting = counting_cells(given, plan)
    return [cell for cell in given if cell in counting]
