"""Run one trial to its record, live or from its cassette: a conversation with tools, again where allowed."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, TypeAlias

from toolreel._driver import Clock, Endpoint, Ports, Run, ToolHost, run, speak
from toolreel.evals._runner.endpoints import ObservedEndpoint, error_body
from toolreel.evals._runner.real_tools import real_hosts, served_host
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import JsonText, as_tree, parse
from toolreel_core._plan import Plan
from toolreel_core._protocol import Completed, RequestFailed, RunTool, ToolReturned
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
    TableWorld,
    ToolResult,
    Verdict,
    World,
    evidence_of,
    judge,
    provider_hint,
    remaining_retries,
    retry_delay_ms,
)

OutsideTools: TypeAlias = Callable[[], AbstractContextManager[ToolHost | None]]
"""Gives each attempt its tools; ``None`` where a run calls none that is outside of its world."""
NO_TOOLS: Final[OutsideTools] = nullcontext


def live_tools(scenario: Scenario, seed: str) -> OutsideTools:
    """The real tools of a trial of a scenario, if it has any: started, and stopped at the end.

    :param seed: of the trial: a server of the world draws from it what it knows
    """
    case = scenario.begin(seed)

    @contextmanager
    def begin() -> Generator[ToolHost]:
        with ExitStack() as stack:
            yield served_host(scenario, seed, stack) if case.server else real_hosts(scenario.tree, stack)

    return begin if case.outside else NO_TOOLS


def recorded_tools(attempts: Sequence[Attempt]) -> OutsideTools:
    """The results that the attempts of a record have; of the last one, if there are more."""
    number = count()

    @contextmanager
    def begin() -> Generator[ToolHost]:
        place = min(next(number), len(attempts) - 1)
        yield _RecordedHost([*attempts[place].results] if attempts else [])

    return begin


class _RecordedHost:
    """Answers each call with the first result of the same call that is left."""

    def __init__(self, results: list[ToolResult]) -> None:
        self._left = results

    def run(self, effect: RunTool) -> ToolReturned:
        """The recorded result.

        :raises toolreel.ReplayMismatch: if the call was not recorded
        """
        for place, result in enumerate(self._left):
            if (result.name, result.arguments) == (effect.name, effect.arguments):
                del self._left[place]
                return ToolReturned(effect.ref, result.output)
        raise ReplayMismatch(
            f"the run calls {effect.name}({effect.arguments}), and the record has no result of it"
        )


class WorldHost:
    """Runs the tools of one world, call after call."""

    def __init__(self, world: World, outside: Sequence[str] = (), host: ToolHost | None = None) -> None:
        self.world = world
        """As the calls so far have left it."""
        self.results: list[ToolResult] = []
        """What the real tools returned."""
        self._outside = frozenset(outside)
        self._real = host

    def run(self, effect: RunTool) -> ToolReturned:
        """Let the world answer, and keep its successor."""
        tree = as_tree(parse(effect.arguments))
        if self._real is None or effect.name not in self._outside:
            self.world, output = self.world.call(effect.name, tree)
            return ToolReturned(effect.ref, output)
        # Images and files are no part of a record, so the model is not shown them either.
        answer = ToolReturned(effect.ref, self._real.run(effect).output)
        self.results.append(ToolResult(effect.name, JsonText(effect.arguments), answer.output))
        if isinstance(self.world, TableWorld):
            self.world = self.world.told(effect.name, tree, answer.output)
        return answer


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run needs from outside: endpoint, clock, waiting."""

    endpoint: Endpoint
    clock: Clock
    pause: Callable[[float], None] = time.sleep
    """Waits that many seconds before a run is tried again."""
    now: Callable[[], float] = time.monotonic
    outside: OutsideTools = NO_TOOLS
    """The scenario's real tools, or what is recorded of them."""


@dataclass(frozen=True, slots=True)
class Exchanges:
    """A conversation that has ended."""

    run: Run
    """Its last state, and the notes of all exchanges."""
    evidence: Evidence
    """What the checks see of it."""
    failed: RequestFailed | None
    """The failure on the wire that ended it."""
    results: tuple[ToolResult, ...]
    """What the real tools returned."""


def converse(
    case: Case, plan: Plan, context: RunContext, asked: list[SentRequest] | None = None
) -> Exchanges:
    """Run a case to its end: an exchange without a complete answer is the last one.

    :param asked: gets each request as it is answered
    :raises toolreel.ReplayMismatch: if the endpoint replays a recording that disagrees
    """
    watched = ObservedEndpoint(context.endpoint, context.now, [] if asked is None else asked)

    with context.outside() as real:
        host = WorldHost(case.world, case.outside, real)
        ports = Ports(watched, host, clock=context.clock)
        done = run(plan, ports, observe=watched.note)
        notes, answers = [*done.notes], list[str]()
        for said in case.follow_ups:
            if not isinstance(done.outcome, Completed):
                break
            answers.append(done.outcome.content)
            done = speak(done, said, ports, observe=watched.note)
            notes += done.notes
        evidence = evidence_of(
            plan,
            done.state,
            notes,
            host.world,
            earlier=tuple(answers),
            sent=tuple(watched.sent),
        )
        whole = Run(done.state, tuple(notes), timing=done.timing)
        return Exchanges(whole, evidence, watched.failed, tuple(host.results))


class Stopped(Exception):
    """Ends a run before its next request."""


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


def run_job(job: Job, context: RunContext) -> Record:
    """Run a sample, again where that is allowed, and say what came of it.

    :raises toolreel.ReplayMismatch: if the endpoint replays a recording that disagrees
    """
    retries, failures, attempts, asked = job.retries, 0, list[Attempt](), list[SentRequest]()
    sample, configuration = job.sample, job.configuration
    record = partial(
        Record,
        key=sample.key,
        cell=sample.cell,
        trial=sample.trial,
        version=sample.version,
        configuration=configuration.text,
        digest=configuration.digest,
    )
    while True:
        since, first, case = context.now(), len(asked), job.case
        try:
            ended = converse(case, job.plan(case), context, asked)
        except Stopped as stopped:
            # What was asked is in the record, since it has cost something.
            verdict = Verdict("void", "loop.budget", (str(stopped),))
            return record(
                tools_sent=bool(case.tools.definitions),
                verdict=verdict,
                loop="cancelled",
                final="",
                world=case.world.contents(),
                turns=max((one.turn for one in asked), default=0),
                calls=0,
                attempts=(Attempt(sum(one.ms for one in asked), verdict, tuple(asked)),),
            )
        evidence, failed = ended.evidence, ended.failed
        verdict = judge(case, evidence, control=job.scenario.control)
        ms = round((context.now() - since) * 1000)
        attempts.append(Attempt(ms, verdict, tuple(asked[first:]), results=ended.results))
        left = remaining_retries(verdict, evidence.final, retries)
        if left is None:
            break
        if left.voids < retries.voids:
            failures += 1
            context.pause(retry_delay_ms(failures, failed.retry_after_ms if failed else None) / 1000)
        retries = left
    body = error_body(failed) if failed else None
    return record(
        tools_sent=evidence.tools_sent,
        verdict=verdict,
        loop=evidence.outcome.name,
        final=evidence.final,
        world=evidence.world.contents(),
        turns=ended.run.state.tally.turns,
        calls=len(evidence.calls),
        attempts=tuple(attempts),
        error_status=failed.status if failed else None,
        error_body=body,
        error_hint=provider_hint(body),
    )
