"""Rescore an evaluation: judge recorded runs with the present checks and write a new journal.

Only verdicts and language checks may change. If a run would send other requests or end differently now, its
conversation is not the one that was measured, and a new verdict would say nothing about that model. In this
case nothing is written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from toolreel._errors import CassetteError, ResultsError
from toolreel.evals._replay.replay import Replayed, replay_record
from toolreel.evals._runner.evaluation import recorded_job
from toolreel.evals._store.files import Header
from toolreel.evals._store.plans import configuration_differences
from toolreel.evals._store.results import Journal, Results
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record, record_line
from toolreel_core.evals._verdicts.failure_taxonomy import TAXONOMY

BEFORE = "journal.before-rescore.jsonl"
"""The journal as it was before it was rescored in place."""


def rescored(results: Results, plan: EvalPlan) -> Iterator[Replayed]:
    """Each run, judged again; ``drift`` says why one cannot be."""
    for record in results.records():
        try:
            yield _again(results.path, plan, record)
        except (CassetteError, ConfigError, ReplayMismatch) as error:
            yield Replayed(record, drift=str(error))


def write_rescored(results: Results, runs: Iterable[Replayed], folder: Path) -> None:
    """Write an evaluation with today's verdicts into a new directory, with the cassettes.

    :raises ResultsError: if there is something already, or it cannot be written
    """
    if (folder / "header.json").exists():
        raise ResultsError(f"{folder}: holds an evaluation already; name another directory")
    with Journal(folder, _header(results.header)) as journal:
        for again in runs:
            journal.append(again.now or again.record)
            if cassette := again.record.cassette:
                target = folder / cassette
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(results.path / cassette, target)


def rescore_in_place(results: Results, runs: Iterable[Replayed]) -> None:
    """Put today's verdicts into the journal itself; the old one stays beside it.

    :raises ResultsError: if another process is writing it, or it cannot be written
    """
    folder, header = results.path, _header(results.header)
    with Journal(folder, results.header), TemporaryDirectory(dir=folder, prefix=".rescored-") as draft:
        with Journal(Path(draft), header) as journal:
            for again in runs:
                journal.append(again.now or again.record)
        shutil.copyfile(folder / "journal.jsonl", folder / BEFORE)
        (Path(draft) / "journal.jsonl").replace(folder / "journal.jsonl")
        (Path(draft) / "header.json").replace(folder / "header.json")


def _again(folder: Path, plan: EvalPlan, record: Record) -> Replayed:
    job = recorded_job(plan, record)
    if job.scenario.version != record.version:
        versions = f"version {record.version} of its scenario, which is at version {job.scenario.version} now"
        return Replayed(record, drift=f"was run as {versions}")
    now = replay_record(job, record, folder, plan.endpoint.url)
    before, after = record_line(record), record_line(_judged_as(now, record))
    changed = (
        "" if before == after else "another record: " + "; ".join(configuration_differences(before, after))
    )
    return Replayed(record, now, changed)


def _judged_as(now: Record, record: Record) -> Record:
    """A record with the judgements of another."""
    attempts = tuple(
        replace(one, verdict=then.verdict) for one, then in zip(now.attempts, record.attempts, strict=False)
    )
    attempts += now.attempts[len(attempts) :]
    return replace(now, verdict=record.verdict, language_shape=record.language_shape, attempts=attempts)


def _header(header: Header) -> Header:
    """The header of the same runs under today's categories."""
    return replace(header, taxonomy=TAXONOMY)
