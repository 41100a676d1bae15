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
    there = f"{counted(scenarios, 'scenario')} of {counted(pairs, 'pair')} each"
    basis = (
        f"if differences vary by {100 * SPREAD:.0f} points among scenarios, and {100 * WITHIN:.0f} % of "
        "trials disagree by chance: an assumption"
    )
    found = detectable(scenarios, pairs)
    if found is not None:
        return (
            f"with {there}, differences of about {100 * found:.0f} points can be seen (for scenarios such as "
            f"these; power 80 %, level 5 %, {basis})"
        )
    least = max(2 * scenarios_to_tell(), scenarios + 1)
    more = detectable(least, pairs)
    then = f"; with {least} scenarios, differences of about {100 * more:.0f} points, {basis}" if more else ""
    return f"with {there}, nothing can be seen, however many trials they have{then}"


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
    drawn = [judged(_drawn(plan, random.Random(number))) for number in range(tables)]  # noqa: S311 - no secret
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


def _drawn(plan: EvalPlan, draws: random.Random) -> Callable[[Trial], bool]:
    """Trials of which all strategies are equally good: a rate for each scenario, 85 % on average."""
    rates = {scenario.name: draws.betavariate(*_RATE) for scenario in plan.scenarios}
    return lambda one: draws.random() < rates[one.cell.scenario]
