"""Replay recorded runs offline, and judge them with the present checks.

The journal and the cassettes are all that is stored of an evaluation. Since worlds are values, everything
else can be recomputed from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toolreel._driver import Run
from toolreel._internal import CassetteError, ResultsError
from toolreel.evals._runner.connection import catalogue_of, replay_context
from toolreel.evals._runner.evaluation import jobs_of, recorded_job
from toolreel.evals._runner.exchanges import converse
from toolreel.evals._runner.trial import Job, RunContext, run_job
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.recordings import copy_recordings
from toolreel.evals._store.results import Journal, Results
from toolreel_core._errors import ReplayMismatch
from toolreel_core.evals import TAXONOMY, EvalPlan, Evidence, Record, record_line


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run that was replayed."""

    record: Record
    """As it is in the journal."""
    now: Record | None = None
    """Its record as replayed now; ``None`` if it could not be replayed."""
    drift: str = ""
    """Why it could not, or what differs now; empty if nothing does."""


def replays(results: Results, plan: EvalPlan, keys: Collection[str] = ()) -> Iterator[Replayed]:
    """Replay the runs of an evaluation that were recorded, one after the other, in the journal's order.

    Where the catalogue of presets has changed since, they are replayed under the configuration that they had.

    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    :raises ResultsError: if the journal cannot be read
    """
    samples = {(sample.cell, sample.trial): sample for sample in plan.samples()}
    job_for, same_catalogue = jobs_of(plan), results.header.catalogue == catalogue_of(plan)
    for record in results.records():
        if keys and not record.key.startswith(tuple(keys)):
            continue
        sample = samples.get((record.cell, record.trial))
        if sample is None:
            yield Replayed(record, drift="the plan does not ask for it any longer")
            continue
        job = job_for(sample)
        if changed := configuration_differences(record.configuration, job.configuration.text):
            # Presets of another version of toolreel are no matter of this run; another plan is.
            if same_catalogue:
                yield Replayed(record, drift="another configuration: " + "; ".join(changed))
                continue
            job = recorded_job(plan, record)
        try:
            now = replay_record(job, record, results.path, plan.endpoint_at(record.cell.endpoint).chat_url)
        except (ReplayMismatch, CassetteError) as error:
            yield Replayed(record, drift=str(error))
            continue
        yield Replayed(record, now, _drift(record, now))


def replay_record(job: Job, record: Record, folder: Path, base_url: str) -> Record:
    """The record that a run's cassette gives now.

    What no replay has is as the record says: times, and where the run was made.

    :param base_url: where the run was recorded
    :raises CassetteError: if there is no cassette, or it cannot be read or trusted
    :raises toolreel.ReplayMismatch: if the run would ask something else now
    """
    with replay_context(folder, record.cassette, base_url, job, record.attempts) as context:
        return _timed(replace(run_job(job, context), cassette=record.cassette), record)


def _drift(record: Record, now: Record) -> str:
    before, after = record_line(record), record_line(now)
    return "" if before == after else "another record: " + "; ".join(configuration_differences(before, after))


def _timed(record: Record, measured: Record) -> Record:
    """A record with the times and servers of another, attempt by attempt and request by request."""
    attempts = [*record.attempts]
    for index, (attempt, then) in enumerate(zip(attempts, measured.attempts, strict=False)):
        asked = [*attempt.asked]
        for place, (request, before) in enumerate(zip(asked, then.asked, strict=False)):
            asked[place] = replace(request, ms=before.ms)
        attempts[index] = replace(attempt, ms=then.ms, asked=tuple(asked), base_url=then.base_url)
    return replace(record, attempts=tuple(attempts))


@dataclass(frozen=True, slots=True)
class Rerun:
    """One attempt, replayed."""

    run: Run
    evidence: Evidence


def rerun(record: Record, plan: EvalPlan, folder: Path) -> Rerun:
    """The last attempt of a run: out of its cassette, or by the script that spoke in it.

    It is made under the configuration of its record, whatever presets say today.

    :raises CassetteError: if it was not recorded, or its cassette cannot be read or trusted
    :raises toolreel.ReplayMismatch: if the run would ask something else now
    """
    job = recorded_job(plan, record)
    if job.scenario.version != record.version:
        now = job.scenario.version
        raise CassetteError(f"its scenario was at version {record.version}, and is at version {now} now")
    if job.configuration.digest != record.digest:
        raise CassetteError("its configuration is not the one that its digest names; restore the journal")
    url = plan.endpoint_at(record.cell.endpoint).chat_url
    with replay_context(folder, record.cassette, url, job, record.attempts) as context:
        *_, last = [_made(job, context) for _ in record.attempts]
    return last


def _made(job: Job, context: RunContext) -> Rerun:
    case = job.case
    plan = job.plan(case)
    ended = converse(case, plan, context.endpoint, context.clock, outside=context.outside)
    return Rerun(ended.run, ended.evidence(case, plan))


def write_replayed(results: Results, runs: Sequence[Replayed], folder: Path) -> None:
    """Write an evaluation with the present verdicts into a new directory, with the cassettes.

    :param runs: all of them, each with a record as replayed now
    :raises ResultsError: if there is something already, or it cannot be written
    """
    if (folder / "header.json").exists():
        raise ResultsError(f"{folder}: holds an evaluation already; name another directory")
    with Journal(folder, replace(results.header, taxonomy=TAXONOMY)) as journal:
        for again in runs:
            journal.append(again.now or again.record)
        copy_recordings(results.path, [again.record.cassette for again in runs], folder)
