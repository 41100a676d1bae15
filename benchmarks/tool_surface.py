"""What it takes to make a surface of 1,000 tools from 20 servers, and to be told that it is too large.

Each tool has a schema of its own, so that nothing is remembered from one to the next. CPU time is that of the
first time in a process, which is what a user waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import TypeVar

from toolreel import ConfigError, LoopConfig, Plan
from toolreel_core import ToolDefinition
from toolreel_core._jsontext import Json
from toolreel_core._tools import ToolSource, ToolSurface, compose, masked

SERVERS, TOOLS = 20, 50
ROOMY = LoopConfig(max_tool_definitions_count=SERVERS * TOOLS, max_tool_definitions_bytes=10_000_000)

_Made = TypeVar("_Made")


def schema(name: str) -> dict[str, Json]:
    """Eight parameters, described in words that no other tool has."""
    texts: dict[str, Json] = {
        f"part_{number}": {"type": "string", "description": f"Part {number} of {name}."}
        for number in range(6)
    }
    further: dict[str, Json] = {
        "limit": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    return {"type": "object", "properties": {**texts, **further}, "required": ["part_0"]}


def source(server: int) -> ToolSource:
    """The tools of one server."""
    names = [f"mcp_server{server:02}_tool_{number}" for number in range(TOOLS)]
    return ToolSource(
        f"server{server:02}", tuple(ToolDefinition.of(name, f"Do {name}.", schema(name)) for name in names)
    )


def timed(what: str, make: Callable[[], _Made]) -> _Made:
    """Make something, and print how long that took."""
    began = process_time()
    made = make()
    print(f"{what:<44}{(process_time() - began) * 1000:8.0f} ms")
    return made


def refused(surface: ToolSurface) -> str:
    """What a run with the default limits says of it."""
    try:
        Plan.of(model="m", messages="hi", tools=surface)
    except ConfigError as error:
        return str(error)
    raise AssertionError("the surface is not too large, so there is nothing to measure")


def main() -> None:
    """Print a line a step."""
    sources = timed("definitions, each schema checked", lambda: [*map(source, range(SERVERS))])
    surface = timed("one surface of all", lambda: compose(*sources))
    told = timed("being told that it is too large", lambda: refused(surface))
    timed("masking all but one server", lambda: masked(surface, allow=["mcp_server00_*"]))
    timed("a plan with all of them", lambda: Plan.of(model="m", messages="hi", tools=surface, config=ROOMY))
    print(f"\n{len(surface.names)} tools, {surface.size} bytes\n{told}")


if __name__ == "__main__":
    main()
