"""Strategies side by side: the rate of each with its interval, and what one gains over another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from toolreel.evals._report.svg import (
    Drawing,
    line,
    marker,
    percent,
    points,
    rect,
    series_class,
    text,
    width_of,
)
from toolreel.evals._statistics.intervals import methods_of
from toolreel.evals._summary.answer import StrategyPair
from toolreel.evals._summary.summary_statistics import Total
from toolreel_core.evals._statistics.counts import Interval

_PLOT: Final = 404.0
_LEFT: Final = 28.0
_ROW: Final = 38.0
_TOP: Final = 48.0
_TICKS: Final = 6
"""Parts of an axis whose numbers do not touch."""


def forest_drawing(totals: Sequence[Total], compared: Sequence[StrategyPair]) -> Drawing:
    """The picture of strategies, and below it that of their differences; narrow enough for a telephone."""
    body = [text(12, 18, "Pass rate", "ink bold"), _rates(totals)]
    below = _TOP + len(totals) * _ROW + 34
    if compared:
        body.append(text(12, below + 8, "Difference for scenarios such as these, in points", "ink bold"))
        body.append(_differences(compared, below + 26))
    height = below + (len(compared) * _ROW + 56 if compared else 0)
    about = "; ".join(f"{total.name}: {_figures(total)}" for total in totals)
    methods = methods_of(map(_interval, totals))
    title = f"Strategies with their 95 % intervals{f' ({methods})' if methods else ''}"
    return Drawing("strategies", _LEFT + _PLOT + _LEFT, height, title, about, "".join(body))


@dataclass(frozen=True, slots=True)
class _Axis:
    """From values to places."""

    low: float
    high: float

    def at(self, value: float) -> float:
        return _LEFT + _PLOT * (value - self.low) / (self.high - self.low)

    def ticks(self, parts: int) -> list[float]:
        return [self.low + (self.high - self.low) * part / parts for part in range(parts + 1)]


def _rates(totals: Sequence[Total]) -> str:
    bounds = [bound for each in totals if (found := _interval(each)) for bound in (found.low, found.high)]
    axis, parts_of_axis = rate_axis(min(bounds, default=0.0), max(bounds, default=1.0))
    bottom = _TOP + len(totals) * _ROW - 8
    parts = [_grid(axis, axis.ticks(parts_of_axis), _TOP - 14, bottom, percent)]
    for place, total in enumerate(totals):
        y = _TOP + place * _ROW
        parts.append(_words(total.name, _figures(total), y))
        parts.append(_row(axis, place, total.rate, _interval(total), y + 14))
    return "".join(parts)


def rate_axis(least: float, most: float) -> tuple[_Axis, int]:
    """An axis of rates in steps of 10 or 20 %, whichever have room, and how many they are."""
    tenths = 1 if ceil(most * 10) - floor(least * 10) <= _TICKS else 2
    low = min(floor(least * 10 / tenths) * tenths, 10 - tenths)
    high = max(low + tenths, ceil(most * 10 / tenths) * tenths)
    return _Axis(low / 10, high / 10), (high - low) // tenths


def _differences(compared: Sequence[StrategyPair], top: float) -> str:
    bounds = [
        abs(bound)
        for each in compared
        for bound in (each.difference.interval.low, each.difference.interval.high)
    ]
    reach = max(0.05, ceil(max(bounds) * 20) / 20)
    axis = _Axis(-reach, reach)
    bottom = top + len(compared) * _ROW + 2
    parts = [
        _grid(axis, axis.ticks(4), top - 6, bottom, _plain_points),
        line(axis.at(0), top - 6, axis.at(0), bottom, "axis"),
    ]
    for place, each in enumerate(compared):
        y, found = top + place * _ROW + 8, each.difference
        words = f"{points(found.difference)}, p {each.holm:.3g} (Holm), n {found.runs}"
        parts.append(_words(each.name, words, y))
        parts.append(_row(axis, -1, found.difference, found.interval, y + 14))
    return "".join(parts)


def _words(name: str, figures: str, y: float) -> str:
    """A name above the left end of its row, figures above the right one; no line cuts them."""
    wide = width_of(figures)
    return (
        rect(_LEFT, y - 11, width_of(name) + 4, 15, "paper")
        + text(_LEFT, y, name, "ink")
        + rect(_LEFT + _PLOT - wide * 0.9, y - 11, wide * 0.9, 15, "paper")
        + text(_LEFT + _PLOT, y, figures, "ink small end")
    )


def _grid(
    axis: _Axis, ticks: Sequence[float], top: float, bottom: float, word: Callable[[float], str]
) -> str:
    return "".join(
        line(axis.at(value), top, axis.at(value), bottom, "grid")
        + text(axis.at(value), bottom + 14, word(value), "soft small middle")
        for value in ticks
    )


def _row(axis: _Axis, place: int, value: float | None, interval: Interval | None, y: float) -> str:
    """An interval and the value in it; at place -1 it is no strategy's."""
    if value is None or interval is None:
        return text(_LEFT + 4, y + 4, "no valid run", "soft small")
    kind = series_class(place) if place >= 0 else "ink"
    ends = [axis.at(interval.low), axis.at(interval.high)]
    return (
        line(ends[0], y, ends[1], y, f"line-{kind} thick")
        + "".join(line(end, y - 4, end, y + 4, f"line-{kind} thick") for end in ends)
        + marker(max(place, 0), axis.at(value), y, kind)
    )


def _interval(total: Total) -> Interval | None:
    return total.clustered.interval if total.clustered else None


def _figures(total: Total) -> str:
    interval = _interval(total)
    return f"{percent(total.rate)} ({interval}), n {total.counts.valid}" if interval else "n 0"


def _plain_points(value: float) -> str:
    return points(value).removesuffix(" points")
