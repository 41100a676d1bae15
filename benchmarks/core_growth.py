"""What a turn costs in the core alone, and whether that grows with the conversation.

A turn is two steps: a reply with one tool call, and the tool's result. CPU time is the median of
interleaved rounds, so that a drift of the machine touches all lengths alike; the count of Python
calls is exact on any machine.
"""

from __future__ import annotations

import sys
from statistics import median
from time import process_time
from types import FrameType

from toolreel import (
    AwaitingReply,
    LoopConfig,
    Plan,
    ReplyReceived,
    State,
    ToolDefinition,
    ToolReturned,
    start,
    step,
)
from toolreel.jsontext import Json, canonical
from toolreel_adapters.scripted import calling

LENGTHS = (10, 100, 1_000)
ROUNDS = 15
TURNS = 20
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "part": {"type": "string"},
        "depot": {"type": "string"},
        "limit": {"type": "integer"},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["part"],
    "additionalProperties": False,
}
PLAN = Plan.of(
    model="m",
    messages="How many pins are in stock?",
    tools=[ToolDefinition.of("stock", "Look up a part.", SCHEMA, polling=True)],
    config=LoopConfig(max_turns=10_000),
)
REPLY = canonical(calling(("stock", {"part": "pin", "limit": 3, "tags": ["a", "b"]})))
RESULT = canonical({"part": "pin", "left": 41, "depot": "north"})


def turn(state: State, ref: int) -> State:
    """One turn: a reply that calls a tool, and the tool's result."""
    called = step(state, ReplyReceived(ref, 200, REPLY)).state
    return step(called, ToolReturned(ref + 1, RESULT)).state


def after(turns: int) -> tuple[State, int]:
    """A conversation of that many turns, and the ref of its next effect."""
    state, ref = start(PLAN).state, 1
    for _ in range(turns):
        state, ref = turn(state, ref), ref + 2
    if not isinstance(state.phase, AwaitingReply):
        raise TypeError(f"the run has ended in {state.phase!r}, so there is nothing to measure")
    return state, ref


def cpu(state: State, ref: int) -> float:
    """Microseconds of CPU for a turn, over a few turns that go on from a state."""
    before = process_time()
    for _ in range(TURNS):
        turn(state, ref)
    return (process_time() - before) / TURNS * 1e6


def calls(state: State, ref: int) -> int:
    """Python and C calls of a turn."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(profile)
    try:
        turn(state, ref)
    finally:
        sys.setprofile(None)
    return count


def main() -> None:
    """Measure, and print a table."""
    begun = {length: after(length) for length in LENGTHS}
    rounds = [{length: cpu(*begun[length]) for length in LENGTHS} for _ in range(ROUNDS)]
    print(f"{'turns before':>12} {'us of CPU a turn':>17} {'against 10':>11} {'calls a turn':>13}")
    for length in LENGTHS:
        cost = median(each[length] for each in rounds)
        ratio = median(each[length] / each[LENGTHS[0]] for each in rounds)
        print(f"{length:>12,} {cost:>17.0f} {ratio:>10.2f}x {calls(*begun[length]):>13,}")


if __name__ == "__main__":
    main()
