"""Run a case as one conversation: what it begins with, then each thing that the user says after an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolreel._driver.performer import Ports
from toolreel._driver.ports import Clock, Endpoint, Observer, ToolHost
from toolreel._driver.ports import Journal as RunJournal
from toolreel._driver.run_result import Run
from toolreel._driver.sync import run, speak
from toolreel.evals._runner.outside_tools import NO_TOOLS, OutsideTools, WithResults
from toolreel_core._jsontext.canonical import parse
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool, SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed, ToolReturned
from toolreel_core._protocol.outcome import Completed
from toolreel_core.evals._own_scenarios.table_world import TableWorld
from toolreel_core.evals._records.record import ToolResult
from toolreel_core.evals._scenarios.evidence import Evidence, Sent, evidence_of
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._worlds.desk import Desk
from toolreel_core.evals._worlds.world import World


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
    journal: RunJournal | None = None,
) -> Exchanges:
    """Run a case to its end: an exchange without a complete answer is the last one.

    :param journal: records the events of the run
    :raises toolreel.ReplayMismatch: if the endpoint replays a recording that disagrees
    """
    with outside.begin() as real:
        kept, host = _Kept(endpoint), WorldHost(case.world, case.outside, real)
        ports = Ports(kept, host, clock=clock)
        done = run(plan, ports, journal=journal, observe=observe)
        notes, answers = [*done.notes], list[str]()
        for said in case.follow_ups:
            if not isinstance(done.outcome, Completed):
                break
            answers.append(done.outcome.content)
            done = speak(done, said, ports, journal=journal, observe=observe)
            notes += done.notes
        whole = Run(done.state, tuple(notes), timing=done.timing)
        return Exchanges(whole, host.world, tuple(answers), host.results, tuple(kept.sent))
