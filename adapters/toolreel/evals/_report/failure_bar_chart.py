"""Why runs did not pass: categories by strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel.evals._report.svg import Drawing, marker, rect, series_class, text, width_of
from toolreel_core.evals._verdicts.failure_taxonomy import category

_MOST: Final = 24
"""Categories that the picture shows; the table in the page has all."""
_PLOT: Final = 360.0
_BAR: Final = 11.0


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """One category."""

    category: str
    about: str
    result: str
    counts: tuple[int, ...]
    """By strategy."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """All categories that some run has."""

    strategies: tuple[str, ...]
    rows: tuple[BreakdownRow, ...]
    """The most frequent first."""


def breakdown(taxonomy: Mapping[str, Mapping[str, int]]) -> Breakdown:
    """Categories by strategies, from how often each stands for a run.

    >>> found = breakdown({"raw": {"loop.max_turns": 2}, "production": {}})
    >>> [(row.category, row.counts) for row in found.rows]
    [('loop.max_turns', (2, 0))]
    """
    names = {name for found in taxonomy.values() for name in found}
    rows = [
        BreakdownRow(
            name,
            category(name).about,
            category(name).result,
            tuple(found.get(name, 0) for found in taxonomy.values()),
        )
        for name in names
    ]
    return Breakdown(tuple(taxonomy), tuple(sorted(rows, key=lambda row: (-sum(row.counts), row.category))))


def failures_drawing(found: Breakdown) -> Drawing:
    """The picture of a breakdown: a bar for each strategy in each category."""
    rows = found.rows[:_MOST]
    left = 24 + max([width_of(row.category) for row in rows], default=160)
    max_runs = max([count for row in rows for count in row.counts], default=1)
    high = len(found.strategies) * (_BAR + 2) + 12
    top = 40.0
    parts = [_legend(found.strategies)]
    if not rows:
        parts.append(text(12, top + 12, "No run failed, and none skipped the hard part."))
    for at, row in enumerate(rows):
        y = top + at * high
        parts.append(text(left - 10, y + (high - 12) / 2 + 3, row.category, "ink end"))
        for place, count in enumerate(row.counts):
            bar = y + place * (_BAR + 2)
            parts.append(rect(left, bar, max(1, _PLOT * count / max_runs), _BAR, series_class(place)))
            parts.append(text(left + _PLOT * count / max_runs + 6, bar + 9.5, str(count), "ink small"))
    rest = len(found.rows) - len(rows)
    bottom = top + max(1, len(rows)) * high
    if rest:
        parts.append(text(12, bottom + 12, f"{rest} rarer categories are left out", "soft"))
    about = "; ".join(_description(found.strategies, row) for row in rows) or "No run has a category."
    size = left + _PLOT + 60, bottom + 24
    return Drawing("failures", *size, "Why runs did not pass, by strategy", about, "".join(parts))


def _description(strategies: Sequence[str], row: BreakdownRow) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in zip(strategies, row.counts, strict=True))
    return f"{row.category}: {counts}"


def _legend(strategies: Sequence[str]) -> str:
    parts, at = [], 18.0
    for place, name in enumerate(strategies):
        parts.append(marker(place, at, 16, series_class(place)) + text(at + 11, 20, name))
        at += 36 + width_of(name)
    return "".join(parts)
