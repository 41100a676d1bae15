"""Bisect two strategies offline: the smallest sets of settings that turn lost runs into won ones.

The replies of a run are held fixed, and only its configuration varies, as in a what-if. So what turns a run
is a setting, and never chance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from toolreel._internal import CassetteError, ResultsError
from toolreel.cassette import Recording
from toolreel.evals._replay.replay import replay_record
from toolreel.evals._replay.whatif import plan_under, run_with_recorded_answers, strategy_meant
from toolreel.evals._runner.evaluation import recorded_job
from toolreel.evals._runner.trial import Job
from toolreel.evals._store.recordings import recording_of
from toolreel.evals._store.results import Results
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._internal import unknown_name
from toolreel_core.evals import (
    Bisected,
    Bisection,
    Configuration,
    EvalPlan,
    Key,
    Record,
    TrialAnswer,
    Verdict,
    keys_between,
    keys_named,
    smallest_set,
    with_keys,
)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are looked at; an empty collection means all."""

    keys: Collection[str] = ()
    """Beginnings of their keys."""
    scenarios: Collection[str] = ()
    models: Collection[str] = ()

    def includes(self, record: Record) -> bool:
        """Whether a run is one of them."""
        return (
            (not self.keys or record.key.startswith(tuple(self.keys)))
            and (not self.scenarios or record.cell.scenario in self.scenarios)
            and (not self.models or record.cell.model in self.models)
        )


ALL_RUNS = RunFilter()


def bisected(
    results: Results,
    plan: EvalPlan,
    first: str,
    second: str,
    wanted: RunFilter = ALL_RUNS,
    progress: Callable[[int], None] = lambda _: None,
) -> Bisection:
    """Bisect all recorded runs of two strategies.

    :param first: the strategy under which runs are lost
    :param second: the one under which they are won
    :param progress: called after each run with the number of runs so far
    :raises ResultsError: if the evaluation has no such runs
    :raises ConfigError: if there is no such strategy
    :raises CassetteError: if a cassette cannot be read or trusted
    """
    runs = list[Bisected]()
    for found in _recorded(results, plan, first, second, wanted):
        runs.append(_bisected(found))
        progress(len(runs))
    return Bisection(strategy_meant(plan, first), strategy_meant(plan, second), tuple(runs))


def with_only(
    results: Results, plan: EvalPlan, first: str, second: str, names: Collection[str], wanted: RunFilter
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
            yield run.record, *run.outcome(keys_named(names, run.keys))


@dataclass(frozen=True, slots=True)
class _RecordedRun:
    """A run with its recording, and the two configurations that it is put through."""

    results: Results
    plan: EvalPlan
    record: Record
    job: Job
    """As it was recorded."""
    recording: Recording | None
    before: Configuration
    after: Configuration

    @property
    def keys(self) -> tuple[Key, ...]:
        return keys_between(self.before, self.after)

    def verdict(self, configuration: Configuration) -> tuple[Verdict | None, str]:
        """The verdict by the recorded replies, or why there is none."""
        if self.recording is None:
            return None, "the run was not recorded"
        job = replace(self.job, configuration=configuration)
        url = self.plan.endpoint_at(job.sample.cell.endpoint).chat_url
        came = run_with_recorded_answers(job, self.recording, url, self.record.attempts, held=True)
        if came.record is None:
            return None, f"the recording has no answer at turn {came.turn}"
        return came.record.verdict, ""

    def outcome(self, keys: Collection[Key]) -> tuple[Verdict | None, str]:
        """The same under the first configuration with some keys of the second."""
        try:
            configuration = with_keys(self.before, self.after, keys)
        except ConfigError as error:
            return None, f"these settings contradict each other: {error}"
        return self.verdict(configuration)

    def unusable(self) -> str:
        """Why its recording does not say any longer what it said; empty if it does."""
        if self.recording is None:
            return ""
        try:
            url = self.plan.endpoint_at(self.job.sample.cell.endpoint).chat_url
            replay_record(self.job, self.record, self.results.path, url)
        except (ReplayMismatch, CassetteError) as error:
            return f"the run cannot be replayed: {str(error).splitlines()[0]}"
        return ""


def _recorded(
    results: Results, plan: EvalPlan, first: str, second: str, wanted: RunFilter
) -> Iterator[_RecordedRun]:
    """The runs of two strategies, which may be named by a tag.

    :raises ConfigError: if these are not two strategies
    """
    one, other = strategy_meant(plan, first), strategy_meant(plan, second)
    if one == other:
        raise ConfigError(f"--from and --to both mean {one!r}; name two strategies")
    both = plan_under(plan, (one, other))
    known, some = dict[str, None](), False
    for record in results.records():
        known[record.cell.strategy] = None
        if record.cell.strategy in {one, other} and wanted.includes(record):
            some = True
            yield _with_recording(results, both, record, one)
    if not {one, other} & {*known}:
        raise ResultsError(f"{results.path}: {unknown_name('strategy', one, known)}")
    if not some:
        raise ResultsError(f"{results.path}: no run of {one} or {other} is meant; name fewer conditions")


def _with_recording(results: Results, plan: EvalPlan, record: Record, first: str) -> _RecordedRun:
    """The configuration that was recorded is one of the two; the plan says what the other is."""
    job = recorded_job(plan, record)
    names: Mapping[bool, str] = {each.name == first: each.name for each in plan.strategies}
    is_first = record.cell.strategy == first
    other = plan.configuration(replace(record.cell, strategy=names[not is_first]))
    before, after = (job.configuration, other) if is_first else (other, job.configuration)
    recording = recording_of(results.path, record.cassette) if record.cassette else None
    return _RecordedRun(results, plan, record, job, recording, before, after)


def _bisected(run: _RecordedRun) -> Bisected:
    record, keys = run.record, run.keys
    content = Bisected(record.key, record.cell, record.trial, None, None, keys=keys)
    if why := run.unusable():
        return replace(content, why=why)
    (first, no_first), (second, no_second) = run.verdict(run.before), run.verdict(run.after)
    content = replace(content, first=first, second=second, why=no_first or no_second)
    if content.fate != "turned":
        return content

    def ask(some: tuple[Key, ...]) -> TrialAnswer:
        verdict, _ = run.outcome(some)
        if verdict is None or not verdict.valid:
            return "undecided"
        return "no" if verdict.result == "fail" else "yes"

    return replace(content, found=smallest_set(keys, ask))
