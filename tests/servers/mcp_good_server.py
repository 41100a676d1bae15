"""An MCP server on the SDK's own server side, for tests: `python mcp_good_server.py [--words FILE] [--http]`.

It lists its tools two at a page. One of them is described by the words in a file, so that it can become
another one behind its client's back.
"""

from __future__ import annotations

import argparse
import base64
import os
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp.types as t
from mcp import McpError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import AnyUrl

PAGE = 2
PIXEL = base64.b64encode(b"\x89PNG-not-really").decode()

server: Server[Any, Any] = Server("good")
options = argparse.ArgumentParser()
options.add_argument("--words", type=Path)
options.add_argument("--log", type=Path)
options.add_argument("--http", action="store_true")
given = options.parse_args([])


def tools() -> list[t.Tool]:
    nothing = {"type": "object", "properties": {}}
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    words = given.words.read_text() if given.words else "As it ever was."
    reads, destroys = t.ToolAnnotations(readOnlyHint=True), t.ToolAnnotations(destructiveHint=True)
    return [
        t.Tool(name="echo", description="Say it again.", inputSchema=text, annotations=reads),
        t.Tool(name="fickle", description=words, inputSchema=nothing),
        t.Tool(name="notice", description="Say that tools changed.", inputSchema=nothing),
        t.Tool(name="sum", inputSchema=nothing, title="Add up.", annotations=destroys),
        t.Tool(name="show.all", inputSchema=nothing),
        t.Tool(name="count", inputSchema=nothing),
        t.Tool(name="hang", inputSchema=nothing),
        t.Tool(name="fail", inputSchema=nothing),
        t.Tool(name="refuse", inputSchema=nothing),
        t.Tool(name="die", inputSchema=nothing),
        t.Tool(name="pid", inputSchema=nothing),
        t.Tool(name="large", inputSchema={"type": "object", "properties": {"size": {"type": "integer"}}}),
        t.Tool(name="elsewhere", inputSchema={"properties": {"a": {"$ref": "https://example.com/a.json"}}}),
    ]


async def list_tools(request: t.ListToolsRequest) -> t.ServerResult:
    at = int(request.params.cursor or 0) if request.params else 0
    there = tools()
    following = str(at + PAGE) if at + PAGE < len(there) else None
    return t.ServerResult(t.ListToolsResult(tools=there[at : at + PAGE], nextCursor=following))


async def call_tool(request: t.CallToolRequest) -> t.ServerResult:
    return t.ServerResult(await answer(request.params.name, request.params.arguments or {}))


async def answer(name: str, arguments: dict[str, Any]) -> t.CallToolResult:
    match name:
        case "echo":
            return said(arguments["text"])
        case "notice":
            await server.request_context.session.send_tool_list_changed()
            return said("told")
        case "sum":
            return t.CallToolResult(
                content=[t.TextContent(type="text", text='{"sum":3}')], structuredContent={"sum": 3}
            )
        case "show.all":
            return t.CallToolResult(content=everything())
        case "count":
            await count()
            return said("counted")
        case "hang":
            await hang()
        case "fail":
            return t.CallToolResult(content=[t.TextContent(type="text", text="No disk left.")], isError=True)
        case "refuse":
            raise McpError(t.ErrorData(code=t.INVALID_PARAMS, message="Not like this."))
        case "die":
            print("I cannot go on", file=sys.stderr, flush=True)
            os._exit(7)
        case "pid":
            return said(str(os.getpid()))
        case "large":
            return said("x" * int(arguments["size"]))
        case _:
            pass
    return said(f"{name} ran")


def said(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(type="text", text=text)])


def everything() -> list[t.ContentBlock]:
    uri = AnyUrl("file:///notes.txt")
    return [
        t.TextContent(type="text", text="Look:"),
        t.ImageContent(type="image", data=PIXEL, mimeType="image/png"),
        t.AudioContent(type="audio", data=PIXEL, mimeType="audio/wav"),
        t.ResourceLink(type="resource_link", uri=uri, name="notes", size=12),
        t.EmbeddedResource(type="resource", resource=t.TextResourceContents(uri=uri, text="a note")),
        t.EmbeddedResource(type="resource", resource=t.BlobResourceContents(uri=uri, blob=PIXEL)),
    ]


async def count() -> None:
    context = server.request_context
    token = context.meta.progressToken if context.meta else None
    for number in (1, 2):
        if token is not None:
            await context.session.send_progress_notification(token, number, 2, f"step {number}")


async def hang() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        if given.log:
            given.log.write_text("the call was taken back")


async def over_stdio() -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def over_http() -> None:
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Mount

    manager = StreamableHTTPSessionManager(server)
    app = Starlette(routes=[Mount("/mcp", manager.handle_request)], lifespan=lambda _: manager.run())
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listening])


server.request_handlers[t.ListToolsRequest] = list_tools
server.request_handlers[t.CallToolRequest] = call_tool

if __name__ == "__main__":
    given = options.parse_args()
    if given.http:
        over_http()
    else:
        anyio.run(over_stdio)
