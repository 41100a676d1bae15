from __future__ import annotations

from tests.samples import complaint
from toolreel import (
    Completed,
    Plan,
    Ports,
    PythonTools,
    perform,
    tool,
)
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


def test_the_end_of_a_run_is_nothing_to_perform() -> None:
    why = complaint(ProtocolError, lambda: perform(Finish(Completed("Hi.")), script()))
    assert why == "Finish: nothing is left to perform; the run ended with state.outcome"
