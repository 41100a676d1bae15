"""Run one sample to its record, live or from its cassette."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from toolreel._driver import Clock, Endpoint, Observer, Run
from toolreel.evals._runner.endpoints import ObservedEndpoint, error_body
from toolreel.evals._runner.exchanges import NO_TOOLS, OutsideTools, converse
from toolreel_core._plan import Plan
from toolreel_core._protocol import Note, RequestFailed
from toolreel_core.evals import (
    Attempt,
    Case,
    Configuration,
    Evidence,
    Record,
    Retries,
    Sample,
    Scenario,
    SentRequest,
    ToolResult,
    Verdict,
    judge,
    provider_hint,
    remaining_retries,
    retry_delay_ms,
)


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides about one run."""

    sample: Sample
    scenario: Scenario
    configuration: Configuration
    retries: Retries = field(default_factory=Retries)

    @property
    def case(self) -> Case:
        """What the run begins with."""
        return self.scenario.begin(self.sample.seed)

    def plan(self, case: Case) -> Plan:
        """The plan of the run."""
        sample = self.sample
        return self.configuration.plan(sample.cell.model, case.messages, case.tools, sample.trial)


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run needs from outside: endpoint, clock, waiting, observer."""

    endpoint: Endpoint
    clock: Clock
    pause: Callable[[float], None] = time.sleep
    """Waits that many seconds before a run is tried again."""
    now: Callable[[], float] = time.monotonic
    observe: Observer = lambda _: None
    outside: OutsideTools = NO_TOOLS
    """The scenario's real tools, or what is recorded of them."""


@dataclass(frozen=True, slots=True)
class _Try:
    """One attempt that has ended."""

    run: Run
    evidence: Evidence
    verdict: Verdict
    asked: tuple[SentRequest, ...]
    failed: RequestFailed | None
    """The failure on the wire that ended it."""
    ms: int
    results: tuple[ToolResult, ...]


def run_job(job: Job, context: RunContext) -> Record:
    """Run a sample, again where that is allowed, and say what came of it.

    :raises toolreel.ReplayMismatch: if the endpoint replays a recording that disagrees
    """
    retries, attempts, failures = job.retries, list[_Try](), 0
    while True:
        attempt = _attempt(job, context)
        attempts.append(attempt)
        left = remaining_retries(attempt.verdict, attempt.evidence.final, retries)
        if left is None:
            return _record(job, attempts)
        if left.voids < retries.voids:
            failures += 1
            wanted = attempt.failed.retry_after_ms if attempt.failed else None
            context.pause(retry_delay_ms(failures, wanted) / 1000)
        retries = left


def _attempt(job: Job, context: RunContext) -> _Try:
    since = context.now()
    case = job.case
    plan = job.plan(case)
    watched = ObservedEndpoint(context.endpoint, context.now)

    def observe(note: Note, /) -> None:
        watched.note(note)
        context.observe(note)

    ended = converse(case, plan, watched, context.clock, observe, context.outside)
    evidence = ended.evidence(case, plan)
    return _Try(
        ended.run,
        evidence,
        judge(case, evidence, control=job.scenario.control),
        tuple(watched.asked),
        watched.failed,
        round((context.now() - since) * 1000),
        ended.results,
    )


def _record(job: Job, attempts: Sequence[_Try]) -> Record:
    """The record; all but its attempts is about the last one."""
    sample, last = job.sample, attempts[-1]
    tally, configuration = last.run.state.tally, job.configuration
    body = error_body(last.failed) if last.failed else None
    return Record(
        key=sample.key,
        cell=sample.cell,
        trial=sample.trial,
        version=sample.version,
        configuration=configuration.text,
        digest=configuration.digest,
        tools_sent=last.evidence.tools_sent,
        verdict=last.verdict,
        loop=last.evidence.outcome.name,
        final=last.evidence.final,
        world=last.evidence.world.contents(),
        turns=tally.turns,
        calls=len(last.evidence.calls),
        attempts=tuple(Attempt(each.ms, each.verdict, each.asked, results=each.results) for each in attempts),
        error_status=last.failed.status if last.failed else None,
        error_body=body,
        error_hint=provider_hint(body),
    )
