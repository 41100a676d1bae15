"""Recorded replies under other settings, offline: what a strategy would make of them, and which settings do.

Bisecting holds the replies of a run fixed and varies only its configuration, so what turns a run is a
setting, and never chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from toolreel._internal import CassetteError, ResultsError
from toolreel.evals._replay.replay import RecordedRun
from toolreel.evals._results import Results
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._internal import unknown_name
from toolreel_core.evals import Configuration, EvalPlan, Key, Record, Verdict, keys_between, with_keys

Fate: TypeAlias = Literal["gained", "lost", "unchanged", "undecided"]
"""``gained``: the second strategy wins what the first loses, by the same replies; ``lost``: the other way
round; ``undecided``: a verdict is missing, or says nothing about the model."""
FATES: Final[tuple[Fate, ...]] = get_args(Fate)


@dataclass(frozen=True, slots=True)
class Rejudged:
    """One recorded run under two strategies, and the settings that decide between them."""

    record: Record
    before: Verdict | None = None
    after: Verdict | None = None
    why: str = ""
    """Why a verdict is missing."""
    keys: tuple[Key, ...] = ()
    """In which the two configurations differ, if that was searched."""
    alone: tuple[Key, ...] = ()
    """Those that turn the run without any other."""
    needed: tuple[Key, ...] = ()
    """A set that turns the run, of which none can be left out: a single key if there is one."""

    @property
    def fate(self) -> Fate:
        """What becomes of the run."""
        if self.before is None or self.after is None or self.reason:
            return "undecided"
        failed = self.before.result == "fail", self.after.result == "fail"
        return "unchanged" if failed[0] == failed[1] else "gained" if failed[0] else "lost"

    @property
    def reason(self) -> str:
        """Why it is undecided, in words."""
        unfit = (each for each in (self.before, self.after) if each and not each.valid)
        return self.why or next((f"it is {each.result}: {each.category}" for each in unfit), "")


def rejudged(
    results: Results, plan: EvalPlan, strategy: str, first: str = "", keys: Collection[str] = ()
) -> Iterator[Rejudged]:
    """Put recorded replies through a strategy.

    Those of all other strategies, each compared with the strategy that it was recorded under; a reply counts
    only as the answer to a request of the same content. With ``first``, the replies of both strategies go
    through both, whatever else would have made the model reply otherwise, and a run that the first loses and
    the second wins is bisected.

    :param strategy: a name, or a tag that means one strategy
    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    :raises ResultsError: if there are no such runs
    :raises ConfigError: if there is no such strategy, or the word means several
    """
    second, first = _strategy(plan, strategy), first and _strategy(plan, first)
    if first == second:
        raise ConfigError(f"both strategies are {first!r}; name two")
    names = tuple(filter(None, (first, second)))
    plan = replace(plan, options=replace(plan.options, strategies=names))
    some, known = False, dict[str, None]()
    for record in results.records():
        known[name := record.cell.strategy] = None
        if (name in names if first else name != second) and record.key.startswith(tuple(keys) or ""):
            some = True
            yield _rejudged(record, plan, results.path, (first or name, second), held=bool(first))
    if first and not {*names} & {*known}:
        raise ResultsError(f"{results.path}: {unknown_name('strategy', first, known)}")
    if not some:
        of = " or ".join(names) if first else f"another strategy than {second}"
        raise ResultsError(f"{results.path}: no run of {of} is meant")


def _strategy(plan: EvalPlan, word: str) -> str:
    """The name of the one strategy that a name or a tag means."""
    named = replace(plan, options=replace(plan.options, strategies=(word,)))
    names = [each.name for each in named.strategies]
    if len(names) > 1:
        raise ConfigError(f"{word!r} means several strategies: {', '.join(names)}; name one")
    return names[0]


def _rejudged(
    record: Record, plan: EvalPlan, folder: Path, names: tuple[str, str], *, held: bool
) -> Rejudged:
    if not record.cassette:
        return Rejudged(record, why="the run was not recorded")
    try:
        run = RecordedRun.of(record, plan, folder)
        before: Verdict | None = run.replayed().verdict
    except (ConfigError, ReplayMismatch, CassetteError) as error:
        return Rejudged(record, why=f"the run cannot be replayed: {str(error).splitlines()[0]}")

    def verdict(configuration: Configuration) -> tuple[Verdict | None, str]:
        try:
            return run.under(configuration, held=held), ""
        except ReplayMismatch as error:
            return None, str(error).partition(": ")[0]

    # The configuration that was recorded is one of the two; the plan says what the other is.
    one, other = (
        run.job.configuration
        if name == record.cell.strategy
        else plan.configuration(replace(record.cell, strategy=name))
        for name in names
    )
    no_before = no_after = ""
    if held:
        before, no_before = verdict(one)
    after, no_after = verdict(other)
    judged = Rejudged(record, before, after, no_before or no_after)
    if not held or judged.fate != "gained":
        return judged

    def turns(some: tuple[Key, ...]) -> bool:
        try:
            found, _ = verdict(with_keys(one, other, some))
        except ConfigError:  # these settings contradict each other
            return False
        return found is not None and found.valid and found.result != "fail"

    keys = keys_between(one, other)
    alone = tuple(key for key in keys if turns((key,)))
    needed = alone[:1] or keys
    if not alone:
        for key in keys:
            fewer = tuple(each for each in needed if each != key)
            needed = fewer if turns(fewer) else needed
    return replace(judged, keys=keys, alone=alone, needed=needed)
