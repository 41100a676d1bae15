"""Run a case as one conversation: what it begins with, then each thing that the user says after an answer.

What a simulated user says, and the votes of judges, are asked for at the endpoint of the run, so that they
are recorded and replayed with it. A script is alone: its user has lines, and no judge is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from toolreel._driver.performer import Ports
from toolreel._driver.ports import Clock, Endpoint, Observer, ToolHost
from toolreel._driver.run_result import Run
from toolreel._driver.sync import run, speak
from toolreel.evals._runner.other_models import OtherModelFailed, next_words, opinion
from toolreel.evals._runner.outside_tools import NO_TOOLS, OutsideTools, WithResults
from toolreel_core._conversation.message import UserMessage, shown_content
from toolreel_core._jsontext.canonical import parse
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool, SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed, ToolReturned
from toolreel_core._protocol.outcome import Completed
from toolreel_core.evals._other_models.judge import Opinion
from toolreel_core.evals._own_scenarios.table_world import TableWorld
from toolreel_core.evals._records.record import ToolResult
from toolreel_core.evals._scenarios.catalogue import kind_of
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
    opinions: tuple[Opinion, ...] = ()
    user_failure: str = ""

    def evidence(self, case: Case, plan: Plan, *, language: str = "", strict: bool = False) -> Evidence:
        """What the checks see of it."""
        seen = evidence_of(
            plan,
            self.run.state,
            self.run.notes,
            self.world,
            case.world.contents(),
            language=language,
            strict=strict,
            earlier=self.earlier,
            sent=self.sent,
        )
        return replace(seen, opinions=self.opinions, user_failure=self.user_failure)


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
        return _conversed(case, plan, WorldHost(case.world, case.outside, real), endpoint, clock, observe)


def _conversed(
    case: Case, plan: Plan, host: WorldHost, endpoint: Endpoint, clock: Clock, observe: Observer | None
) -> Exchanges:
    kept = _Kept(endpoint)
    ports = Ports(kept, host, clock=clock)
    done = run(plan, ports, observe=observe)
    notes, answers, failure = [*done.notes], list[str](), ""
    says = _speaker(case, plan, endpoint, clock)
    while isinstance(done.outcome, Completed):
        answers.append(done.outcome.content)
        try:
            said = says(answers)
        except OtherModelFailed as error:
            failure = f"{error}"
            break
        if said is None:
            break
        done = speak(done, said, ports, observe=observe)
        notes += done.notes
    whole = Run(done.state, tuple(notes), timing=done.timing)
    complete = isinstance(done.outcome, Completed)
    judges = case.judges if complete and not failure and not kind_of(plan.model) else ()
    conversation = done.state.messages.messages
    opinions = tuple(opinion(judge, conversation, endpoint, clock) for judge in judges)
    earlier = tuple(answers[:-1] if complete else answers)
    return Exchanges(whole, host.world, earlier, host.results, tuple(kept.sent), opinions, failure)


_Speaker: TypeAlias = Callable[[Sequence[str]], str | None]
"""What the user says after this many answers; ``None`` if nothing."""


def _speaker(case: Case, plan: Plan, endpoint: Endpoint, clock: Clock) -> _Speaker:
    user = case.user
    if user is None:
        return _lines(case.follow_ups)
    if kind_of(plan.model):
        return _lines(user.lines[: user.turns - 1])
    task = next((one for one in reversed(plan.opening) if isinstance(one, UserMessage)), UserMessage(""))
    said = [shown_content(task)]

    def says(answers: Sequence[str]) -> str | None:
        words = next_words(user, said, answers, endpoint, clock)
        said.extend([words] if words is not None else [])
        return words

    return says


def _lines(lines: Sequence[str]) -> _Speaker:
    return lambda answers: lines[len(answers) - 1] if len(answers) <= len(lines) else None
