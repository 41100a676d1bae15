"""Run a case as one conversation: what it begins with, then each thing that the user says after an answer."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, Protocol
from uuid import uuid4

from toolreel._driver import Clock, Endpoint, Observer, Ports, Run, ToolHost, run, speak
from toolreel.evals._scenario_files.real_tools import real_hosts, served_host
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import JsonText, chain, parse
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Completed,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
)
from toolreel_core.evals import (
    Attempt,
    Case,
    Desk,
    Evidence,
    Scenario,
    Sent,
    TableWorld,
    ToolResult,
    World,
    evidence_of,
)


class OutsideTools(Protocol):
    """Gives each attempt its tools."""

    def begin(self) -> AbstractContextManager[ToolHost]:
        """The tools of the next attempt."""
        ...


@dataclass(frozen=True, slots=True)
class LiveTools:
    """The tools themselves."""

    scenario: Scenario
    seed: str
    """Of the trial: a server of a built-in scenario draws from it what it knows."""

    @contextmanager
    def begin(self) -> Generator[ToolHost]:
        """Start them, and stop them at the end.

        :raises AdapterError: if they cannot be loaded or started
        """
        with ExitStack() as stack:
            served = self.scenario.begin(self.seed).server
            yield _KeyedHost(
                served_host(self.scenario, self.seed, stack)
                if served
                else real_hosts(self.scenario.tree, stack)
            )


class _KeyedHost:
    """Gives the calls of one attempt idempotency keys that no other attempt has.

    The loop computes keys from the plan, which is the same at two endpoints, and when a run is made again.
    A tool that remembers keys would act for the first of them alone.
    """

    def __init__(self, host: ToolHost) -> None:
        self._host = host
        self._attempt = uuid4().hex

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the call; a call that is repeated within the attempt keeps its key."""
        return self._host.run(replace(effect, key=chain("attempt", self._attempt, effect.key)))


class RecordedTools:
    """The results that the attempts of a record have."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self._attempts = attempts
        self._number = count()

    @contextmanager
    def begin(self) -> Generator[ToolHost]:
        """The results of the next attempt; of the last one, if it is asked for more."""
        place = min(next(self._number), len(self._attempts) - 1)
        yield _RecordedHost([*self._attempts[place].results] if self._attempts else [])


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


class WithResults:
    """A host that keeps what it has answered."""

    def __init__(self, host: ToolHost) -> None:
        self._host = host
        self.results: list[ToolResult] = []

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the call, and keep its result."""
        # Images and files are no part of a record, so the model is not shown them either.
        answer = ToolReturned(effect.ref, self._host.run(effect).output)
        self.results.append(ToolResult(effect.name, JsonText(effect.arguments), answer.output))
        return answer


NO_TOOLS: Final = RecordedTools(())
"""For scenarios whose tools are all tables: nothing that a run would call."""


def live_tools(scenario: Scenario, seed: str) -> OutsideTools:
    """The real tools of a trial of a scenario, if it has any."""
    return LiveTools(scenario, seed) if scenario.begin("").outside else NO_TOOLS


class WorldHost:
    """Runs the tools of one world, call after call."""

    def __init__(self, world: World, outside: Sequence[str] = (), host: ToolHost | None = None) -> None:
        self.world = world
        """As the calls so far have left it."""
        self._outside = frozenset(outside) if host else frozenset[str]()
        self._real = WithResults(host) if host else None

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """What the real tools returned."""
        return tuple(self._real.results) if self._real else ()

    def run(self, effect: RunTool) -> ToolReturned:
        """Let the world answer, and keep its successor."""
        arguments = parse(effect.arguments)
        tree = arguments if isinstance(arguments, Mapping) else {}
        if self._real and effect.name in self._outside:
            answer = self._real.run(effect)
            if isinstance(self.world, TableWorld | Desk):
                self.world = self.world.told(effect.name, tree, answer.output)
            return answer
        self.world, output = self.world.call(effect.name, tree)
        return ToolReturned(effect.ref, output)


class _Kept:
    """Keeps the requests that were answered."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.sent: list[Sent] = []

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Pass the request on."""
        event = self._endpoint.send(effect)
        if isinstance(event, ReplyReceived):
            self.sent.append(Sent(effect.request, event.body))
        return event


@dataclass(frozen=True, slots=True)
class Exchanges:
    """A conversation that has ended."""

    run: Run
    """Its last state, and the notes of all exchanges."""
    world: World
    earlier: tuple[str, ...]
    """The answers of the exchanges before the last one."""
    results: tuple[ToolResult, ...] = ()
    """What the real tools returned."""
    sent: tuple[Sent, ...] = ()
    """The model's requests and replies."""

    def evidence(self, case: Case, plan: Plan) -> Evidence:
        """What the checks see of it."""
        return evidence_of(
            plan,
            self.run.state,
            self.run.notes,
            self.world,
            case.world.contents(),
            earlier=self.earlier,
            sent=self.sent,
        )


def converse(
    case: Case,
    plan: Plan,
    endpoint: Endpoint,
    clock: Clock,
    observe: Observer | None = None,
    outside: OutsideTools = NO_TOOLS,
) -> Exchanges:
    """Run a case to its end: an exchange without a complete answer is the last one.

    :raises toolreel.ReplayMismatch: if the endpoint replays a recording that disagrees
    """
    with outside.begin() as real:
        kept, host = _Kept(endpoint), WorldHost(case.world, case.outside, real)
        ports = Ports(kept, host, clock=clock)
        done = run(plan, ports, observe=observe)
        notes, answers = [*done.notes], list[str]()
        for said in case.follow_ups:
            if not isinstance(done.outcome, Completed):
                break
            answers.append(done.outcome.content)
            done = speak(done, said, ports, observe=observe)
            notes += done.notes
        whole = Run(done.state, tuple(notes), timing=done.timing)
        return Exchanges(whole, host.world, tuple(answers), host.results, tuple(kept.sent))
