"""Tools of a scenario that are real: Python functions and MCP servers, or what a record has of their results.

Each attempt of a run begins with hosts of its own, so that no server remembers the run before. Results are
recorded, and a replay takes them from the record: it needs neither the code nor a server.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, Protocol
from uuid import uuid4

from toolreel._driver.ports import ToolHost
from toolreel.evals._scenario_files.real_tools import real_hosts, served_host
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext.canonical import JsonText
from toolreel_core._jsontext.digest import chain
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core.evals._records.record import Attempt, ToolResult
from toolreel_core.evals._scenarios.scenario import Scenario


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


@dataclass(slots=True)
class RecordedTools:
    """The results that a record has."""

    attempts: Sequence[Attempt]
    _number: count[int] = field(default_factory=count)

    @contextmanager
    def begin(self) -> Generator[ToolHost]:
        """The results of the next attempt; of the last one, if it is asked for more."""
        place = next(self._number)
        yield _RecordedHost([*self.attempts[min(place, len(self.attempts) - 1)].results])


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


class NoTools:
    """For scenarios whose tools are all tables."""

    @contextmanager
    def begin(self) -> Generator[ToolHost]:
        """Nothing that a run would call."""
        yield _RecordedHost([])


NO_TOOLS: Final = NoTools()


def live_tools(scenario: Scenario, seed: str) -> OutsideTools:
    """The real tools of a trial of a scenario, if it has any."""
    return LiveTools(scenario, seed) if scenario.begin("").outside else NO_TOOLS
