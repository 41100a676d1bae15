"""How many runs it takes to see a difference, and which difference so many runs can show.

The paired numbers are those of the exact McNemar test, summed over all tables that can come about; the
unpaired ones those of the test of two rates, by the normal approximation. Paired runs need to be told
the discordance: the share of tasks on which exactly one of the two passes, from a small run beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from toolreel.evals._statistics.scipy import mcnemar_power, rates_power
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import inside

_MOST: Final = 2**27
"""Runs beyond which nobody would go: more than a hundred million."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What it takes to see a difference."""

    difference: float
    """Between the two rates, -1 to 1."""
    runs: int
    """Of each of the two: valid runs, and where they are paired, of the same tasks."""
    power: float
    """The chance to see the difference if it is there."""
    alpha: float
    """The chance to see one if none is there."""
    paired: bool

    def __str__(self) -> str:
        """The plan in words.

        >>> print(Planned(0.03, 2036, 0.8, 0.05, paired=False))
        to see 3 points, each of the two needs 2036 runs (power 80 %, level 5 %, unpaired)
        """
        how = "paired" if self.paired else "unpaired"
        settings = f"power {100 * self.power:g} %, level {100 * self.alpha:g} %, {how}"
        points = f"{100 * abs(self.difference):.3g} points"
        return f"to see {points}, each of the two needs {self.runs} runs ({settings})"


def unpaired_power(rate: float, difference: float, runs: int, *, alpha: float = 0.05) -> float:
    """The chance to see that the rate of a second candidate differs so much from a first's.

    :param rate: of the first
    :param runs: of each of the two, on different tasks
    """
    _check(runs=runs, alpha=alpha)
    other = inside("rate + difference", inside("rate", rate) + difference)
    return rates_power(rate, other, runs, alpha)


def paired_power(discordance: float, difference: float, pairs: int, *, alpha: float = 0.05) -> float:
    """The chance that the exact McNemar test sees a difference.

    :param discordance: the share of tasks on which exactly one of the two passes
    """
    _check(runs=pairs, alpha=alpha)
    if abs(difference) > inside("discordance", discordance):
        raise ConfigError(
            f"difference: expected at most the discordance, {discordance!r}, got {difference!r}: "
            "two that differ so much disagree on at least as many tasks"
        )
    return mcnemar_power(pairs, (discordance - difference) / 2, (discordance + difference) / 2, alpha)


def unpaired_runs(
    rate: float, difference: float, *, power: float = 0.8, alpha: float = 0.05, design_effect: float = 1.0
) -> Planned:
    """How many runs each of two candidates needs on different tasks, so that a difference is seen.

    >>> print(unpaired_runs(0.85, 0.03))
    to see 3 points, each of the two needs 2036 runs (power 80 %, level 5 %, unpaired)

    :param rate: of the first
    :param design_effect: how many times as many runs clusters cost; see
        :attr:`toolreel.evals._statistics.intervals.Clustered.design_effect`
    """
    runs = _fewest(lambda runs: unpaired_power(rate, difference, runs, alpha=alpha), difference, power)
    return Planned(difference, ceil(runs * _effect(design_effect)), power, alpha, paired=False)


def paired_runs(
    discordance: float,
    difference: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    design_effect: float = 1.0,
) -> Planned:
    """How many runs each of two candidates needs on the same tasks, so that a difference is seen.

    >>> print(paired_runs(0.1, 0.03))
    to see 3 points, each of the two needs 920 runs (power 80 %, level 5 %, paired)
    """
    runs = _fewest(lambda runs: paired_power(discordance, difference, runs, alpha=alpha), difference, power)
    return Planned(difference, ceil(runs * _effect(design_effect)), power, alpha, paired=True)


def unpaired_detectable(
    rate: float, runs: int, *, power: float = 0.8, alpha: float = 0.05, design_effect: float = 1.0
) -> float | None:
    """The smallest rise above a rate that so many runs of each of two show; ``None`` if not even a rise to 1.

    >>> round(unpaired_detectable(0.85, 2036), 4)
    0.03
    """
    effective = floor(runs / _effect(design_effect))
    inside("rate", rate)
    return _smallest(lambda rise: unpaired_power(rate, rise, effective, alpha=alpha), 1 - rate, power)


def paired_detectable(
    discordance: float, pairs: int, *, power: float = 0.8, alpha: float = 0.05, design_effect: float = 1.0
) -> float | None:
    """The smallest difference that so many pairs show; ``None`` if not even all of the discordance."""
    effective = floor(pairs / _effect(design_effect))
    inside("discordance", discordance)
    return _smallest(lambda gain: paired_power(discordance, gain, effective, alpha=alpha), discordance, power)


def _fewest(power_of: Callable[[int], float], difference: float, power: float) -> int:
    """The number of runs from which on the power is there, found by halving.

    An exact test's power rises with small steps back; what is found is the end of one of the rises.
    """
    inside("power", power)
    if difference == 0:
        raise ConfigError("difference: no number of runs shows a difference of 0")
    enough = 1
    while power_of(enough) < power:
        enough *= 2
        if enough > _MOST:
            raise ConfigError(f"difference: {difference!r} would take more than {_MOST} runs")
    low, high = enough // 2, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


def _smallest(power_of: Callable[[float], float], largest: float, power: float) -> float | None:
    """The smallest difference with the power, found by halving."""
    inside("power", power)
    low, high = 0.0, largest * (1 - 1e-9)
    if power_of(high) < power:
        return None
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


def _check(*, runs: int, alpha: float) -> None:
    inside("alpha", alpha)
    if runs < 1:
        raise ConfigError(f"runs: expected at least 1 after the design effect, got {runs!r}")


def _effect(design_effect: float) -> float:
    if not design_effect > 0:
        raise ConfigError(f"design_effect: expected a number above 0, got {design_effect!r}")
    return design_effect
