"""A run of an evaluation once more, offline, with all that was decided on the way.

Nothing but the journal and the cassettes is kept of an evaluation; since worlds are values, all else
follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolreel._driver.performer import Ports
from toolreel._driver.run import Run
from toolreel._driver.sync import run
from toolreel._errors import CassetteError
from toolreel.evals._runner.cassettes import replayed
from toolreel.evals._runner.evaluation import job_of
from toolreel.evals._runner.trial import Job, Outside
from toolreel.evals._runner.world_host import WorldHost
from toolreel_core.evals._plan.cells import Sample
from toolreel_core.evals._plan.plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.evidence import Evidence, evidence_of

__all__ = ["Again", "made_again"]


@dataclass(frozen=True, slots=True)
class Again:
    """One attempt, made again."""

    run: Run
    evidence: Evidence


def made_again(record: Record, plan: EvalPlan, folder: Path) -> Again:
    """The last attempt of a run: out of its cassette, or by the script that spoke in it.

    :param folder: the directory of the results
    :raises CassetteError: if it was not recorded, its cassette cannot be read or trusted, or the plan would
        run it otherwise now
    :raises toolreel.ReplayMismatch: if the run would ask something else now
    """
    job = _job(record, plan)
    with replayed(folder, record.cassette, plan.endpoint.url, job) as outside:
        *_, last = [_made(job, outside) for _ in record.attempts]
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


def _made(job: Job, outside: Outside) -> Again:
    setting = job.setting
    plan, host = job.plan(setting), WorldHost(setting.world)
    ended = run(plan, Ports(outside.endpoint, host, clock=outside.clock))
    return Again(ended, evidence_of(plan, ended.state, ended.notes, host.world, setting.world.told()))
