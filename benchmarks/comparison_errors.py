"""How often comparisons and gates of evaluations are wrong, on plans of which the truth is known.

    python -m benchmarks.comparison_errors --plans 2000

Each setting is a way in which runs are alike: by scenario, by model, or both. Plans are drawn from it with
two sides that are equally good (in the second table the second is worse), compared as ``toolreel eval`` does
it, and counted. All is seeded, so that the same numbers come out again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from benchmarks.interval_coverage import holds
from toolreel.evals import (
    clusterings,
    compare_scenarios,
    compare_trials,
    scenarios_p,
)
from toolreel_core.evals import (
    About,
    Gate,
    Measurements,
    NoRegression,
    NoWorseThan,
    PairedCell,
    Pairs,
    Standing,
    StrategyComparison,
    check_gate,
)

SEED: Final = 2026
LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True)
class Setting:
    """How plans are drawn; spreads are standard deviations of log-odds between the two sides."""

    name: str
    scenarios: int
    trials: int
    models: int = 1
    configurations: int = 1
    """Others of which each scenario and model has runs, such as strategies where models are compared."""
    by_scenario: float = 0.0
    """How much better the second side is on one scenario, and worse on another."""
    by_model: float = 0.0
    rates: tuple[float, float] = (2.0, 1.0)
    """Of scenarios: parameters of a beta distribution."""
    breaking: float = 0.0
    """The share of scenarios that the second side fails altogether."""
    about: About = "scenarios-such-as-these"


EQUAL: Final = (
    Setting("two strategies, few scenarios", 6, 20, by_scenario=1.0),
    Setting("two strategies, many scenarios", 30, 5, by_scenario=1.0),
    Setting("the same, scenarios strongly different", 30, 5, by_scenario=1.0, rates=(0.3, 0.3)),
    Setting("two models, in a plan with 3 strategies", 8, 5, configurations=3, by_scenario=1.0),
    Setting("the same, 20 scenarios", 20, 5, configurations=3, by_scenario=1.0),
    Setting("two strategies, 6 random models", 20, 3, models=6, by_scenario=0.5, by_model=1.0),
    Setting("two strategies, 12 random models", 20, 3, models=12, by_scenario=0.5, by_model=1.0),
    Setting("two strategies, 17 random models", 20, 3, models=17, by_scenario=0.5, by_model=1.0),
    Setting("the same, models hardly different", 20, 3, models=17, by_scenario=0.5, by_model=0.2),
    Setting("the same, 27 scenarios strongly different", 27, 3, models=17, by_scenario=1.5, by_model=0.5),
    Setting("two directories with a model each", 12, 10, by_scenario=1.5),
    Setting("these scenarios, few", 4, 20, rates=(0.3, 0.3), about="these-scenarios"),
    Setting("these scenarios, many", 30, 5, rates=(0.3, 0.3), about="these-scenarios"),
)

WORSE: Final = (
    Setting("5 % of scenarios break, 20 scenarios", 20, 10, rates=(2000, 1), breaking=0.05),
    Setting("5 % of scenarios break, 60 scenarios", 60, 10, rates=(2000, 1), breaking=0.05),
    Setting("5 % of scenarios break, 200 scenarios", 200, 5, rates=(2000, 1), breaking=0.05),
    Setting("all break, 4 scenarios", 4, 20, rates=(2000, 1), breaking=1.0),
)


def drawn(setting: Setting, plans: int, seed: int = SEED) -> Iterator[list[PairedCell]]:
    """Plans of a setting, each as its cells."""
    random = np.random.default_rng(seed)
    shape = (setting.scenarios, setting.models, setting.configurations)
    for _ in range(plans):
        rates = random.beta(*setting.rates, size=(setting.scenarios, 1, 1))
        rates = np.clip(rates, 1e-4, 1 - 1e-4)
        odds = np.log(rates / (1 - rates)) + random.normal(0, 0.5, size=(1, setting.models, 1))
        shift = random.normal(0, 1, size=(setting.scenarios, 1, 1)) * setting.by_scenario
        shift = shift + random.normal(0, 1, size=(1, setting.models, 1)) * setting.by_model
        first, second = (1 / (1 + np.exp(-(odds + sign * shift / 2))) for sign in (-1, 1))
        second = np.where(random.random((setting.scenarios, 1, 1)) < setting.breaking, 0.0, second)
        passed = [
            random.random((*shape, setting.trials)) < np.broadcast_to(rate, shape)[..., None]
            for rate in (first, second)
        ]
        yield _cells(*passed)


def _cells(first: np.ndarray, second: np.ndarray) -> list[PairedCell]:
    """The runs of both sides by scenario, model, configuration and trial, as pairs of each cell."""
    tables = np.stack([first & second, first & ~second, ~first & second, ~first & ~second]).sum(axis=-1)
    return [
        PairedCell(f"scenario {at[0]}", f"model {at[1]}", Pairs(*tables[(slice(None), *at)].tolist()))
        for at in np.ndindex(*first.shape[:-1])
    ]


def compared(cells: list[PairedCell]) -> StrategyComparison:
    """Both kinds of statement about a plan, as gates take them."""
    return StrategyComparison("second", "first", compare_scenarios(cells), compare_trials(cells))


def standing(gate: Gate, comparison: StrategyComparison) -> Standing:
    """What a gate says."""
    return check_gate(gate, Measurements(comparisons=(comparison,))).standing


@dataclass(frozen=True, slots=True)
class Errors:
    """How often a comparison of equals was wrong."""

    rejected: float
    covered: float


def errors(setting: Setting, plans: int, seed: int = SEED) -> Errors:
    """What comparisons of equals find."""
    found = [
        _of_trials(cells) if setting.about == "these-scenarios" else _of_scenarios(cells)
        for cells in drawn(setting, plans, seed)
    ]
    rejected, covered = np.mean(found, axis=0)
    return Errors(float(rejected), float(covered))


def _of_trials(cells: list[PairedCell]) -> tuple[bool, bool]:
    found = compare_trials(cells)
    return bool(found and found.p_value <= LEVEL), bool(found and found.interval.holds(0.0))


def _of_scenarios(cells: list[PairedCell]) -> tuple[bool, bool]:
    return scenarios_p(cells) <= LEVEL, no_difference_held(cells)


def no_difference_held(cells: list[PairedCell]) -> bool:
    """Whether the interval of a comparison holds 0.

    The ends are found only where it matters which of two intervals is the wider one: that takes 20 times
    as long as to say whether each holds 0.
    """
    both = {_no_mean_held(each) for each in clusterings(cells)}
    if len(both) == 1:
        return both.pop()
    found = compare_scenarios(cells)
    return bool(found and found.interval.holds(0.0))


def _no_mean_held(differences: Sequence[Fraction]) -> bool:
    return holds(tuple(sorted(float(each + 1) / 2 for each in differences)), 0.5)


def passing(setting: Setting, gates: tuple[Gate, ...], plans: int, seed: int = SEED) -> tuple[float, ...]:
    """The share of plans that pass each gate."""
    passed = [
        [standing(gate, comparison) == "passed" for gate in gates]
        for comparison in map(compared, drawn(setting, plans, seed))
    ]
    return tuple(float(share) for share in np.mean(passed, axis=0))


GATES: Final = NoWorseThan("second", "first", 0.02), NoRegression("second", "first")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plans", type=int, default=2000, help="of each setting")
    parser.add_argument("--table", choices=("equal", "worse"), action="append", help="only this one")
    given = parser.parse_args()
    tables = given.table or ["equal", "worse"]
    if "equal" in tables:
        print("| both sides are equal | scenarios x models x trials | p <= 0.05 | interval holds 0 |")
        print("|---|---|---|---|")
        for setting in EQUAL:
            found = errors(setting, given.plans)
            size = f"{setting.scenarios} x {setting.models} x {setting.trials}"
            shares = f"{found.rejected:.3f} | {found.covered:.3f}"
            print(f"| {setting.name} | {size} | {shares} |", flush=True)
    if "worse" in tables:
        print("| the second side is worse | `margin=0.02` passes | `no-regression` passes |\n|---|---|---|")
        for setting in WORSE:
            shares = " | ".join(f"{share:.3f}" for share in passing(setting, GATES, given.plans))
            print(f"| {setting.name} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
