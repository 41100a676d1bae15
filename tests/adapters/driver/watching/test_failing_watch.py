"""A watcher that fails is told of in a warning, and the run goes on as if nobody watched."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pytest

from toolreel import Plan, Ports, PythonTools, run
from toolreel._driver import WATCHERS, Begun, Wanted, Watch
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel_core import Completed
from toolreel_core._protocol import Event, State, Step

Fault: TypeAlias = Literal[
    "begin", "performing", "enter", "leave", "swallow", "performed", "stepped", "ended"
]


def look(part: str) -> str:
    """Look for a part."""
    return f"{part}: 4"


def broken(part: str) -> str:
    """Fail."""
    raise ValueError(part)


TOOLS = PythonTools([look, broken])
PLAN = Plan.of(model="m", messages="How many?", tools=TOOLS.surface)
SCRIPT = [calling(("look", {"part": "a"})), calling(("broken", {"part": "b"})), saying("Four.")]


@dataclass(frozen=True, slots=True)
class Failing(Watch):
    """Fails at one place."""

    at: Fault

    def _meet(self, fault: Fault) -> None:
        if self.at == fault:
            raise LookupError(fault)

    def performing(self, effect: Wanted) -> AbstractContextManager[object]:
        self._meet("performing")
        return self._scope(effect)

    @contextmanager
    def _scope(self, _effect: Wanted) -> Generator[None]:
        self._meet("enter")
        try:
            yield
        except BaseException:
            if self.at != "swallow":
                raise
        self._meet("leave")

    def performed(self, _effect: Wanted, *, replayed: bool) -> None:
        assert not replayed
        self._meet("performed")

    def stepped(self, _effect: Wanted | None, _event: Event, _after: Step, /) -> None:
        self._meet("stepped")

    def ended(self, state: State, error: BaseException | None) -> None:  # noqa: ARG002 - the protocol's names
        self._meet("ended")


@contextmanager
def watching(fault: Fault) -> Generator[None]:
    def begin(_begun: Begun) -> Watch:
        if fault == "begin":
            raise LookupError(fault)
        return Failing(fault)

    WATCHERS.append(begin)
    try:
        yield
    finally:
        WATCHERS.remove(begin)


@pytest.mark.parametrize("fault", ["begin", "performing", "enter", "leave", "performed", "stepped", "ended"])
def test_a_watcher_that_fails_ends_no_run(fault: Fault) -> None:
    unwatched = run(PLAN, Ports(ScriptedEndpoint(SCRIPT), TOOLS))
    with watching(fault), pytest.warns(RuntimeWarning, match="a watcher of runs failed: LookupError"):
        watched = run(PLAN, Ports(ScriptedEndpoint(SCRIPT), TOOLS))
    assert isinstance(watched.outcome, Completed)
    assert watched.state == unwatched.state


def test_a_scope_cannot_keep_an_exception_from_its_run() -> None:
    def stop(part: str) -> str:
        """Stop."""
        raise KeyboardInterrupt(part)

    tools = PythonTools([stop])
    plan = Plan.of(model="m", messages="Stop.", tools=tools.surface)
    with watching("swallow"), pytest.raises(KeyboardInterrupt):
        run(plan, Ports(ScriptedEndpoint([calling(("stop", {"part": "a"}))]), tools))
