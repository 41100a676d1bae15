"""Recorded replies under another strategy (what-if).

A run is *decided* if its recorded replies suffice to finish it under the other strategy too, or if a live
model answered the rest. It is then a pair of two verdicts about the same replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._records.request_divergence import Divergence, DivergenceKind
from toolreel_core.evals._statistics.counts import Pairs
from toolreel_core.evals._verdicts import Verdict

Fate: TypeAlias = Literal["recovery", "loss", "unchanged", "diverged", "undecided"]
"""``diverged``: it sent a request that was not recorded; ``undecided``: one of the two runs is void or
unsupported, or could not be replayed."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One recorded run under another strategy."""

    key: str
    """Of the recorded run."""
    cell: Cell
    """Of the recorded run."""
    trial: int
    strategy: str
    """The other one."""
    was: Verdict | None = None
    """Of the recorded run, by the present checks."""
    now: Verdict | None = None
    """Of the run under the other strategy; ``None`` if it did not finish."""
    diverged: Divergence | None = None
    """The first request that the recording does not answer."""
    turn: int = 0
    """The turn of that request; 0 if there is none."""
    why: str = ""
    """Why it is undecided, if neither of the two verdicts is the reason."""

    @property
    def fate(self) -> Fate:
        """What becomes of the run."""
        if self.now is None and self.diverged:
            return "diverged"
        if self.was is None or self.now is None or not (self.was.valid and self.now.valid):
            return "undecided"
        before, after = self.was.result != "fail", self.now.result != "fail"
        if before == after:
            return "unchanged"
        return "recovery" if after else "loss"

    @property
    def reason(self) -> str:
        """Why it is undecided, in words."""
        if self.why:
            return self.why
        for whose, verdict in (("the recorded run", self.was), (f"under {self.strategy} it", self.now)):
            if verdict and not verdict.valid:
                return f"{whose} is {verdict.result}: {verdict.category}"
        return ""


@dataclass(frozen=True, slots=True)
class WhatIfTally:
    """All runs of one comparison."""

    runs: tuple[WhatIf, ...]

    def of(self, fate: Fate) -> tuple[WhatIf, ...]:
        """The runs of which this became."""
        return tuple(run for run in self.runs if run.fate == fate)

    @property
    def pairs(self) -> Pairs:
        """The decided runs: whether they pass as recorded, and under the other strategy."""
        return Pairs.of(_passes(self.runs))

    @property
    def divergences(self) -> Mapping[tuple[int, DivergenceKind], int]:
        """How many runs diverge in each turn by each kind of difference, in the order of the turns."""
        found: Counter[tuple[int, DivergenceKind]] = Counter(
            (run.turn, run.diverged.kind) for run in self.runs if run.diverged
        )
        return dict(sorted(found.items()))


def _passes(runs: Iterable[WhatIf]) -> Iterable[tuple[bool, bool]]:
    for run in runs:
        if run.was and run.now and run.was.valid and run.now.valid:
            yield run.was.result != "fail", run.now.result != "fail"
