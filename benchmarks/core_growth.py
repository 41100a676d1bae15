"""What a turn costs in the core alone, and whether that grows with the conversation.

A turn is two steps: a reply with one tool call, and the tool's result. CPU time is the least of many
short, interleaved samples: other processes can only add to it. The count of Python calls is exact on any
machine, and tests/architecture/test_core_growth.py holds it. Measured with arguments checked by jsonschema,
and then by the validator of the extra ``fast``, if it is there.

The budgets are 75 us, and 45 us with the fast validator; on two shared cores neither is met. Of 110 us,
jsonschema takes 25 for this schema of five properties. Without it, 6,200 bytecode instructions are left:
reading the reply takes 10 us, writing the two messages down 15, remembering the call and its result 5,
asking again 6, reading the result 3, and the checks around jsonschema 4. Across these lie sixteen
SHA-256 at 0.45 us, which names in journals depend on, and forty frozen values at 0.3 us. No single part
of it is larger than a tenth.
"""

from __future__ import annotations

import sys
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
from toolreel_adapters.errors import MissingExtra
from toolreel_adapters.scripted import calling

LENGTHS = (10, 100, 1_000)
ROUNDS = 400
TURNS = 5
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


def reply(ref: int) -> str:
    """The reply to a request; its call has an id of its own, as those of providers have."""
    return REPLY.replace('"id":"call_a"', f'"id":"call_{ref}"')


def turn(state: State, ref: int, body: str) -> State:
    """One turn: a reply that calls a tool, and the tool's result."""
    called = step(state, ReplyReceived(ref, 200, body)).state
    return step(called, ToolReturned(ref + 1, RESULT)).state


def after(turns: int) -> tuple[State, int]:
    """A conversation of that many turns, and the ref of its next effect."""
    state, ref = start(PLAN).state, 1
    for _ in range(turns):
        state, ref = turn(state, ref, reply(ref)), ref + 2
    if not isinstance(state.phase, AwaitingReply):
        raise TypeError(f"the run has ended in {state.phase!r}, so there is nothing to measure")
    return state, ref


def cpu(state: State, ref: int) -> float:
    """Microseconds of CPU for a turn, over a few turns that go on from a state."""
    body = reply(ref)
    before = process_time()
    for _ in range(TURNS):
        turn(state, ref, body)
    return (process_time() - before) / TURNS * 1e6


def calls(state: State, ref: int, turns: int = 1) -> int:
    """Python and C calls of the next turns."""
    bodies, count = [reply(ref + 2 * number) for number in range(turns)], 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(profile)
    try:
        for body in bodies:
            state, ref = turn(state, ref, body), ref + 2
    finally:
        sys.setprofile(None)
    return count


def measured() -> None:
    """Measure, and print a table."""
    begun = {length: after(length) for length in LENGTHS}
    rounds = [{length: cpu(*begun[length]) for length in LENGTHS} for _ in range(ROUNDS)]
    least = {length: min(each[length] for each in rounds) for length in LENGTHS}
    print(f"{'turns before':>12} {'us of CPU a turn':>17} {'against 10':>11} {'calls a turn':>13}")
    for length in LENGTHS:
        cost, ratio = least[length], least[length] / least[LENGTHS[0]]
        print(f"{length:>12,} {cost:>17.0f} {ratio:>10.2f}x {calls(*begun[length]):>13,}")


def main() -> None:
    """Measure with jsonschema, then with the fast validator."""
    print("arguments checked by jsonschema")
    measured()
    try:
        from toolreel_adapters.fast_validation import install  # noqa: PLC0415 - an extra
    except MissingExtra as missing:
        print(missing)
        return
    install()
    print("arguments checked by jsonschema-rs")
    measured()


if __name__ == "__main__":
    main()
