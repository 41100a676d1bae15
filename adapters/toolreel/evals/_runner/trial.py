"""One sample, run to its record: live, or from its cassette."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from toolreel._driver.performer import Ports
from toolreel._driver.ports import Clock, Endpoint, Observer
from toolreel._driver.run import Run
from toolreel._driver.sync import run
from toolreel.evals._runner.error_bodies import ErrorSeen, error_in
from toolreel.evals._runner.observed_endpoint import Watched
from toolreel.evals._runner.world_host import WorldHost
from toolreel_core._jsontext.digest import digest
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.notes import Note
from toolreel_core.evals._plan.cells import Sample
from toolreel_core.evals._plan.configuration import Configuration
from toolreel_core.evals._records.record import Asked, Attempt, Record
from toolreel_core.evals._records.retries import Tries, tried_again, wait_ms
from toolreel_core.evals._scenarios.evidence import Evidence, evidence_of
from toolreel_core.evals._scenarios.scenario import Scenario, Setting
from toolreel_core.evals._verdicts.languages import OFF, shape, told_in
from toolreel_core.evals._verdicts.verdict import Verdict, judge

__all__ = ["Job", "Outside", "run_job"]


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides about one run."""

    sample: Sample
    scenario: Scenario
    configuration: Configuration
    tries: Tries = field(default_factory=Tries)
    strict: bool = False
    """Whether an answer in another language is a failure."""

    @property
    def setting(self) -> Setting:
        """What the run begins with, in the language of its cell."""
        setting = self.scenario.begin(self.sample.seed)
        return replace(setting, messages=told_in(setting.messages, self.sample.cell.language))

    def plan(self, setting: Setting) -> Plan:
        """The plan of the run."""
        sample = self.sample
        return self.configuration.plan(sample.cell.model, setting.messages, setting.tools, sample.trial)


@dataclass(frozen=True, slots=True)
class Outside:
    """What a run needs from the world."""

    endpoint: Endpoint
    clock: Clock
    pause: Callable[[float], None] = time.sleep
    """Waits that many seconds before a run is tried again."""
    now: Callable[[], float] = time.monotonic
    observe: Observer | None = None


@dataclass(frozen=True, slots=True)
class _Try:
    """One attempt that has ended."""

    run: Run
    evidence: Evidence
    verdict: Verdict
    asked: tuple[Asked, ...]
    error: ErrorSeen
    ms: int


def run_job(job: Job, outside: Outside, cassette: str = "") -> Record:
    """Run a sample, again where that is allowed, and say what came of it.

    :param cassette: the path of its recording, for the record
    :raises toolreel.ReplayMismatch: if the endpoint replays a recording that disagrees
    """
    tries, attempts, failures = job.tries, list[_Try](), 0
    while True:
        attempt = _attempt(job, outside)
        attempts.append(attempt)
        left = tried_again(attempt.verdict, attempt.evidence.final, tries)
        if left is None:
            return _record(job, attempts, cassette)
        if left.voids < tries.voids:
            failures += 1
            outside.pause(wait_ms(failures, attempt.error.retry_after_ms) / 1000)
        tries = left


def _attempt(job: Job, outside: Outside) -> _Try:
    since = outside.now()
    setting = job.setting
    plan = job.plan(setting)
    watched, host = Watched(outside.endpoint, outside.now), WorldHost(setting.world)
    ended = run(plan, Ports(watched, host, clock=outside.clock), observe=_both(watched.note, outside.observe))
    evidence = evidence_of(
        plan,
        ended.state,
        ended.notes,
        host.world,
        setting.world.told(),
        language=job.sample.cell.language,
        strict=job.strict,
    )
    return _Try(
        ended,
        evidence,
        judge(job.scenario, evidence),
        tuple(watched.asked),
        error_in(watched.failed),
        round((outside.now() - since) * 1000),
    )


def _both(first: Observer, second: Observer | None) -> Observer:
    def observe(note: Note, /) -> None:
        first(note)
        if second is not None:
            second(note)

    return observe


def _record(job: Job, attempts: Sequence[_Try], cassette: str) -> Record:
    """The record, which tells of the last attempt."""
    sample, last = job.sample, attempts[-1]
    language = sample.cell.language
    tally, configuration = last.run.state.tally, job.configuration.text
    return Record(
        key=sample.key,
        cell=sample.cell,
        trial=sample.trial,
        version=sample.version,
        configuration=configuration,
        digest=digest(configuration),
        tools_sent=last.evidence.tools_sent,
        verdict=last.verdict,
        loop=last.evidence.outcome.name,
        final=last.evidence.final,
        world=last.evidence.world.told(),
        language_shape="" if language == OFF else shape(last.evidence.final, language),
        turns=tally.turns,
        calls=len(last.evidence.calls),
        attempts=tuple(Attempt(each.ms, each.verdict, each.asked) for each in attempts),
        error_status=last.error.status,
        error_body=last.error.body,
        error_hint=last.error.hint,
        cassette=cassette,
    )
