"""An agent with three tools, one of which needs approval: retries, a decision, and a second question."""

from toolreel import Agent, tool
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return {"pin": 4, "shim": 0}[part]


def price(part: str) -> float:
    """What a part costs."""
    return {"pin": 0.5, "shim": 2.0}[part]


@tool(needs_approval=True)
def order(part: str, count: int) -> str:
    """Order parts."""
    return f"{count} {part} ordered"


# Stands in for a server; with a real one, write base_url="https://your.server/v1" instead of endpoint=.
script = [calling(("stock", {"part": "shim"})), Lost("connect", "down"), calling(("price", {"part": "shim"})),
          calling(("order", {"part": "shim", "count": 3})), saying("Ordered 3 for 6.00."), saying("No.")]  # fmt: skip
agent = Agent("your-model", tools=[stock, price, order], endpoint=ScriptedEndpoint(script),
              instructions="Answer briefly.", config={"retry_base_ms": 0})  # fmt: skip
run = agent.run("Are there shims? If not, order three.")  # rests, since an order needs approval
print(run)
run = run.approve().raise_for_outcome()
print(run.text, run.usage, run.cost)
print(agent.run([*run.messages, "Is anything else missing?"]).text)
