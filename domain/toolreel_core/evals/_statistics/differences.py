"""How two sides differ, and what it takes to say anything about it.

There are two kinds of statement, and a difference says of which kind it is:

- ``scenarios-such-as-these``: the scenarios are a sample, and each counts once, however often it was run.
  Take it to know whether a strategy or a model is better.
- ``these-scenarios``: the scenarios are all there is, and only chance among their trials can mislead. Take it
  if the scenarios are your product, or too few to be a sample.

A test that finds no difference shows nothing: with few runs it never finds one. For equivalence, a margin is
named first, and the sides are equivalent if the whole interval of their difference is inside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, comb, log, prod
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.counts import Interval, Pairs

About: TypeAlias = Literal["scenarios-such-as-these", "these-scenarios"]

_TAIL: Final = 0.025
"""Of an interval at 95 %."""
_SQUARED: Final = 3.8414588206941254
"""The square of the normal distribution's quantile that leaves so much above it: 1.96 squared."""


@dataclass(frozen=True, slots=True)
class PairedCell:
    """The trials of one scenario under one configuration on each of two sides."""

    scenario: str
    model: str
    """Empty if the models are what is compared."""
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Difference:
    """How a second side differs from a first."""

    about: About
    difference: float
    """The second's rate less the first's, -1 to 1."""
    interval: Interval
    """Of the difference."""
    p_value: float
    """Two-sided and exact; adjusted by Holm if ``comparisons`` is more than 1."""
    smallest_p: float
    """The least that ``p_value`` could be with this many scenarios, or with this many trials."""
    test: str
    scenarios: int
    models: int = 0
    """If the models are a sample too; 0 if not."""
    runs: int = 0
    """Of each side."""
    comparisons: int = 1


def smallest_flips_p(clusters: int) -> float:
    """The least that a test by sign flips can give: all clusters have the same sign.

    >>> smallest_flips_p(5), smallest_flips_p(6)
    (0.0625, 0.03125)
    """
    return min(1.0, 2.0 ** (1 - clusters))


def smallest_permutation_p(runs: Iterable[int]) -> float:
    """The least that a test by permuted labels can give: one side passes all its runs, the other none.

    >>> smallest_permutation_p([3]), smallest_permutation_p([3, 3])
    (0.1, 0.005)

    :param runs: of each side, by cell
    """
    return min(1.0, 2 / prod(comb(2 * many, many) for many in runs))


def clusters_to_reach(level: float, comparisons: int = 1) -> int:
    """How many clusters it takes for sign flips to be significant at all.

    >>> clusters_to_reach(0.05), clusters_to_reach(0.05, comparisons=3)
    (6, 7)
    """
    return next(many for many in range(1, 1_100) if comparisons * smallest_flips_p(many) <= level)


def clusters_to_show(margin: float) -> int:
    """How many clusters without any difference show that the second side is at most a margin worse.

    Fewer leave too much room for a rare scenario that broke and was not run.

    >>> clusters_to_show(0.02), clusters_to_show(0.1)
    (183, 36)
    """
    return ceil(log(_TAIL) / log(1 - margin))


def runs_to_show(margin: float) -> int:
    """How many runs of each side show the same of these scenarios, if all of them pass.

    >>> runs_to_show(0.02), runs_to_show(0.1)
    (189, 35)
    """
    return ceil(_SQUARED * (1 - margin) / margin)


EquivalenceVerdict: TypeAlias = Literal["equivalent", "different", "undecided"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What is known about two sides being equivalent."""

    verdict: EquivalenceVerdict
    margin: float
    """The difference that nobody cares about, such as 0.05."""
    difference: float
    """The second's rate less the first's, -1 to 1."""
    low: float
    """The lower end of its interval."""
    high: float
    runs: int
    """Pairs that there are."""
    needed: int
    """About how many would decide, if the rates stay as they are; 0 where they are enough."""

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        found = f"{_points(self.difference)} points ({_points(self.low)} to {_points(self.high)})"
        match self.verdict:
            case "equivalent":
                return f"equivalent within {100 * self.margin:g} points: the difference is {found}"
            case "different":
                return f"different: by {found}"
            case "undecided":
                decide = f"about {self.needed} pairs would decide, if the rates stay as they are"
                return f"undecided: the difference is {found} from {self.runs} pairs; {decide}"
            case _:
                assert_never(self.verdict)


def equivalence(found: Difference, margin: float) -> Equivalence:
    """Whether two sides are equivalent.

    They are if the interval of their difference is inside the margin on both sides. They are different if it
    is not, and excludes 0.

    >>> from toolreel_core.evals._statistics.counts import Interval
    >>> seen = Difference("these-scenarios", 0.0, Interval(-0.1, 0.1, 0.95, ""), 1.0, 0.1, "", 4, runs=36)
    >>> equivalence(seen, 0.05).verdict, equivalence(seen, 0.05).needed
    ('undecided', 144)

    :param margin: more than 0, and less than 1
    :raises ConfigError: if it is not
    """
    inside("margin", margin)
    low, high = found.interval.low, found.interval.high
    verdict = _verdict(low, high, margin)
    needed = _needed(found, margin) if verdict == "undecided" else 0
    return Equivalence(verdict, margin, found.difference, low, high, found.runs, needed)


def _verdict(low: float, high: float, margin: float) -> EquivalenceVerdict:
    if -margin < low and high < margin:
        return "equivalent"
    return "different" if low > 0 or high < 0 else "undecided"


def _needed(found: Difference, margin: float) -> int:
    """The width of an interval goes with the square root of the runs.

    It has to become narrow enough to leave out 0, or one end of the margin, whichever takes less.
    """
    size = abs(found.difference)
    reach = max(found.interval.high - found.difference, found.difference - found.interval.low)
    room = max(size, margin - size)
    return max(found.runs + 1, ceil(found.runs * (reach / room) ** 2))


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"
