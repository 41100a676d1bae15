"""Python functions as tools: types, a run context, limits, errors, deadlines and a process of their own.

The scripted model makes the mistakes that models make: a date that is none, and a call that hangs. It is told
what to do, and nothing of what only concerns us: neither the database nor what went wrong in it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Annotated

from toolreel import (
    Completed,
    CurrentCall,
    Plan,
    Ports,
    PythonTools,
    RunContext,
    ToolError,
    ToolMessage,
    run,
    tool,
)
from toolreel.testing import ScriptedEndpoint, calling, saying


class Size(Enum):
    """How large a room is."""

    SMALL = "small"
    LARGE = "large"


@dataclass
class Room:
    """A room that can be booked."""

    name: str
    size: Size


@dataclass
class Database:
    """What the tools share."""

    rooms: list[Room]
    booked: dict[str, tuple[str, date]] = field(default_factory=dict)


@tool(read_only=True, max_output_bytes=2_000)
def free(database: RunContext[Database], day: date, size: Size | None = None) -> list[Room]:
    """Which rooms are free on a day.

    Args:
        day: The day on which the room is wanted.
        size: Only rooms of this size.
    """
    taken = {room for room, on in database.deps.booked.values() if on == day}
    return [room for room in database.deps.rooms if room.name not in taken and size in {None, room.size}]


@tool(name="rooms.book", idempotent=True)
def book(run: RunContext[Database], room: Annotated[Room, "One that is free."], day: date) -> dict[str, str]:
    """Book a room."""
    if all(known.name != room.name for known in run.deps.rooms):
        raise ToolError(f"There is no room {room.name!r}; call free first.", "NO_SUCH_ROOM")
    run.deps.booked[run.key] = room.name, day  # made again after a crash, the call books nothing more
    return {"booked": room.name}


@tool(deadline_ms=50)
def weather(run: RunContext[Database]) -> None:
    """What the weather will be."""
    while not run.cancelled:
        time.sleep(0.01)


@tool
def bill() -> None:
    """Write the bill."""
    raise ConnectionError("postgres://admin:secret@10.0.0.7/bills refused the connection")


DAY = "2026-11-22"


def main() -> None:
    """Book a room, the way models do it."""
    failures: list[tuple[CurrentCall, Exception]] = []
    database = Database([Room("attic", Size.SMALL), Room("hall", Size.LARGE)])
    tools = PythonTools(
        [free, book, weather, bill],
        deps=database,
        on_error=lambda call, error: failures.append((call, error)),
    )
    endpoint = ScriptedEndpoint(
        [
            calling(("free", {"day": "on Sunday"})),
            calling(("free", {"day": DAY, "size": "large"})),
            calling(("rooms_book", {"room": {"name": "hall", "size": "large"}, "day": DAY})),
            calling(("weather", {}), ("bill", {})),
            saying("The hall is booked."),
        ]
    )
    plan = Plan.of(model="scripted", messages="Book a large room for Sunday.", tools=tools.surface)
    ended = run(plan, Ports(endpoint, tools))

    results = [message for message in ended.state.messages.messages if isinstance(message, ToolMessage)]
    for result in results:
        told = json.loads(result.content)
        print(told["tool_name"], told["data"] if told["ok"] else told["errors"][0]["message"])
    assert ended.outcome == Completed("The hall is booked.")
    assert [*database.booked.values()] == [("hall", date.fromisoformat(DAY))]
    assert "secret" not in results[-1].content
    assert [type(error) for _, error in failures] == [ConnectionError]


if __name__ == "__main__":
    main()
