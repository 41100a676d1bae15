"""Three tools, one with approval; a streamed answer, retries, a second question, and a typed output."""

from typing import NamedTuple

from toolreel import Agent, PartialOutput, RunEnded, tool


class Report(NamedTuple):
    """What is missing."""

    part: str
    missing: int


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


# On the server of TOOLREEL_BASE_URL; or write base_url="https://your.server/v1", api_key_env="YOUR_KEY".
agent = Agent(
    "your-model", tools=[stock, price, order], approve=lambda _, given: given["count"] < 10, output=Report
)
for event in agent.stream("Are there shims? If not, order three."):
    if isinstance(event, PartialOutput):
        print(event.value)  # as far as it is written
    elif isinstance(event, RunEnded):
        print(event.run.output, event.run.reply("And pins?").output.missing, event.run.usage)
