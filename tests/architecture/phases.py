"""The phases of a run as a diagram, and the effects with their answers as a table, found by trying.

``tests.architecture.document`` writes both into ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from toolreel.testing import calling, saying
from toolreel_core import ANSWERS, Event, Plan, State, ToolDefinition, start, step
from toolreel_core._conversation import AssistantMessage, Message, UserMessage
from toolreel_core._errors import ProtocolError
from toolreel_core._jsontext import Json, Tree, canonical
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

CHANGES: Tree = {
    "max_wall_ms": 60_000,
    "fallback_without_tools": True,
    "repetition_warn": None,
    "repetition_stop": 2,
    "parallel_tools": True,
}
TOOLS = (
    ToolDefinition("ping", read_only=True),
    ToolDefinition("step"),
    ToolDefinition("wipe", needs_approval=True),
)


def _plan(*messages: Message, tools: Sequence[ToolDefinition] = TOOLS, **changes: Json) -> Plan:
    config = LoopConfig.of({**CHANGES, **changes})
    return Plan.of(model="m", messages=messages or "hi", tools=tools, config=config)


PLAN = _plan()
ONE_TURN = _plan(max_turns=1)
FULL = _plan(
    UserMessage("hi"),
    *(AssistantMessage("x" * 4_000) for _ in range(4)),
    tools=(),
    context_window_tokens=4_000,
    history_policies=["summarize_old_turns"],
)
"""A plan whose first request asks for a summary."""
DONE = ReplyReceived(1, 200, canonical(saying("Done.")))
DOWN = RequestFailed(1, "timeout", "too slow")


def _reply(*names: str, ref: int = 1) -> ReplyReceived:
    return ReplyReceived(ref, 200, canonical(calling(*((name, {}) for name in names))))


def _called(*names: str, plan: Plan = PLAN) -> State:
    return step(start(plan).state, _reply(*names)).state


def _second_time(name: str, answer: Event) -> State:
    """The second of two identical calls, the first of which has been answered."""
    return step(step(_called(name), answer).state, _reply(name, ref=3)).state


ASKED = start(PLAN).state
EVERYWHERE = (
    State.idle(PLAN),
    ASKED,
    step(ASKED, DOWN).state,
    _called("step"),
    _called("wipe"),
    step(ASKED, CancelRequested()).state,
)
"""A state in each phase."""
ANYWHERE: Sequence[tuple[str, Event]] = (
    ("", RunStarted()),
    ("", CancelRequested()),
    ("", UserSpoke("And now?")),
    ("a call that runs", _reply("ping")),
    ("a call that needs approval", _reply("wipe")),
    ("every call is rejected", _reply("pong")),
    ("a retryable error", ReplyReceived(1, 200, '{"error":{"code":503}}')),
    ("no calls", DONE),
    ("retryable", DOWN),
    ("not retryable", RequestFailed(1, "status", "unauthorized", 401)),
    ("tools not supported", RequestFailed(1, "status", "tools are not supported", 400)),
    ("", WaitElapsed(2)),
    ("time budget used up", WaitElapsed(2, at_ms=60_000)),
    ("last call", ToolReturned(2, "{}")),
    ("approved", ApprovalGiven(2, True)),
    ("denied, last call", ApprovalGiven(2, False)),
)
"""What may come in any phase, and what is special about it; most phases refuse most of it."""


def _trials() -> Iterator[tuple[State, str, Event]]:
    assert {type(state.phase) for state in EVERYWHERE} == set(get_args(Phase))
    yield from ((state, special, event) for special, event in ANYWHERE for state in EVERYWHERE)
    spent = step(start(_plan(tools=(), max_conversation_turns=1)).state, DONE).state
    yield spent, "the conversation's budget is used up", UserSpoke("And now?")
    yield step(ASKED, UserSpoke("And now?")).state, "no calls, but the user spoke meanwhile", DONE
    enforced = start(_plan(tool_use_mode="enforced", nudge_no_tool_calls=1)).state
    yield enforced, "no calls, but tools are enforced", DONE
    yield start(ONE_TURN).state, "every call is rejected, last turn", _reply("pong")
    yield start(FULL).state, "a summary", ReplyReceived(1, 200, canonical(saying("They spoke.")))
    result, denied = ToolReturned(2, "{}"), ApprovalGiven(2, False)
    yield _called("ping", "ping"), "others are running", result
    yield _called("step", "ping"), "more calls pending", result
    yield _called("step", "wipe"), "next call needs approval", result
    yield _called("step", plan=ONE_TURN), "last call, last turn", result
    yield _called("step", "ping", plan=_plan(max_tool_calls=1)), "call budget used up", result
    yield _second_time("step", result), "repeated too often", ToolReturned(4, "{}")
    yield _called("wipe", "ping"), "denied, more calls pending", denied
    yield _called("wipe", "wipe"), "denied, next call needs approval", denied
    yield _called("wipe", plan=ONE_TURN), "denied, last call, last turn", denied
    yield _second_time("wipe", denied), "denied, repeated too often", ApprovalGiven(4, False)


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
