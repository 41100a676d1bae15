"""Bisected runs: which differences between two configurations turn lost runs into won ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core.evals._causes.configuration_keys import Key
from toolreel_core.evals._causes.delta_debugging import Minimal
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._verdicts.verdict import Verdict

Fate: TypeAlias = Literal["turned", "lost_again", "won_already", "broken", "undecided"]
"""``turned``: lost under the first configuration, won under the second, by the same replies; ``lost_again``:
lost under both; ``won_already``: won under both; ``broken``: won under the first and lost under the second;
``undecided``: the recording does not answer what one of the two would ask."""


@dataclass(frozen=True, slots=True)
class Bisected:
    """One recorded run under two configurations, and the keys that decide between them."""

    key: str
    """Of the recorded run."""
    cell: Cell
    """Of the recorded run; its strategy is one of the two."""
    trial: int
    first: Verdict | None
    """Under the first configuration; ``None`` if the recording does not answer it."""
    second: Verdict | None
    why: str = ""
    """Why a verdict is missing."""
    keys: tuple[Key, ...] = ()
    """In which the two configurations differ."""
    found: Minimal[Key] | None = None
    """The keys that turn the run; ``None`` if it is not turned."""

    @property
    def fate(self) -> Fate:
        """What becomes of the run."""
        if self.first is None or self.second is None or not (self.first.valid and self.second.valid):
            return "undecided"
        before, after = self.first.result != "fail", self.second.result != "fail"
        if before:
            return "won_already" if after else "broken"
        return "turned" if after else "lost_again"

    @property
    def reason(self) -> str:
        """Why it is undecided, in words."""
        if self.why:
            return self.why
        for verdict in (self.first, self.second):
            if verdict and not verdict.valid:
                return f"it is {verdict.result}: {verdict.category}"
        return ""


@dataclass(frozen=True, slots=True)
class KeyTally:
    """How many runs one key turns."""

    key: Key
    alone: int
    """Runs that it turns without any other key."""
    together: int
    """Runs whose smallest set has this key and others."""
    example: str
    """The key of one such run."""
    partners: tuple[Key, ...]
    """The other keys in that run's set."""

    @property
    def runs(self) -> int:
        """Runs that it has a part in."""
        return self.alone + self.together


@dataclass(frozen=True, slots=True)
class Bisection:
    """All bisected runs of an evaluation."""

    first: str
    """The name of the strategy under which runs are lost."""
    second: str
    runs: tuple[Bisected, ...]

    def of(self, fate: Fate) -> tuple[Bisected, ...]:
        """The runs of which this became."""
        return tuple(run for run in self.runs if run.fate == fate)

    @property
    def tallies(self) -> tuple[KeyTally, ...]:
        """The keys that turn a run, those that turn most first."""
        alone, together = Counter[Key](), Counter[Key]()
        examples = dict[Key, tuple[str, tuple[Key, ...]]]()
        for run, found in self._found():
            alone.update(found.alone)
            for key in found.alone:
                examples.setdefault(key, (run.key, ()))
            if len(found.items) > 1:
                together.update(found.items)
                for key in found.items:
                    others = tuple(other for other in found.items if other != key)
                    examples.setdefault(key, (run.key, others))
        tallies = (KeyTally(key, alone[key], together[key], *examples[key]) for key in examples)
        return tuple(sorted(tallies, key=lambda one: (-one.runs, str(one.key))))

    @property
    def idle(self) -> tuple[str, ...]:
        """The names of the keys that turn no run, though runs were turned by others."""
        turning = {tally.key for tally in self.tallies}
        keys = (key for run in self.of("turned") for key in run.keys)
        return tuple(dict.fromkeys(str(key) for key in keys if key not in turning))

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """Why runs are undecided, the most frequent first."""
        return tuple(Counter(run.reason for run in self.of("undecided")).most_common())

    def _found(self) -> Iterable[tuple[Bisected, Minimal[Key]]]:
        for run in self.runs:
            if run.found:
                yield run, run.found
