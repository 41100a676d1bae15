"""Why runs did not pass: categories by strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel.evals._report.svg import Drawing, marker, rect, series_class, text, width_of
from toolreel_core.evals._verdicts import category

_MOST: Final = 12
"""Categories that the picture shows; the table in the page has all."""
_PLOT: Final = 390.0
_WIDE: Final = 460.0
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
    """The picture of a breakdown: a bar for each strategy in each category; narrow enough for a telephone."""
    rows = found.rows[:_MOST]
    max_runs = max([count for row in rows for count in row.counts], default=1)
    high = len(found.strategies) * (_BAR + 2) + 28
    legend, top = _legend(found.strategies)
    parts = [legend]
    if not rows:
        parts.append(text(12, top + 12, "No run failed, and none skipped the hard part."))
    for at, row in enumerate(rows):
        y = top + at * high
        parts.append(text(12, y + 12, row.category, "ink"))
        for place, count in enumerate(row.counts):
            bar, wide = y + 18 + place * (_BAR + 2), _PLOT * count / max_runs
            parts.append(rect(12, bar, max(1, wide), _BAR, series_class(place)))
            parts.append(text(12 + wide + 6, bar + 9.5, str(count), "ink small"))
    rest = len(found.rows) - len(rows)
    bottom = top + max(1, len(rows)) * high
    if rest:
        parts.append(text(12, bottom + 12, f"{rest} rarer categories are left out", "soft"))
    about = "; ".join(_description(found.strategies, row) for row in rows) or "No run has a category."
    size = _WIDE, bottom + 24
    return Drawing("failures", *size, "Why runs did not pass, by strategy", about, "".join(parts))


def _description(strategies: Sequence[str], row: BreakdownRow) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in zip(strategies, row.counts, strict=True))
    return f"{row.category}: {counts}"


def _legend(strategies: Sequence[str]) -> tuple[str, float]:
    """The legend, in as many lines as it takes, and where the bars begin."""
    parts, at, y = [], 18.0, 16.0
    for place, name in enumerate(strategies):
        wide = 36 + width_of(name)
        if at + wide > _WIDE and at > 18:
            at, y = 18.0, y + 20
        parts.append(marker(place, at, y, series_class(place)) + text(at + 11, y + 4, name))
        at += wide
    return "".join(parts), y + 16
