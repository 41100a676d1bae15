"""Bisect two strategies offline: the smallest sets of settings that turn lost runs into won ones.

The replies of a run are held fixed, and only its configuration varies. So what turns a run is a setting, and
never chance. The smallest set of differences is searched by delta debugging (A. Zeller and R. Hildebrandt
2002, IEEE Transactions on Software Engineering 28:183).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import comb
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from toolreel._internal import CassetteError, ResultsError
from toolreel.evals._replay.replay import RecordedRun
from toolreel.evals._replay.whatif import Rejudged, plan_under, strategy_meant
from toolreel.evals._results import Results
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._internal import unknown_name
from toolreel_core.evals import (
    Configuration,
    EvalPlan,
    Key,
    Record,
    Verdict,
    keys_between,
    keys_named,
    with_keys,
)

Item = TypeVar("Item")
TrialAnswer: TypeAlias = Literal["yes", "no", "undecided"]
"""Whether a set of items suffices; ``undecided``: nobody can say, so it counts as no."""
_CANDIDATES: Final = 2_000
"""Sets that are asked for at most, to find one smaller than halving has found."""


@dataclass(frozen=True, slots=True)
class Minimal(Generic[Item]):
    """The smallest set of items that suffices, as far as it is known."""

    items: tuple[Item, ...]
    alone: tuple[Item, ...]
    """Items that suffice without any other."""
    smallest: bool
    """Whether all smaller sets were asked for, and none was yes or undecided."""
    undecided: int
    """Candidates about which nobody can say anything."""


def smallest_set(
    items: tuple[Item, ...], ask: Callable[[tuple[Item, ...]], TrialAnswer], most: int = _CANDIDATES
) -> Minimal[Item]:
    """The smallest set of items that suffices, if there are few enough to ask for all; else a minimal one.

    >>> found = smallest_set(tuple("abcdef"), lambda some: "yes" if {"b", "e"} <= set(some) else "no")
    >>> found.items, found.smallest
    (('b', 'e'), True)

    :param ask: called once for each set at most; never for none of the items, nor for all
    """
    known: dict[tuple[Item, ...], TrialAnswer] = {items: "yes", (): "no"}

    def suffices(candidate: tuple[Item, ...]) -> bool:
        if candidate not in known:
            known[candidate] = ask(candidate)
        return known[candidate] == "yes"

    alone = tuple(item for item in items if suffices((item,)))
    found, parts = items, 2
    while len(found) > 1:  # take parts away, first halves, then smaller ones
        smaller = next(filter(suffices, _candidates(found, min(parts, len(found)))), None)
        if smaller is not None:
            parts = 2 if len(smaller) * 2 <= len(found) else max(parts - 1, 2)
            found = smaller
        elif parts >= len(found):
            break
        else:
            parts *= 2
    sizes = range(1, len(found))
    searched = sum(comb(len(items), size) for size in sizes) <= most
    if searched:
        smaller_sets = (some for size in sizes for some in combinations(items, size))
        found = next(filter(suffices, smaller_sets), found)
    below = [given for some, given in known.items() if len(some) < len(found)]
    undecided = sum(given == "undecided" for given in known.values())
    return Minimal(found, alone, searched and "undecided" not in below, undecided)


def _candidates(kept: tuple[Item, ...], parts: int) -> Iterable[tuple[Item, ...]]:
    """Each part alone, then all but each part."""
    spans = list(pairwise(len(kept) * place // parts for place in range(parts + 1)))
    yield from (kept[low:high] for low, high in spans)
    if parts > 2:  # of two halves, each is what the other leaves
        yield from (kept[:low] + kept[high:] for low, high in spans)


@dataclass(frozen=True, slots=True)
class Bisected(Rejudged):
    """One recorded run under two strategies, and the settings that decide between them."""

    keys: tuple[Key, ...] = ()
    """In which the two configurations differ."""
    found: Minimal[Key] | None = None
    """The keys that turn the run; ``None`` if it is not turned."""


def bisected(
    results: Results,
    plan: EvalPlan,
    first: str,
    second: str,
    wanted: Callable[[Record], bool] = lambda _: True,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Bisected]:
    """Bisect all recorded runs of two strategies.

    :param first: the strategy under which runs are lost
    :param second: the one under which they are won
    :param wanted: which runs are looked at
    :param progress: called after each run with the number of runs so far
    :raises ResultsError: if the evaluation has no such runs
    :raises ConfigError: if there is no such strategy
    :raises CassetteError: if a cassette cannot be read or trusted
    """
    runs = list[Bisected]()
    for found in _recorded(results, plan, first, second, wanted):
        runs.append(_bisected(found))
        progress(len(runs))
    return runs


def with_only(
    results: Results,
    plan: EvalPlan,
    first: str,
    second: str,
    names: Collection[str],
    wanted: Callable[[Record], bool] = lambda _: True,
) -> Iterator[tuple[Record, Verdict | None, str]]:
    """Each recorded run under the first strategy with some settings of the second, and nothing else of it.

    :param names: of settings, as :func:`bisected` shows them
    :return: runs, with the verdict, or why there is none
    :raises ConfigError: if no run has a setting of that name
    """
    runs, known = [*_recorded(results, plan, first, second, wanted)], dict[str, Key]()
    for run in runs:
        known |= {str(key): key for key in run.keys}
    keys_named(names, known.values())
    for run in runs:
        if all(name in map(str, run.keys) for name in names):
            yield run.run.record, *run.outcome(keys_named(names, run.keys))


@dataclass(frozen=True, slots=True)
class _TwoWays:
    """A run, and the two configurations that it is put through."""

    run: RecordedRun
    before: Configuration
    after: Configuration

    @property
    def keys(self) -> tuple[Key, ...]:
        return keys_between(self.before, self.after)

    def verdict(self, configuration: Configuration) -> tuple[Verdict | None, str]:
        """The verdict by the recorded replies, or why there is none."""
        if not self.run.record.cassette:
            return None, "the run was not recorded"
        made, where, _ = self.run.under(replace(self.run.job, configuration=configuration), held=True)
        if made is None:
            return None, f"the recording has no answer at {where.partition(' by')[0]}"
        return made.verdict, ""

    def outcome(self, keys: Collection[Key]) -> tuple[Verdict | None, str]:
        """The same under the first configuration with some keys of the second."""
        try:
            configuration = with_keys(self.before, self.after, keys)
        except ConfigError as error:
            return None, f"these settings contradict each other: {error}"
        return self.verdict(configuration)


def _recorded(
    results: Results, plan: EvalPlan, first: str, second: str, wanted: Callable[[Record], bool]
) -> Iterator[_TwoWays]:
    """The runs of two strategies, which may be named by a tag.

    :raises ConfigError: if these are not two strategies
    """
    names = strategy_meant(plan, first), strategy_meant(plan, second)
    if names[0] == names[1]:
        raise ConfigError(f"--from and --to both mean {names[0]!r}; name two strategies")
    both = plan_under(plan, names)
    known, some = dict[str, None](), False
    for record in results.records():
        known[record.cell.strategy] = None
        if record.cell.strategy in names and wanted(record):
            some, run = True, RecordedRun.of(record, both, results.path)
            # The configuration that was recorded is one of the two; the plan says what the other is.
            before, after = (
                run.job.configuration
                if name == record.cell.strategy
                else both.configuration(replace(record.cell, strategy=name))
                for name in names
            )
            yield _TwoWays(run, before, after)
    if not {*names} & {*known}:
        raise ResultsError(f"{results.path}: {unknown_name('strategy', names[0], known)}")
    if not some:
        raise ResultsError(f"{results.path}: no run of {' or '.join(names)} is meant; name fewer conditions")


def _bisected(ways: _TwoWays) -> Bisected:
    record = ways.run.record
    if record.cassette:
        try:
            ways.run.replayed()
        except (ReplayMismatch, CassetteError) as error:
            return Bisected(record, why=f"the run cannot be replayed: {str(error).splitlines()[0]}")
    (before, no_before), (after, no_after) = ways.verdict(ways.before), ways.verdict(ways.after)
    judged = Bisected(record, before, after, no_before or no_after)
    if judged.fate != "gained":
        return judged

    def ask(some: tuple[Key, ...]) -> TrialAnswer:
        verdict, _ = ways.outcome(some)
        if verdict is None or not verdict.valid:
            return "undecided"
        return "no" if verdict.result == "fail" else "yes"

    return replace(judged, keys=ways.keys, found=smallest_set(ways.keys, ask))
