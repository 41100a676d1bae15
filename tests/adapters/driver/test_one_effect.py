from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.samples import complaint
from toolreel import (
    Completed,
    ConfigError,
    Plan,
    Ports,
    PythonTools,
    aperform,
    perform,
    tool,
)
from toolreel._driver import Wanted
from toolreel.errors import ProtocolError
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel_core import (
    AskApproval,
    Event,
    Finish,
    State,
    dump,
    load_state,
    pending,
    start,
    step,
)


@tool(needs_approval=True)
def order(part: str) -> str:
    """Order a part."""
    return f"{part} ordered"


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return len(part)


TOOLS = PythonTools([stock, order])
PLAN = Plan.of(model="m", messages="hi", tools=TOOLS.surface)


def script() -> ScriptedEndpoint:
    return ScriptedEndpoint([calling(("stock", {"part": "pin"})), saying("There are 3.")])


def taken(state: State, event: Event | None) -> State:
    assert event is not None
    return load_state(dump(step(state, event).state))


def test_a_decision_that_is_open_is_no_event() -> None:
    ports = Ports(ScriptedEndpoint([calling(("order", {"part": "pin"}))]), TOOLS)
    state = taken(start(PLAN).state, perform(pending(start(PLAN).state)[0], ports))
    (question,) = pending(state)
    assert isinstance(question, AskApproval)
    assert perform(question, ports) is None


def aperformed(effect: Wanted, ports: Any) -> Event | None:  # noqa: ANN401 - anything
    return asyncio.run(aperform(effect, ports))


@pytest.mark.parametrize(
    ("act", "ports", "why"),
    [
        (perform, None, "perform: expected ports, got NoneType; write Ports(endpoint, tools)"),
        (aperformed, None, "aperform: expected ports, got NoneType; write AsyncPorts(endpoint, tools)"),
    ],
)
def test_ports_that_cannot_perform_say_what_to_write(act: Any, ports: Any, why: str) -> None:  # noqa: ANN401
    (effect,) = pending(start(PLAN).state)
    assert complaint(ConfigError, lambda: act(effect, ports)) == why


def test_the_end_of_a_run_is_nothing_to_perform() -> None:
    why = complaint(ProtocolError, lambda: perform(Finish(Completed("Hi.")), script()))
    assert why == "Finish: nothing is left to perform; the run ended with state.outcome"
