"""A typed final answer: the run looks things up with a tool and ends with a pydantic model.

The endpoint is scripted, so the example runs anywhere; with ``HttpEndpoint`` nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from toolreel import InvalidOutput, Json, LoopConfig, Plan, Ports, PythonTools, Run, output_of, run
from toolreel.testing import ScriptedEndpoint, calling, saying


class Order(BaseModel):
    """What to order."""

    part: str
    count: int = Field(ge=1)
    urgency: Literal["today", "this week"]


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return {"pin": 4, "shim": 0}[part]


ORDER = output_of(list[Order], name="orders", description="The orders to place.")
TOOLS = PythonTools([stock])


def asked(*replies: Mapping[str, Json], retries: int = 2) -> Run:
    """A run in which the model gives these replies."""
    plan = Plan.of(
        model="your-model",
        messages="Order what is missing.",
        tools=TOOLS.surface,
        config=LoopConfig(output_retries=retries),
        output=ORDER.spec,
    )
    return run(plan, Ports(ScriptedEndpoint(replies), TOOLS))


def main() -> None:
    """One run that is put right, and one that is given up."""
    looked_up = calling(("stock", {"part": "shim"}))
    too_few = calling(("orders", {"value": [{"part": "shim", "count": 0, "urgency": "today"}]}))
    right = calling(("orders", {"value": [{"part": "shim", "count": 50, "urgency": "today"}]}))

    done = asked(looked_up, too_few, right)
    (order,) = ORDER.value(done)
    print(f"{order.count} of {order.part}, {order.urgency}, after {done.state.tally.turns} turns")

    stuck = asked(looked_up, saying("Order some shims!"), retries=0)
    assert isinstance(stuck.outcome, InvalidOutput)
    print(stuck.outcome.error)


if __name__ == "__main__":
    main()
