"""A whole run with nothing but the core's own dependencies: a scripted model and a real Python tool.

The model first passes a text where a number belongs. The loop tells it so, and the second try works.
"""

from __future__ import annotations

from toolreel import Completed, MemoryJournal, Plan, Ports, PythonTools, run
from toolreel.testing import ScriptedEndpoint, calling, saying


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


def main() -> None:
    """Run the script and show what the model was told."""
    tools = PythonTools([add])
    plan = Plan.of(model="scripted", messages="What is 2 + 40?", tools=tools.surface)
    endpoint = ScriptedEndpoint(
        [
            calling(("add", {"a": "two", "b": 40})),
            calling(("add", {"a": 2, "b": 40})),
            saying("It is 42."),
        ]
    )
    journal = MemoryJournal(plan)
    ended = run(plan, Ports(endpoint, tools), journal=journal)

    endpoint.finish()
    for message in ended.state.messages.texts:
        print(message)
    print(f"{ended.outcome.name}, {len(journal.lines) - 1} events")
    assert ended.outcome == Completed("It is 42.")


if __name__ == "__main__":
    main()
