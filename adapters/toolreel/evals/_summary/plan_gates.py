"""Check the gates of a plan against the summary of its runs; before them, say which can never be decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import TypeVar, assert_never

from toolreel.evals._statistics.intervals import MODELS_OF_A_SAMPLE, CellRate, clustered_rate
from toolreel.evals._statistics.side_differences import compare_scenarios, compare_trials
from toolreel.evals._statistics.significance_tests import adjusted
from toolreel.evals._summary.run_pairs import Axis, pair_runs, paired_cells
from toolreel.evals._summary.summary_statistics import Total, total_of
from toolreel_core._internal import Table
from toolreel_core._jsontext import parse
from toolreel_core.evals import (
    About,
    Cell,
    Count,
    EvalPlan,
    Figures,
    Gate,
    GateResult,
    Measurements,
    NoRegression,
    NoWorseThan,
    PairedCell,
    Pairs,
    RunEntry,
    StrategyComparison,
    Summary,
    Threshold,
    check_gate,
    clusters_to_show,
    gate_from,
    runs_to_show,
)

_Group = tuple[str, str, str]
Name = TypeVar("Name", bound=Hashable)


def gates_of(plan: EvalPlan) -> tuple[Gate, ...]:
    """The gates that a plan has."""
    trees = parse(plan.options.gates)
    return tuple(gate_from(Table.of(tree, "gate")) for tree in (trees if isinstance(trees, list) else []))


def check_gates(gates: Sequence[Gate], summary: Summary, plan: EvalPlan) -> tuple[GateResult, ...]:
    """Check each gate.

    :raises ConfigError: if a gate is about what the plan does not have
    """
    if not gates:
        return ()
    measured = Measurements(measured_figures(summary, plan), tuple(_comparisons(gates, summary, plan)))
    return tuple(check_gate(gate, measured) for gate in gates)


def measured_figures(
    summary: Summary, plan: EvalPlan, axis: Axis = "", value: str = ""
) -> tuple[Figures, ...]:
    """The figures of each group of runs by strategy, model and scenario, an empty name for all of them.

    :param axis: only cells with the value on this axis, if one is named
    """
    there = {cell.cell: cell for cell in summary.cells}
    lacks = _lacks(summary, plan)
    groups: dict[_Group, list[Cell]] = {}
    for task in plan.tasks():
        for scenario in plan.scenarios:
            cell = task.cell(scenario.name)
            if axis and getattr(cell, axis) != value:
                continue
            for group in product(("", cell.strategy), ("", cell.model), ("", cell.scenario)):
                groups.setdefault(group, []).append(cell)
    return tuple(
        Figures(
            values_of(total_of("", (there[cell] for cell in cells if cell in there), plan.trials)),
            *group,
            missing=sum(map(lacks, counting_cells(cells, plan))),
        )
        for group, cells in groups.items()
    )


def values_of(total: Total) -> dict[str, float | None]:
    """The metrics that a gate can name."""
    interval = total.clustered.interval if total.clustered else None
    counts, usage = total.counts, total.usage
    return {
        "rate": total.rate,
        "lower_bound": interval.low if interval else None,
        "upper_bound": interval.high if interval else None,
        "exercised_rate": total.exercised_rate,
        "coverage": counts.coverage,
        "pass_at_1": total.pass_at_1.rate,
        "pass_hat_k": total.pass_hat_k.rate,
        "runs": counts.runs,
        "valid": counts.valid,
        "fail": counts.failed,
        "unsupported": counts.unsupported,
        "void": counts.void,
        "p50_ms": total.p50_ms,
        "p95_ms": total.p95_ms,
        "cost": usage.cost,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def counting_cells(cells: Iterable[Cell], plan: EvalPlan) -> set[Cell]:
    """The cells that a total is of: those of tool scenarios; where there are none, the controls."""
    given = {*cells}
    return {cell for cell in given if not plan.scenario(cell.scenario).control} or given


def lacking(cells: Iterable[Cell], summary: Summary, plan: EvalPlan) -> int:
    """Runs that cells lack, or that are void; what the plan accepts is not lacking."""
    return sum(map(_lacks(summary, plan), cells))


def _lacks(summary: Summary, plan: EvalPlan) -> Callable[[Cell], int]:
    there = {
        cell.cell: sum(
            entry.result != "void" or summary.accepts(entry)
            for entry in cell.entries
            if entry.trial in plan.trials_of(cell.cell)
        )
        for cell in summary.cells
    }
    return lambda cell: len(plan.trials_of(cell)) - there.get(cell, 0)


def _comparisons(gates: Iterable[Gate], summary: Summary, plan: EvalPlan) -> Iterable[StrategyComparison]:
    """Each strategy compared with each other; Holm's adjustment is for as many tests as the gates ask for."""
    names = [strategy.name for strategy in plan.strategies]
    found = {pair: _compared(summary, plan, *pair) for pair in permutations(names, 2)}
    return adjusted_comparisons(found, tests_of(gates)).values()


