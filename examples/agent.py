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


asks, asks_more = calling(("stock", {"part": "shim"})), calling(("price", {"part": "shim"}))
orders, answers = calling(("order", {"part": "shim", "count": 3})), saying("Ordered 3 for 6.00.")
server = ScriptedEndpoint([asks, Lost("connect", "down"), asks_more, orders, answers, saying("No.")])
# For a real model: base_url="https://your.server/v1", api_key_env="YOUR_KEY" instead of endpoint=server.
settings = {"max_tries": 5, "retry_base_ms": 0}
agent = Agent("your-model", tools=[stock, price, order], endpoint=server, config=settings)
run = agent.run("Are there shims? If not, order three.")
print(run)  # it rests, since an order needs approval
run = run.approve().raise_for_outcome()
print(run.text, run.usage, run.cost)
print(agent.run([*run.messages, "Is anything else missing?"]).text)
