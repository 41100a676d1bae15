"""Run a case as one conversation: what it begins with, then each thing that the user says after an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolreel._driver.performer import Ports
from toolreel._driver.ports import Clock, Endpoint, Observer
from toolreel._driver.run_result import Run
from toolreel._driver.sync import run, speak
from toolreel_core._jsontext.canonical import parse
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._protocol.outcome import Completed
from toolreel_core.evals._scenarios.evidence import Evidence, evidence_of
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._worlds.world import World


class WorldHost:
    """Runs the tools of one world, call after call."""

    def __init__(self, world: World) -> None:
        self.world = world
        """As the calls so far have left it."""

    def run(self, effect: RunTool) -> ToolReturned:
        """Let the world answer, and keep its successor."""
        arguments = parse(effect.arguments)
        tree = arguments if isinstance(arguments, Mapping) else {}
        self.world, output = self.world.call(effect.name, tree)
        return ToolReturned(effect.ref, output)


@dataclass(frozen=True, slots=True)
class Exchanges:
    """A conversation that has ended."""

    run: Run
    """Its last state, and the notes of all exchanges."""
    world: World
    earlier: tuple[str, ...]
    """The answers of the exchanges before the last one."""

    def evidence(self, case: Case, plan: Plan, *, language: str = "", strict: bool = False) -> Evidence:
        """What the checks see of it."""
        return evidence_of(
            plan,
            self.run.state,
            self.run.notes,
            self.world,
            case.world.contents(),
            language=language,
            strict=strict,
            earlier=self.earlier,
        )


def converse(
    case: Case, plan: Plan, endpoint: Endpoint, clock: Clock, observe: Observer | None = None
) -> Exchanges:
    """Run a case to its end: an exchange without a complete answer is the last one.

    :raises toolreel.ReplayMismatch: if the endpoint replays a recording that disagrees
    """
    host = WorldHost(case.world)
    ports = Ports(endpoint, host, clock=clock)
    done = run(plan, ports, observe=observe)
    notes, earlier = [*done.notes], list[str]()
    for said in case.follow_ups:
        if not isinstance(done.outcome, Completed):
            break
        earlier.append(done.outcome.content)
        done = speak(done, said, ports, observe=observe)
        notes += done.notes
    return Exchanges(Run(done.state, tuple(notes), timing=done.timing), host.world, tuple(earlier))
