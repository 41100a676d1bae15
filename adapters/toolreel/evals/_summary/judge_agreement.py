"""Whether judges agree with the checks that no model answers, and with themselves.

A judge that agrees by chance, or whose votes part, decides nothing; this says so before you rely on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolreel.evals._statistics.intervals import CellRate, Clustered, clustered_rate
from toolreel_core.evals._records.record import JudgedCheck
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._statistics.interval import Interval
from toolreel_core.evals._summary.summary import RunEntry


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge compared with all other checks together, over the runs in which it gave an answer."""

    scenario: str
    """Empty: all scenarios with judges."""
    check: str
    yes_and_hold: int
    yes_and_fail: int
    no_and_hold: int
    no_and_fail: int
    split: int
    """Runs whose votes were not alike: another vote might have turned the answer."""
    undecided: int
    """Runs without an answer; they are in no rate."""
    clustered: Clustered | None

    @property
    def runs(self) -> int:
        """Runs with an answer."""
        return self.yes_and_hold + self.yes_and_fail + self.no_and_hold + self.no_and_fail

    @property
    def raw(self) -> float | None:
        """The mean over scenarios of the share of runs in which both say the same."""
        return self.clustered.rate if self.clustered else None

    @property
    def interval(self) -> Interval | None:
        """Of the raw agreement."""
        return self.clustered.interval if self.clustered else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; ``None`` if both always say one and the same thing, which chance does too."""
        table = (self.yes_and_hold, self.yes_and_fail, self.no_and_hold, self.no_and_fail)
        return cohen_kappa(*table)


def cohen_kappa(both: int, first: int, second: int, neither: int) -> float | None:
    """Cohen's kappa of two raters: agreement beyond that of chance; 1 is full, 0 is that of chance.

    >>> round(cohen_kappa(20, 5, 10, 15), 10)
    0.4
    >>> cohen_kappa(20, 0, 0, 0) is None
    True

    :param both: things to which both say yes
    :param first: those to which only the first does
    :param second: those to which only the second does
    :param neither: those to which none does
    """
    count = both + first + second + neither
    by_chance = (both + first) * (both + second) + (neither + first) * (neither + second)
    # In whole numbers, so that a chance of just 1 is seen.
    if by_chance == count * count:
        return None
    return (count * (both + neither) - by_chance) / (count * count - by_chance)


def agreements(entries: Iterable[RunEntry]) -> tuple[Agreement, ...]:
    """One for each judge of each scenario; the last is of all, if there are several."""
    found: dict[tuple[str, str], list[tuple[RunEntry, JudgedCheck]]] = {}
    for entry in entries:
        for judged in entry.judged:
            found.setdefault((entry.cell.scenario, judged.check), []).append((entry, judged))
    rows = [_agreement(*names, runs) for names, runs in sorted(found.items())]
    if len(rows) > 1:
        rows.append(_agreement("", "all judges", [run for runs in found.values() for run in runs]))
    return tuple(rows)


def _agreement(scenario: str, check: str, runs: Sequence[tuple[RunEntry, JudgedCheck]]) -> Agreement:
    answered = [(entry, one) for entry, one in runs if one.answer]
    table = [(one.answer == "yes", one.others_hold) for _, one in answered]
    cells: dict[tuple[str, str], list[bool]] = {}
    for (entry, _), (yes, holds) in zip(answered, table, strict=True):
        cells.setdefault((entry.cell.scenario, entry.cell.model), []).append(yes == holds)
    return Agreement(
        scenario,
        check,
        table.count((True, True)),
        table.count((True, False)),
        table.count((False, True)),
        table.count((False, False)),
        sum(not one.unanimous for _, one in runs),
        len(runs) - len(answered),
        clustered_rate(CellRate.of(*cell, Count.of(agreed)) for cell, agreed in cells.items()),
    )
