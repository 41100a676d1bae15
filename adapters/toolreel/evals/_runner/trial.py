"""One sample, run to its record: live, or from its cassette."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from toolreel._driver.performer import Ports
from toolreel._driver.ports import Clock, Endpoint, Observer
from toolreel._driver.run import Run
from toolreel._driver.sync import run
from toolreel.evals._runner.observed_endpoint import ErrorSeen, Watched, error_in
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

__all__ = ["Ended", "Job", "Outside", "Runs", "run_job"]


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


_Job = TypeVar("_Job")
_Came = TypeVar("_Came")


@dataclass(frozen=True, slots=True)
class Ended(Generic[_Came]):
    """A job that has ended, with what came of it or with what went wrong in this program."""

    came: _Came | None = None
    error: BaseException | None = None


class Runs(Generic[_Job, _Came]):
    """Runs jobs in a few threads.

    Jobs are taken one by one when a thread is free, so that a long plan is never in memory as a whole.

    :param run: called in a thread, with one job at a time
    :param stop: once it is set, no further job is begun; those under way still end
    """

    def __init__(
        self, jobs: Iterator[_Job], threads: int, run: Callable[[_Job], _Came], stop: threading.Event
    ) -> None:
        self._jobs = jobs
        self._run = run
        self._lock = threading.Lock()
        self._ended: queue.SimpleQueue[Ended[_Came] | None] = queue.SimpleQueue()
        self._working = threads
        self._stop = stop
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True).start()

    def next_ended(self) -> Ended[_Came] | None:
        """Wait for the next job that ends; ``None`` when all have."""
        while self._working:
            ended = self._ended.get()
            if ended is not None:
                return ended
            self._working -= 1
        return None

    def _work(self) -> None:
        try:
            while (job := self._next()) is not None:
                self._ended.put(Ended(self._run(job)))
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits, which raises it
            self._ended.put(Ended(error=error))
        finally:
            self._ended.put(None)

    def _next(self) -> _Job | None:
        with self._lock:
            return None if self._stop.is_set() else next(self._jobs, None)
