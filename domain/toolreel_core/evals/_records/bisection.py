"""Bisected runs: which differences between two configurations turn lost runs into won ones.

The smallest set of differences is searched by delta debugging (A. Zeller and R. Hildebrandt 2002, IEEE
Transactions on Software Engineering 28:183).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._records.configuration_keys import Key
from toolreel_core.evals._verdicts import Verdict

TrialAnswer: TypeAlias = Literal["yes", "no", "undecided"]
"""Whether a set of items suffices; ``undecided``: nobody can say, so it counts as no."""
_Item = TypeVar("_Item")
_Set: TypeAlias = tuple[_Item, ...]


@dataclass(frozen=True, slots=True)
class Minimal(Generic[_Item]):
    """The smallest set of items that suffices, as far as it is known."""

    items: tuple[_Item, ...]
    alone: tuple[_Item, ...]
    """Items that suffice without any other."""
    smallest: bool
    """Whether all smaller sets were asked for, and none was yes or undecided."""
    undecided: int
    """Candidates about which nobody can say anything."""


MAX_CANDIDATES: Final = 2_000
"""Sets that are asked for at most, to find one smaller than halving has found."""


def smallest_set(
    items: _Set[_Item], ask: Callable[[_Set[_Item]], TrialAnswer], most: int = MAX_CANDIDATES
) -> Minimal[_Item]:
    """The smallest set of items that suffices, if there are few enough to ask for all; else a minimal one.

    >>> found = smallest_set(tuple("abcdef"), lambda some: "yes" if {"b", "e"} <= set(some) else "no")
    >>> found.items, found.smallest
    (('b', 'e'), True)

    :param ask: called once for each set at most; never for none of the items, nor for all
    """
    known: dict[_Set[_Item], TrialAnswer] = {items: "yes", (): "no"}

    def suffices(candidate: _Set[_Item]) -> bool:
        if candidate not in known:
            known[candidate] = ask(candidate)
        return known[candidate] == "yes"

    alone = tuple(item for item in items if suffices((item,)))
    found = _halved(items, suffices)
    sizes = range(1, len(found))
    searched = sum(comb(len(items), size) for size in sizes) <= most
    if searched:
        smaller = (some for size in sizes for some in combinations(items, size))
        found = next(filter(suffices, smaller), found)
    below = [answer for some, answer in known.items() if len(some) < len(found)]
    undecided = sum(answer == "undecided" for answer in known.values())
    return Minimal(found, alone, searched and "undecided" not in below, undecided)


def _halved(items: _Set[_Item], suffices: Callable[[_Set[_Item]], bool]) -> _Set[_Item]:
    """Take parts away, first halves, then smaller ones, until no single item can be left out."""
    kept, parts = items, 2
    while len(kept) > 1:
        smaller = next(filter(suffices, _candidates(kept, min(parts, len(kept)))), None)
        if smaller is not None:
            parts = 2 if len(smaller) * 2 <= len(kept) else max(parts - 1, 2)
            kept = smaller
        elif parts >= len(kept):
            break
        else:
            parts *= 2
    return kept


def _candidates(kept: _Set[_Item], parts: int) -> Iterable[_Set[_Item]]:
    """Each part alone, then all but each part."""
    bounds = [len(kept) * place // parts for place in range(parts + 1)]
    spans = list(pairwise(bounds))
    yield from (kept[low:high] for low, high in spans)
    if parts > 2:  # of two halves, each is what the other leaves
        yield from (kept[:low] + kept[high:] for low, high in spans)


SettingFate: TypeAlias = Literal["turned", "lost_again", "won_already", "broken", "undecided"]
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
    def fate(self) -> SettingFate:
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

    def of(self, fate: SettingFate) -> tuple[Bisected, ...]:
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
