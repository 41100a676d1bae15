"""Replay recorded runs offline and judge them with the present checks.

The journal and the cassettes are all that is stored of an evaluation. Since worlds are values, everything
else can be recomputed from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from toolreel._driver.performer import Ports
from toolreel._driver.ports import Observer
from toolreel._driver.run import Run
from toolreel._driver.sync import run
from toolreel._errors import CassetteError
from toolreel.evals._runner.cassettes import replay_context
from toolreel.evals._runner.evaluation import job_of, jobs_of
from toolreel.evals._runner.trial import Job, RunContext, run_job
from toolreel.evals._runner.world_host import WorldHost
from toolreel.evals._store.plans import configuration_differences
from toolreel.evals._store.results import Results
from toolreel_core._errors import ReplayMismatch
from toolreel_core.evals._plan.configuration import Sample
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Attempt, Record, SentRequest, record_line
from toolreel_core.evals._scenarios.evidence import Evidence, evidence_of


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run that was replayed."""

    record: Record
    """As it stands in the journal."""
    now: Record | None = None
    """What its cassette comes to; ``None`` if it could not be replayed."""
    drift: str = ""
    """Why it could not, or what is another now; empty: nothing is."""


def replays(results: Results, plan: EvalPlan, keys: Collection[str] = ()) -> Iterator[Replayed]:
    """Replay the runs of an evaluation that were recorded, one after the other, in the journal's order.

    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    :raises ResultsError: if the journal cannot be read
    """
    samples = {(sample.cell, sample.trial): sample for sample in plan.samples()}
    job_for = jobs_of(plan)
    for record in results.records():
        if keys and not record.key.startswith(tuple(keys)):
            continue
        sample = samples.get((record.cell, record.trial))
        if sample is None:
            yield Replayed(record, drift="the plan does not ask for it any longer")
            continue
        job = job_for(sample)
        if changed := configuration_differences(record.configuration, job.configuration.text):
            yield Replayed(record, drift="another configuration: " + "; ".join(changed))
            continue
        try:
            now = replay_record(job, record, results.path, plan.endpoint.url)
        except (ReplayMismatch, CassetteError) as error:
            yield Replayed(record, drift=str(error))
            continue
        yield Replayed(record, now, _drift(record, now))


def replay_record(
    job: Job, record: Record, folder: Path, base_url: str, observe: Observer | None = None
) -> Record:
    """The record that a run's cassette comes to now; times, which no replay has, are those of the record.

    :param folder: the directory of the results
    :param base_url: where the run was recorded
    :param observe: is shown every note of the run
    :raises CassetteError: if there is no cassette, or it cannot be read or trusted
    :raises toolreel.ReplayMismatch: if the run would ask something else now
    """
    with replay_context(folder, record.cassette, base_url, job, observe) as context:
        rerun_of = replace(run_job(job, context), cassette=record.cassette)
    return _timed(rerun_of, record)


def _drift(record: Record, now: Record) -> str:
    before, after = record_line(record), record_line(now)
    return "" if before == after else "another record: " + "; ".join(configuration_differences(before, after))


def _timed(record: Record, measured: Record) -> Record:
    """A record with the times of another, attempt by attempt and request by request."""
    attempts = [*record.attempts]
    for index, (attempt, then) in enumerate(zip(attempts, measured.attempts, strict=False)):
        attempts[index] = replace(attempt, ms=then.ms, asked=_asked(attempt, then))
    return replace(record, attempts=tuple(attempts))


def _asked(attempt: Attempt, then: Attempt) -> tuple[SentRequest, ...]:
    asked = [*attempt.asked]
    for index, (one, measured) in enumerate(zip(asked, then.asked, strict=False)):
        asked[index] = replace(one, ms=measured.ms)
    return tuple(asked)


@dataclass(frozen=True, slots=True)
class Rerun:
    """One attempt, made again."""

    run: Run
    evidence: Evidence


def rerun(record: Record, plan: EvalPlan, folder: Path) -> Rerun:
    """The last attempt of a run: out of its cassette, or by the script that spoke in it.

    :param folder: the directory of the results
    :raises CassetteError: if it was not recorded, its cassette cannot be read or trusted, or the plan would
        run it otherwise now
    :raises toolreel.ReplayMismatch: if the run would ask something else now
    """
    job = _job(record, plan)
    with replay_context(folder, record.cassette, plan.endpoint.url, job) as context:
        *_, last = [_made(job, context) for _ in record.attempts]
    return last


def _job(record: Record, plan: EvalPlan) -> Job:
    """What the run was."""
    sample = Sample(record.cell, record.trial, record.version, record.digest)
    job = job_of(plan, sample)
    if job.scenario.version != record.version:
        now = job.scenario.version
        raise CassetteError(f"its scenario was at version {record.version}, and is at version {now} now")
    if job.configuration.digest != record.digest:
        raise CassetteError("it was run under another configuration than the plan has now")
    return job


def _made(job: Job, context: RunContext) -> Rerun:
    setting = job.setting
    plan, host = job.plan(setting), WorldHost(setting.world)
    ended = run(plan, Ports(context.endpoint, host, clock=context.clock))
    return Rerun(ended, evidence_of(plan, ended.state, ended.notes, host.world, setting.world.contents()))