def tests_of(gates: Iterable[Gate]) -> set[tuple[tuple[str, str], About]]:
    """The significance tests that gates ask for, each once."""
    tests = [gate for gate in gates if isinstance(gate, NoRegression)]
    return {((gate.strategy, gate.against), gate.about) for gate in tests}


def adjusted_comparisons(
    found: Mapping[Name, StrategyComparison], asked: Collection[tuple[Name, About]]
) -> Mapping[Name, StrategyComparison]:
    """The same comparisons, with p-values adjusted for as many tests as gates ask for.

    Where a test about scenarios such as these is asked for, that of these scenarios is next to it; such
    tests are adjusted by themselves.
    """
    differences = {
        (name, each.about): each
        for name, about in asked
        if name in found and (each := found[name].difference(about))
    }
    beside = {
        (name, each.about): each
        for name, _ in asked
        if name in found and (each := found[name].these) and (name, each.about) not in differences
    }
    values = {**adjusted(beside), **adjusted(differences)}
    return {
        name: replace(
            compared,
            sample=values.get((name, "scenarios-such-as-these"), compared.sample),
            these=values.get((name, "these-scenarios"), compared.these),
        )
        for name, compared in found.items()
    }


def _compared(summary: Summary, plan: EvalPlan, strategy: str, against: str) -> StrategyComparison:
    """How a strategy did compared with another, and how many pairs are not there or spoiled by a void run.

    A void run that is accepted spoils none: its pair is not valid, and nobody waits for it.
    """
    matches = pair_runs(_entries(summary, against), _entries(summary, strategy), "strategy")
    there = Counter(
        match.second.cell
        for match in matches.both
        if match.second.trial in plan.trials_of(match.first.cell)
        and match.second.trial in plan.trials_of(match.second.cell)
        and all(run.result != "void" or summary.accepts(run) for run in (match.first, match.second))
    )
    cells = paired_cells(matches.both, "strategy")
    return StrategyComparison(
        strategy,
        against,
        compare_scenarios(cells),
        compare_trials(cells),
        sum(
            max(0, len({*plan.trials_of(sides[0])} & {*plan.trials_of(sides[1])}) - there[sides[0]])
            for sides in tool_cells(plan, (strategy, against))
        ),
    )


def _entries(summary: Summary, strategy: str) -> Iterable[RunEntry]:
    for cell in summary.cells:
        if cell.cell.strategy == strategy and not cell.control:
            yield from cell.entries


def tool_cells(plan: EvalPlan, strategies: tuple[str, str]) -> Iterable[tuple[Cell, ...]]:
    """The cells of tool scenarios under two strategies, side by side."""
    tools = [scenario.name for scenario in plan.scenarios if not scenario.control]
    for task in plan.tasks():
        if task.strategy == strategies[0]:
            for name in tools:
                yield tuple(replace(task.cell(name), strategy=strategy) for strategy in strategies)


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
