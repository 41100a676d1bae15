"""Confidence intervals as values; the formulas are in the adapters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed confidence interval.

    >>> print(Interval(0.8241935, 0.8814775, 0.95, "Wilson"))
    82.4 to 88.1 %
    >>> print(Interval(0.8388748, 1.0, 0.95, "Wilson"))
    83.9 to 100 %
    """

    low: float
    high: float
    confidence: float
    """The share of such intervals that hold the true value, such as 0.95."""
    method: str
    """The name of the formula; if it replaces another one, also why."""

    @property
    def width(self) -> float:
        """From the lower to the upper end."""
        return self.high - self.low

    def holds(self, value: float) -> bool:
        """Whether a value lies in it."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """The ends in percent, with one digit behind the point."""
        return f"{_percent(self.low)} to {_percent(self.high)} %"


def _percent(share: float) -> str:
    shown = f"{100 * share:.1f}".removesuffix(".0")
    return "0" if shown == "-0" else shown
