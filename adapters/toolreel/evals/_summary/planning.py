"""What a plan can show before it is run: the smallest difference, and the fate of each gate.

Gates are judged on drawn tables of trials, by the code that judges them on real ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from toolreel._internal import counted
from toolreel.evals._statistics import SPREAD, WITHIN, detectable, scenarios_to_tell
from toolreel.evals._summary.gates import GateResult, Sides, check_gates
from toolreel_core.evals import (
    EvalPlan,
    Trial,
    gates_of,
)

_RATE: Final = (8.5, 1.5)
"""Parameters of the beta distribution of rates that nobody knows yet: 85 % on average."""
_ROWS: Final = 40_000
"""Trials that are drawn in all, in at most 100 tables."""


def power_sentence(plan: EvalPlan) -> str:
    """Which difference comparisons of a plan can show with a power of 80 % at a level of 5 %.

    What is compared are its strategies; its models, if there is one strategy; or else a later evaluation.
    """
    scenarios = sum(not scenario.control for scenario in plan.scenarios)
    if not scenarios:
        return "no tool scenario, so nothing to compare"
    by_model = len(plan.strategies) == 1 and len(plan.models) > 1
    pairs = plan.count // len(plan.scenarios) // (len(plan.models) if by_model else len(plan.strategies))
    found = detectable(scenarios, pairs)
    there = f"with {counted(scenarios, 'scenario')} of {counted(pairs, 'pair')} each"
    if found is None:
        scenarios = max(2 * scenarios_to_tell(), scenarios + 1)
        there += f", nothing can be seen, however many trials they have; with {scenarios} scenarios"
        found = detectable(scenarios, pairs) or 1
    return (
        f"{there}, differences of about {100 * found:.0f} points can be seen (for scenarios such as these; "
        f"power 80 %, level 5 %, if differences vary by {100 * SPREAD:.0f} points among scenarios, and "
        f"{100 * WITHIN:.0f} % of trials disagree by chance: an assumption)"
    )


def gate_forecasts(plan: EvalPlan) -> tuple[str, ...]:
    """A sentence about each gate: how likely it is green if nothing changed, or why it can't be decided.

    :raises ConfigError: if a gate is about what the plan does not have
    """
    gates = gates_of(plan.options)
    if not gates:
        return ()
    empty = [
        Trial(cell, trial, control=plan.scenario(cell.scenario).control, lacking=False)
        for cell in plan.cells()
        for trial in plan.trials_of(cell)
    ]

    def judged(passes: Callable[[Trial], bool]) -> tuple[GateResult, ...]:
        rows = [replace(one, outcome="pass" if passes(one) else "fail") for one in empty]
        return check_gates(gates, Sides(rows, k=plan.trials))

    # All pass; all fail; and of two sides, only the one or the other passes.
    compared = {gate.strategy for gate in gates if gate.against}
    clearest = [
        judged(lambda _: True),
        judged(lambda _: False),
        judged(lambda one: one.cell.strategy in compared),
        judged(lambda one: one.cell.strategy not in compared),
    ]
    tables = max(10, min(100, _ROWS // max(1, len(empty))))
    drawn = []
    for number in range(tables):
        draws = random.Random(number)  # noqa: S311 - no secret
        # All strategies are equally good: a rate for each scenario.
        rates = {scenario.name: draws.betavariate(*_RATE) for scenario in plan.scenarios}
        drawn.append(judged(lambda one: draws.random() < rates[one.cell.scenario]))  # noqa: B023 - called at once
    found = []
    for gate, extremes, chances in zip(
        gates, zip(*clearest, strict=True), zip(*drawn, strict=True), strict=True
    ):
        standings = {one.standing for one in extremes}
        if "passed" not in standings:
            never = "pass" if "failed" in standings else "be decided"
            found.append(f"{gate}: this gate can never {never}: {extremes[0].sentence}")
            continue
        green = sum(one.standing == "passed" for one in chances) / tables
        undecided = (one.sentence for one in chances if one.standing == "undecided")
        such = next((f"; if it is undecided, then such as: {one}" for one in undecided), "")
        found.append(f"{gate}: green in {100 * green:.0f} % of such plans if nothing changed{such}")
    return tuple(found)
