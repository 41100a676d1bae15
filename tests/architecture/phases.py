"""The phases of a run as a diagram, and the effects with their answers as a table, found by trying.

``tests.architecture.document`` writes both into ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

from toolreel.testing import calling, saying
from toolreel_core import ANSWERS, Event, Plan, State, ToolDefinition, start, step
from toolreel_core._conversation import AssistantMessage, UserMessage
from toolreel_core._errors import ProtocolError
from toolreel_core._jsontext import canonical
from toolreel_core._protocol import (
    ApprovalGiven,
    CancelRequested,
    Phase,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    ToolReturned,
    UserSpoke,
    WaitElapsed,
)
from toolreel_core._settings import LoopConfig

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

SHORT: Final = Plan.of(
    model="m", messages="hi", config=LoopConfig.of({**CHANGES, "max_conversation_turns": 1})
)
ENFORCED: Final = Plan.of(
    model="m",
    messages="hi",
    tools=PLAN.tools,
    config=LoopConfig(tool_use_mode="enforced", nudge_no_tool_calls=1),
)

FULL: Final = Plan.of(
    model="m",
    messages=[UserMessage("hi"), *(AssistantMessage("x" * 4_000) for _ in range(4))],
    config=LoopConfig(context_window_tokens=4_000, history_policies=("summarize_old_turns",)),
)
"""A plan whose first request asks for a summary."""

DOWN: Final = RequestFailed(1, "timeout", "too slow")
LATE: Final = 60_000


def _reply(*names: str) -> ReplyReceived:
    return ReplyReceived(1, 200, canonical(calling(*((name, {}) for name in names))))


def _asked(plan: Plan = PLAN) -> State:
    return start(plan).state


def _called(*names: str, plan: Plan = PLAN) -> State:
    return step(_asked(plan), _reply(*names)).state


def _second_time(name: str) -> State:
    """The second of two identical calls, the first of which has returned."""
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
    yield from _messages()
    yield from _replies()
    yield from _failures()
    yield from _waits()
    yield from _results()
    yield from _decisions()


def _messages() -> Iterator[tuple[State, str, Event]]:
    yield from ((state, "", UserSpoke("And now?")) for state in _everywhere())
    answered = step(_asked(SHORT), ReplyReceived(1, 200, canonical(saying("Done.")))).state
    yield answered, "the conversation's budget is used up", UserSpoke("And now?")
    spoken = step(_asked(), UserSpoke("And now?")).state
    yield spoken, "no calls, but the user spoke meanwhile", ReplyReceived(1, 200, canonical(saying("Done.")))


def _replies() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "a call that runs", _reply("ping")
        yield state, "a call that needs approval", _reply("wipe")
        yield state, "every call is rejected", _reply("pong")
        yield state, "a retryable error", ReplyReceived(1, 200, '{"error":{"code":503}}')
        yield state, "no calls", ReplyReceived(1, 200, canonical(saying("Done.")))
    yield (
        _asked(ENFORCED),
        "no calls, but tools are enforced",
        ReplyReceived(1, 200, canonical(saying("Done."))),
    )
    yield _asked(ONE_TURN), "every call is rejected, last turn", _reply("pong")
    yield _asked(FULL), "a summary", ReplyReceived(1, 200, canonical(saying("They spoke.")))


def _failures() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "retryable", DOWN
        yield state, "not retryable", RequestFailed(1, "status", "unauthorized", 401)
        yield state, "tools not supported", RequestFailed(1, "status", "tools are not supported", 400)


def _waits() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "", WaitElapsed(2)
        yield state, "time budget used up", WaitElapsed(2, at_ms=LATE)


def _results() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "last call", ToolReturned(2, "{}")
    yield _called("ping", "ping"), "others are running", ToolReturned(2, "{}")
    yield _called("step", "ping"), "more calls pending", ToolReturned(2, "{}")
    yield _called("step", "wipe"), "next call needs approval", ToolReturned(2, "{}")
    yield _called("step", plan=ONE_TURN), "last call, last turn", ToolReturned(2, "{}")
    yield _called("step", "ping", plan=ONE_CALL), "call budget used up", ToolReturned(2, "{}")
    yield _second_time("step"), "repeated too often", ToolReturned(4, "{}")


def _decisions() -> Iterator[tuple[State, str, Event]]:
    for state in _everywhere():
        yield state, "approved", ApprovalGiven(2, True)
        yield state, "denied, last call", ApprovalGiven(2, False)
    yield _called("wipe", "ping"), "denied, more calls pending", ApprovalGiven(2, False)
    yield _called("wipe", "wipe"), "denied, next call needs approval", ApprovalGiven(2, False)
    yield _called("wipe", plan=ONE_TURN), "denied, last call, last turn", ApprovalGiven(2, False)
    yield _second_time("wipe"), "denied, repeated too often", ApprovalGiven(4, False)


def diagram() -> str:
    """The phases as a Mermaid state diagram: an arrow for each event that changes a state."""
    arrows: dict[tuple[str, str, str], list[str]] = {}
    for state, special, event in _trials():
        try:
            after = step(state, event).state
        except ProtocolError:
            continue
        if state is after:
            continue
        cases = arrows.setdefault((_phase(state), _phase(after), type(event).__name__), [])
        if special not in cases:
            cases.append(special)
    lines = ["stateDiagram-v2", "    [*] --> Idle"]
    for (before, after_, event_), cases in arrows.items():
        label = ": ".join([event_, " / ".join(filter(None, cases))] if any(cases) else [event_])
        lines.append(f"    {before} --> {after_}: {label}")
    return "\n".join(lines)


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
