"""Equivalence: whether two sides differ by less than somebody cares about, and what it takes to know.

A test that finds no difference shows nothing: with few runs it never finds one. So a margin is named first,
and the sides are equivalent if the whole interval of their difference is inside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeAlias, assert_never

from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.differences import Difference

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

    >>> from toolreel_core.evals._statistics.interval import Interval
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
