"""How often comparisons and gates of evaluations are wrong, on plans of which the truth is known.

    python -m benchmarks.comparison_errors --plans 2000

Each setting is a way in which runs of a scenario are alike. Plans are drawn from it with
two sides that are equally good (in the second table the second is worse), compared as ``toolreel eval`` does
it, and counted. All is seeded, so that the same numbers come out again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from toolreel.evals import (
    PairedCell,
    Sides,
    check_gates,
    cluster_mean_cdf,
    paired_rate_difference,
    scaled_scenario_differences,
)
from toolreel_core.evals import SAMPLE, THESE, About, Cell, Gate, Trial

SEED = 2026
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Setting:
    """How plans are drawn; spreads are standard deviations of log-odds between the two sides."""

    name: str
    scenarios: int
    trials: int
    configurations: int = 1
    """Others of which each scenario and model has runs, such as strategies where models are compared."""
    by_scenario: float = 0.0
    """How much better the second side is on one scenario, and worse on another."""
    rates: tuple[float, float] = (2.0, 1.0)
    """Of scenarios: parameters of a beta distribution."""
    breaking: float = 0.0
    """The share of scenarios that the second side fails altogether."""
    about: About = SAMPLE


EQUAL = (
    Setting("two strategies, few scenarios", 6, 20, by_scenario=1.0),
    Setting("two strategies, many scenarios", 30, 5, by_scenario=1.0),
    Setting("the same, scenarios strongly different", 30, 5, by_scenario=1.0, rates=(0.3, 0.3)),
    Setting("two models, in a plan with 3 strategies", 8, 5, configurations=3, by_scenario=1.0),
    Setting("the same, 20 scenarios", 20, 5, configurations=3, by_scenario=1.0),
    Setting("two directories with a model each", 12, 10, by_scenario=1.5),
    Setting("these scenarios, few", 4, 20, rates=(0.3, 0.3), about=THESE),
    Setting("these scenarios, many", 30, 5, rates=(0.3, 0.3), about=THESE),
)

WORSE = (
    Setting("5 % of scenarios break, 20 scenarios", 20, 10, rates=(2000, 1), breaking=0.05),
    Setting("5 % of scenarios break, 60 scenarios", 60, 10, rates=(2000, 1), breaking=0.05),
    Setting("5 % of scenarios break, 200 scenarios", 200, 5, rates=(2000, 1), breaking=0.05),
    Setting("all break, 4 scenarios", 4, 20, rates=(2000, 1), breaking=1.0),
)


def drawn(setting: Setting, plans: int, seed: int = SEED) -> Iterator[list[PairedCell]]:
    """Plans of a setting, each as its cells."""
    random = np.random.default_rng(seed)
    shape = (setting.scenarios, 1, setting.configurations)
    for _ in range(plans):
        rates = random.beta(*setting.rates, size=(setting.scenarios, 1, 1))
        rates = np.clip(rates, 1e-4, 1 - 1e-4)
        odds = np.log(rates / (1 - rates)) + random.normal(0, 0.5, size=(1, 1, 1))
        shift = random.normal(0, 1, size=(setting.scenarios, 1, 1)) * setting.by_scenario
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
        PairedCell(f"scenario {at[0]}", f"model {at[1]}", *tables[(slice(None), *at)].tolist())
        for at in np.ndindex(*first.shape[:-1])
    ]


def sides(cells: Sequence[PairedCell]) -> Sides:
    """The trials of a plan, as gates take them."""
    rows: tuple[list[Trial], list[Trial]] = ([], [])
    for place, cell in enumerate(cells):
        outcomes = (
            *[(True, True)] * cell.both,
            *[(True, False)] * cell.lost,
            *[(False, True)] * cell.gained,
            *[(False, False)] * cell.neither,
        )
        at = Cell(cell.model, str(place), "s", cell.scenario)
        for trial, passed in enumerate(outcomes, 1):
            for side, ok in zip(rows, passed, strict=True):
                side.append(Trial(at, trial, "pass" if ok else "fail", lacking=False))
    return Sides(rows[1], rows[0])


@dataclass(frozen=True, slots=True)
class Errors:
    """How often a comparison of equals was wrong."""

    rejected: float
    covered: float


def errors(setting: Setting, plans: int, seed: int = SEED) -> Errors:
    """What comparisons of equals find."""
    found = [rejected(cells, setting.about) for cells in drawn(setting, plans, seed)]
    share = float(np.mean(found))
    return Errors(share, 1 - share)


def rejected(cells: Sequence[PairedCell], about: About) -> bool:
    """Whether a comparison tells the sides apart, which is whether its interval leaves out 0."""
    if about == THESE:
        found = paired_rate_difference(cells, THESE)
        return bool(found and found.p_value <= LEVEL)
    shares = scaled_scenario_differences(cells)
    # The ends need not be found for that.
    worse = [1 - share for share in shares]
    return min(cluster_mean_cdf(shares)(0.5), cluster_mean_cdf(worse)(0.5)) <= LEVEL / 2


def passing(setting: Setting, gates: tuple[Gate, ...], plans: int, seed: int = SEED) -> tuple[float, ...]:
    """The share of plans that pass each gate."""
    passed = [
        [one.standing == "passed" for one in check_gates(gates, sides(cells))]
        for cells in drawn(setting, plans, seed)
    ]
    return tuple(float(share) for share in np.mean(passed, axis=0))


GATES = Gate("margin", 0.02), Gate("no-regression"), Gate("nothing-broke")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plans", type=int, default=2000, help="of each setting")
    parser.add_argument("--table", choices=("equal", "worse"), action="append", help="only this one")
    given = parser.parse_args()
    tables = given.table or ["equal", "worse"]
    if "equal" in tables:
        print("| both sides are equal | scenarios x trials | p <= 0.05 | interval holds 0 |")
        print("|---|---|---|---|")
        for setting in EQUAL:
            found = errors(setting, given.plans)
            size = f"{setting.scenarios} x {setting.trials}"
            shares = f"{found.rejected:.3f} | {found.covered:.3f}"
            print(f"| {setting.name} | {size} | {shares} |", flush=True)
    if "worse" in tables:
        print("| the second side is worse | `margin=0.02` passes | `no-regression` | `nothing-broke` |")
        print("|---|---|---|---|")
        for setting in WORSE:
            shares = " | ".join(f"{share:.3f}" for share in passing(setting, GATES, given.plans))
            print(f"| {setting.name} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
