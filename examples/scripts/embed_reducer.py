# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "toolreel",
# ]
# ///
"""The reducer inside a runtime of your own: here a queue of jobs that survives a restart after every step.

``start`` and ``step`` only compute. What they return is data, so the state can be stored between any
two steps, and the next process that takes the job continues from there.
"""

from __future__ import annotations

from typing import assert_never

from toolreel import Completed, Plan
from toolreel_core import (
    ApprovalGiven,
    AskApproval,
    Event,
    Finish,
    Json,
    Outcome,
    ReplyReceived,
    RunTool,
    SendRequest,
    ToolDefinition,
    ToolReturned,
    Wait,
    WaitElapsed,
    dump,
    load_effect,
    load_state,
    start,
    step,
)

STOCK = {"pin": 4, "shim": 0}

REPLIES = [
    '{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":'
    '[{"id":"c1","type":"function","function":{"name":"stock","arguments":"{\\"part\\":\\"pin\\"}"}}]}}]}',
    '{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"There are 4 pins."}}]}',
]


def perform(effect: SendRequest | RunTool | AskApproval | Wait, replies: list[str]) -> Event:
    """Do what an effect asks for; a real worker would call a model and a warehouse, and sleep."""
    match effect:
        case SendRequest():
            return ReplyReceived(effect.ref, 200, replies.pop(0))
        case RunTool():
            return ToolReturned(effect.ref, str(STOCK["pin"]))
        case AskApproval():
            return ApprovalGiven(effect.ref, approved=False, reason="this warehouse is closed")
        case Wait():
            return WaitElapsed(effect.ref)
        case _:
            assert_never(effect)


def work(plan: Plan) -> Outcome:
    """Run a job step by step, each step by a worker that knows only what was stored."""
    replies = list(REPLIES)
    at = start(plan)
    while True:
        state, effect = dump(at.state), dump(at.effects[0])  # to the database
        wanted = load_effect(effect)  # and back, perhaps on another machine
        match wanted:
            case Finish():
                return wanted.outcome
            case SendRequest() | RunTool() | AskApproval() | Wait():
                at = step(load_state(state), perform(wanted, replies))
                print(f"{type(wanted).__name__:12} {len(state):5} bytes of state")
            case _:
                assert_never(wanted)


def main() -> None:
    """Run one job."""
    part: dict[str, Json] = {
        "type": "object",
        "properties": {"part": {"type": "string"}},
        "required": ["part"],
    }
    tool = ToolDefinition.of("stock", "How many of a part are in stock.", part)
    outcome = work(Plan.of(model="any", messages="How many pins are there?", tools=[tool]))
    print(outcome)
    assert outcome == Completed("There are 4 pins.")


if __name__ == "__main__":
    main()
