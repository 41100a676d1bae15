"""What-if: recorded replies of one strategy, run through the configurations of others, offline."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from toolreel._internal import ResultsError
from toolreel.evals._replay.replay import RecordedRun
from toolreel.evals._results import Results
from toolreel.evals._runner.evaluation import jobs_of
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core.evals import EvalPlan, Record, Sample, Verdict

Fate: TypeAlias = Literal["gained", "lost", "won", "failed", "diverged", "undecided"]
"""``gained``: lost as the first has it, won as the second has it, by the same replies; ``lost``: the other
way round; ``won``, ``failed``: the same under both; ``diverged``: it sent a request that was not recorded;
``undecided``: one of the two verdicts is missing, or says nothing about the model."""
FATES: Final[tuple[Fate, ...]] = get_args(Fate)


@dataclass(frozen=True, slots=True)
class Rejudged:
    """One recorded run under two configurations: as it was recorded and another, or two others."""

    record: Record
    before: Verdict | None = None
    after: Verdict | None = None
    why: str = ""
    """Why a verdict is missing."""
    diverged: str = ""
    """Where it parts from the recording, such as ``turn 2 by calls``."""

    @property
    def fate(self) -> Fate:
        """What becomes of the run."""
        if self.after is None and self.diverged:
            return "diverged"
        if self.before is None or self.after is None or not (self.before.valid and self.after.valid):
            return "undecided"
        if self.before.result == "fail":
            return "failed" if self.after.result == "fail" else "gained"
        return "lost" if self.after.result == "fail" else "won"

    @property
    def reason(self) -> str:
        """Why it is undecided, in words."""
        unfit = (each for each in (self.before, self.after) if each and not each.valid)
        return self.why or next((f"it is {each.result}: {each.category}" for each in unfit), "")


def strategy_meant(plan: EvalPlan, word: str) -> str:
    """The name of the one strategy that a name or a tag means.

    :raises ConfigError: if there is none, or the word means several
    """
    names = [each.name for each in plan_under(plan, (word,)).strategies]
    if len(names) > 1:
        raise ConfigError(f"{word!r} means several strategies: {', '.join(names)}; name one")
    return names[0]


def plan_under(plan: EvalPlan, strategies: Sequence[str]) -> EvalPlan:
    """The same plan with other strategies.

    :raises ConfigError: if there is no such strategy
    """
    return replace(plan, options=replace(plan.options, strategies=tuple(strategies)))


def rejudged_under(
    results: Results, plan: EvalPlan, strategy: str, keys: Collection[str] = ()
) -> tuple[str, dict[str, list[Rejudged]]]:
    """The recorded runs of all other strategies under one: its name, and what becomes of them by strategy.

    :param strategy: a name or a tag
    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    :raises ResultsError: if there are no such runs
    :raises ConfigError: if there is no such strategy, or the word means several
    :raises CassetteError: if a cassette cannot be read or trusted
    """
    name = strategy_meant(plan, strategy)
    other = plan_under(plan, (name,))
    found: dict[str, list[Rejudged]] = {}
    for record in results.records():
        if record.cell.strategy != name and (not keys or record.key.startswith(tuple(keys))):
            found.setdefault(record.cell.strategy, []).append(_rejudged(results, plan, other, record, name))
    if not found:
        raise ResultsError(f"{results.path}: no run of another strategy than {name} is meant")
    return name, found


def _rejudged(results: Results, plan: EvalPlan, other: EvalPlan, record: Record, strategy: str) -> Rejudged:
    if not record.cassette:
        return Rejudged(record, why="the run was not recorded")
    try:
        run = RecordedRun.of(record, plan, results.path)
        before = run.replayed().verdict
    except (ConfigError, ReplayMismatch) as error:
        return Rejudged(record, why=f"the run cannot be replayed: {str(error).splitlines()[0]}")
    cell = replace(record.cell, strategy=strategy)
    sample = Sample(cell, record.trial, record.version, other.configuration(cell).digest)
    after, diverged, _ = run.under(jobs_of(other)(sample))
    return Rejudged(record, before, after.verdict if after else None, diverged=diverged)
