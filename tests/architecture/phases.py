"""The phases of a run as a diagram, and the effects with their answers as a table, made by trying.

``python -m tests.architecture.phases`` prints both as they stand in ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolreel import (
    ANSWERS,
    CancelRequested,
    Event,
    Plan,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    State,
    ToolDefinition,
    ToolReturned,
    start,
    step,
)
from toolreel.errors import ProtocolError
from toolreel.jsontext import canonical
from toolreel_adapters.scripted import calling, saying

__all__ = ["answers", "diagram"]

PLAN = Plan.of(model="m", messages="hi", tools=[ToolDefinition.of("ping")])
ONE_TURN = Plan.of(model="m", messages="hi", tools=PLAN.tools, config=PLAN.config.of({"max_turns": 1}))
CALL = canonical(calling(("ping", {})))
TWO_CALLS = canonical(calling(("ping", {}), ("ping", {})))
BAD_CALL = canonical(calling(("pong", {})))


def _asked(plan: Plan = PLAN) -> State:
    return start(plan).state


def _called(body: str = CALL, plan: Plan = PLAN) -> State:
    return step(_asked(plan), ReplyReceived(1, 200, body)).state


def _settled() -> State:
    return step(_asked(), CancelRequested()).state


def _trials() -> Iterator[tuple[State, str, Event]]:
    """States of every phase, with every kind of event, and what is special about it."""
    yield State.idle(PLAN), "", RunStarted()
    for state in (State.idle(PLAN), _asked(), _called(), _settled()):
        yield state, "", CancelRequested()
        yield state, "", RequestFailed(1, "timeout", "too slow")
    for state in (_asked(), _called(), _settled()):
        yield state, "a call that may run", ReplyReceived(1, 200, CALL)
        yield state, "calls, none may run", ReplyReceived(1, 200, BAD_CALL)
        yield state, "no calls", ReplyReceived(1, 200, canonical(saying("Done.")))
    yield _asked(ONE_TURN), "calls, none may run, no turn left", ReplyReceived(1, 200, BAD_CALL)
    yield _called(), "last call", ToolReturned(2, "{}")
    yield _called(TWO_CALLS), "more calls wait", ToolReturned(2, "{}")
    yield _called(plan=ONE_TURN), "last call, no turn left", ToolReturned(2, "{}")
    yield _settled(), "", ToolReturned(2, "{}")


def diagram() -> str:
    """The phases as a Mermaid state diagram."""
    arrows: dict[str, None] = {"    [*] --> Idle": None}
    for state, special, event in _trials():
        try:
            after = step(state, event).state
        except ProtocolError:
            continue
        label = type(event).__name__ + (f": {special}" if special and state is not after else "")
        arrows[f"    {_phase(state)} --> {_phase(after)}: {label}"] = None
    return "\n".join(["stateDiagram-v2", *arrows])


def _phase(state: State) -> str:
    return type(state.phase).__name__


def answers() -> str:
    """The effects and the events that answer them, as a Markdown table."""
    rows = ["| effect | answered by |", "|---|---|"]
    for effect, events in ANSWERS.items():
        rows.append(
            f"| `{effect.__name__}` | {' or '.join(f'`{event.__name__}`' for event in events) or '—'} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(diagram(), answers(), sep="\n\n")
