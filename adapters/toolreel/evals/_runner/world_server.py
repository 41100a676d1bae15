"""An MCP server over stdio whose tools are those of a scenario; its process holds the trial's world.

python -m toolreel.evals._runner.world_server SCENARIO VERSION SEED
"""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp.types as t
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

from toolreel_core._jsontext import JsonText, as_tree, parse
from toolreel_core.evals import Case, scenario_of


async def serve(case: Case) -> None:
    """Serve until stdin is closed: calls are answered as the world of a case does, call after call."""
    world, prefix = case.world, f"mcp_{case.server}_"
    tools = {
        tool.outward.removeprefix(prefix): tool
        for tool in case.tools.definitions
        if tool.outward in case.outside
    }

    async def list_tools(
        _: ServerRequestContext[Any], _params: t.PaginatedRequestParams | None
    ) -> t.ListToolsResult:
        return t.ListToolsResult(
            tools=[
                t.Tool(
                    name=name,
                    description=tool.description,
                    input_schema=dict(as_tree(parse(tool.parameters))),
                )
                for name, tool in tools.items()
            ]
        )

    async def call_tool(_: ServerRequestContext[Any], params: t.CallToolRequestParams) -> t.CallToolResult:
        nonlocal world
        world, output = world.call(tools[params.name].outward, params.arguments or {})
        return t.CallToolResult(content=[t.TextContent(type="text", text=output)])

    server: Server[Any] = Server(case.server, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options(NotificationOptions()))


if __name__ == "__main__":
    _, tree, version, seed = sys.argv
    anyio.run(serve, scenario_of(parse(JsonText(tree)), version=int(version)).begin(seed))
