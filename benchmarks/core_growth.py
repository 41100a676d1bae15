"""What a turn costs in the core alone, and whether that grows with the conversation.

A turn is two steps: a reply with one tool call, and the tool's result. CPU time is the least of many
short, interleaved samples: other processes can only add to it. The count of Python calls is exact on any
machine, and tests/architecture/test_core_growth.py holds it. Measured with a plain schema, whose arguments
are accepted without jsonschema, and with one that says the same by a keyword that is left to jsonschema.

The budget is 150 us on a quiet machine, and flat growth. Single-core speed differs by 2x between machines, so
compare with the same code before a change, interleaved: on a shared 2.5 GHz Xeon with Python 3.11.7, a plain
schema takes 190 us, and the release before 155; there, to leave the five properties to jsonschema takes 80
more. Of the 35 us that came, pyrsistent's maps take 20, and plain constructors for all but eight classes 14.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import process_time
from types import FrameType

from toolreel import LoopConfig, Plan
from toolreel.testing import calling
from toolreel_core import Json, ReplyReceived, State, ToolDefinition, ToolReturned, start, step
from toolreel_core._jsontext import canonical
from toolreel_core._schema import simple_schema_predicate
from toolreel_core.phases import AwaitingReply

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
FURTHER: dict[str, Json] = {**SCHEMA, "uniqueItems": False}
"""A schema that says the same with a keyword that is left to jsonschema."""
REPLY = canonical(calling(("stock", {"part": "pin", "limit": 3, "tags": ["a", "b"]})))
RESULT = canonical({"part": "pin", "left": 41, "depot": "north"})


def plan(schema: Mapping[str, Json]) -> Plan:
    """A run whose tool has a schema."""
    return Plan.of(
        model="m",
        messages="How many pins are in stock?",
        tools=[ToolDefinition.of("stock", "Look up a part.", schema, polling=True)],
        config=LoopConfig(max_turns=10_000),
    )


PLAN = plan(SCHEMA)


def reply(ref: int) -> str:
    """The reply to a request; its call has an id of its own, as those of providers have."""
    return REPLY.replace('"id":"call_a"', f'"id":"call_{ref}"')


def turn(state: State, ref: int, body: str) -> State:
    """One turn: a reply that calls a tool, and the tool's result."""
    called = step(state, ReplyReceived(ref, 200, body)).state
    return step(called, ToolReturned(ref + 1, RESULT)).state


def after(turns: int, planned: Plan = PLAN) -> tuple[State, int]:
    """A conversation of that many turns, and the ref of its next effect."""
    state, ref = start(planned).state, 1
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


def measured(planned: Plan) -> None:
    """Measure, and print a table."""
    begun = {length: after(length, planned) for length in LENGTHS}
    rounds = [{length: cpu(*begun[length]) for length in LENGTHS} for _ in range(ROUNDS)]
    least = {length: min(each[length] for each in rounds) for length in LENGTHS}
    print(f"{'turns before':>12} {'us of CPU a turn':>17} {'against 10':>11} {'calls a turn':>13}")
    for length in LENGTHS:
        cost, ratio = least[length], least[length] / least[LENGTHS[0]]
        print(f"{length:>12,} {cost:>17.0f} {ratio:>10.2f}x {calls(*begun[length]):>13,}")


def main() -> None:
    """Measure with a plain schema, and with one that is left to jsonschema."""
    print("as it is: a plain schema, and arguments that fit it, need no jsonschema")
    measured(PLAN)
    if simple_schema_predicate(canonical(FURTHER)) is not None:
        raise TypeError("the other schema is plain as well, so jsonschema would not be measured")
    print("a schema that is not plain: arguments checked by jsonschema")
    measured(plan(FURTHER))


if __name__ == "__main__":
    main()
