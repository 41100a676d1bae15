"""Run a case as one conversation: what it begins with, then each thing that the user says after an answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, TypeAlias
from uuid import uuid4

from toolreel._driver import Clock, Endpoint, Observer, Ports, Run, ToolHost, run, speak
from toolreel.evals._runner.real_tools import real_hosts, served_host
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
    Evidence,
    Scenario,
    Sent,
    TableWorld,
    ToolResult,
    World,
    evidence_of,
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
            served = served_host(scenario, seed, stack) if case.server else None
            yield _KeyedHost(served or real_hosts(scenario.tree, stack))

    return begin if case.outside else NO_TOOLS


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
        arguments = parse(effect.arguments)
        tree = arguments if isinstance(arguments, Mapping) else {}
        if self._real is None or effect.name not in self._outside:
            self.world, output = self.world.call(effect.name, tree)
            return ToolReturned(effect.ref, output)
        # Images and files are no part of a record, so the model is not shown them either.
        answer = ToolReturned(effect.ref, self._real.run(effect).output)
        self.results.append(ToolResult(effect.name, JsonText(effect.arguments), answer.output))
        if isinstance(self.world, TableWorld):
            self.world = self.world.told(effect.name, tree, answer.output)
        return answer


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
    with outside() as real:
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
        return Exchanges(whole, host.world, tuple(answers), tuple(host.results), tuple(kept.sent))
