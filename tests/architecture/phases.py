"""The phases of a run as a diagram, and the effects with their answers as a table, made by trying.

``python -m tests.architecture.phases`` prints both as they stand in ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

from toolreel.testing._scripted import calling, saying
from toolreel_core import ANSWERS, Event, Plan, State, ToolDefinition, start, step
from toolreel_core._errors import ProtocolError
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._protocol.events import (
    ApprovalGiven,
    CancelRequested,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    ToolReturned,
    WaitElapsed,
)
from toolreel_core._protocol.state import Phase
from toolreel_core._settings.config import LoopConfig

__all__ = ["answers", "diagram"]

CONFIG: Final = LoopConfig(
    max_wall_ms=60_000,
    fallback_without_tools=True,
    repetition_warn=None,
    repetition_stop=2,
    parallel_tools=True,
)
PLAN: Final = Plan.of(
    model="m",
    messages="hi",
    tools=[
        ToolDefinition("ping", read_only=True),
        ToolDefinition("step"),
        ToolDefinition("wipe", needs_approval=True),
    ],
    config=CONFIG,
)
CHANGES: Final = CONFIG.changes()
ONE_TURN: Final = Plan.of(
    model="m", messages="hi", tools=PLAN.tools, config=LoopConfig.of({**CHANGES, "max_turns": 1})
)
ONE_CALL: Final = Plan.of(
    model="m", messages="hi", tools=PLAN.tools, config=LoopConfig.of({**CHANGES, "max_tool_calls": 1})
)

ENFORCED: Final = Plan.of(
    model="m",
    messages="hi",
    tools=PLAN.tools,
    config=LoopConfig(tool_use_mode="enforced", nudge_no_tool_calls=1),
)

DOWN: Final = RequestFailed(1, "timeout", "too slow")
LATE: Final = 60_000


def _reply(*names: str) -> ReplyReceived:
    return ReplyReceived(1, 200, canonical(calling(*((name, {}) for name in names))))


def _asked(plan: Plan = PLAN) -> State:
    return start(plan).state


def _called(*names: str, plan: Plan = PLAN) -> State:
    return step(_asked(plan), _reply(*names)).state


def _second_time(name: str) -> State:
    """The same call once more, after it has come to the same result once."""
    first = step(_called(name), _answer(name, 2)).state
    body = canonical(calling((name, {})))
    return step(first, ReplyReceived(3, 200, body)).state


def _answer(name: str, ref: int) -> Event:
    return ApprovalGiven(ref, False) if name == "wipe" else ToolReturned(ref, "{}")


def _settled() -> State:
    return step(_asked(), CancelRequested()).state


def _everywhere() -> tuple[State, ...]:
    """A state in each phase."""
    waiting = step(_asked(), DOWN).state
    states = (State.idle(PLAN), _asked(), waiting, _called("step"), _called("wipe"), _settled())
    assert {type(state.phase) for state in states} == set(get_args(Phase))
    return states


def _trials() -> Iterator[tuple[State, str, Event]]:
    """States of every phase, with every kind of event, and what is special about it."""
    yield from ((state, "", RunStarted()) for state in _everywhere())
    yield from ((state, "", CancelRequested()) for state in _everywhere())
    yield from _replies()
    yield from _failures()
    yield from _waits()
    yield from _results()
    yield from _decisions()


def _replies() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "a call that may run", _reply("ping")
        yield state, "a call that needs approval", _reply("wipe")
        yield state, "calls, none may run", _reply("pong")
        yield state, "an error that may pass", ReplyReceived(1, 200, '{"error":{"code":503}}')
        yield state, "no calls", ReplyReceived(1, 200, canonical(saying("Done.")))
    yield (
        _asked(ENFORCED),
        "no calls, where tools had to be called",
        ReplyReceived(1, 200, canonical(saying("Done."))),
    )
    yield _asked(ONE_TURN), "calls, none may run, no turn left", _reply("pong")


def _failures() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "it may pass", DOWN
        yield state, "it will not pass", RequestFailed(1, "status", "unauthorized", 401)
        yield state, "no tools there", RequestFailed(1, "status", "tools are not supported", 400)


def _waits() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "", WaitElapsed(2)
        yield state, "no time left", WaitElapsed(2, at_ms=LATE)


def _results() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "last call", ToolReturned(2, "{}")
    yield _called("ping", "ping"), "others still run", ToolReturned(2, "{}")
    yield _called("step", "ping"), "more calls wait", ToolReturned(2, "{}")
    yield _called("step", "wipe"), "the next call needs approval", ToolReturned(2, "{}")
    yield _called("step", plan=ONE_TURN), "last call, no turn left", ToolReturned(2, "{}")
    yield _called("step", "ping", plan=ONE_CALL), "no call left in the budget", ToolReturned(2, "{}")
    yield _second_time("step"), "the same result too often", ToolReturned(4, "{}")


def _decisions() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "yes", ApprovalGiven(2, True)
        yield state, "no, last call", ApprovalGiven(2, False)
    yield _called("wipe", "ping"), "no, more calls wait", ApprovalGiven(2, False)
    yield _called("wipe", "wipe"), "no, the next call needs approval", ApprovalGiven(2, False)
    yield _called("wipe", plan=ONE_TURN), "no, last call, no turn left", ApprovalGiven(2, False)
    yield _second_time("wipe"), "no, too often", ApprovalGiven(4, False)


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
