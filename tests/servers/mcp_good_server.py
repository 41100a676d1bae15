"""An MCP server on the SDK's own server side, for tests.

    python mcp_good_server.py [--words FILE] [--http json] [--legacy]

It lists its tools two at a page. One of them is described by the words in a file, so that it can become
another one behind its client's back. It speaks every version of the protocol; with `--legacy` it does as
servers of before 2026-07-28 do, so that its client falls back.
"""

from __future__ import annotations

import argparse
import base64
import os
import socket
import sys
from pathlib import Path
from typing import Any, ClassVar

import anyio
import mcp.types as t
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

PAGE = 2
PLAIN = ("key", "show.all", "count", "hang", "fail", "refuse", "die", "pid", "token")
PIXEL = base64.b64encode(b"\x89PNG-not-really").decode()

Context = ServerRequestContext[Any]

changes = InMemorySubscriptionBus()
options = argparse.ArgumentParser()
options.add_argument("--words", type=Path)
options.add_argument("--log", type=Path)
options.add_argument("--legacy", action="store_true")
options.add_argument("--http", choices=["json", "events"], help="how it answers there")
given = options.parse_args([])


def tools() -> list[t.Tool]:
    nothing = {"type": "object", "properties": {}}
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    elsewhere = {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}
    total = {"type": "object", "required": ["total"]}
    words = given.words.read_text() if given.words else "As it ever was."
    reads, destroys = t.ToolAnnotations(read_only_hint=True), t.ToolAnnotations(destructive_hint=True)
    return [
        t.Tool(name="echo", description="Say it again.", input_schema=text, annotations=reads),
        t.Tool(name="fickle", description=words, input_schema=nothing),
        t.Tool(name="notice", description="Say that tools changed.", input_schema=nothing),
        # What it returns does not fit what it announces, which is for its author to mend and not for a model.
        t.Tool(name="sum", input_schema=nothing, title="Add up.", annotations=destroys, output_schema=total),
        *(t.Tool(name=name, input_schema=nothing) for name in PLAIN),
        t.Tool(name="large", input_schema={"type": "object", "properties": {"size": {"type": "integer"}}}),
        t.Tool(name="elsewhere", input_schema=elsewhere),
    ]


async def list_tools(_: Context, params: t.PaginatedRequestParams | None) -> t.ListToolsResult:
    at = int(params.cursor or 0) if params else 0
    there = tools()
    following = str(at + PAGE) if at + PAGE < len(there) else None
    return t.ListToolsResult(tools=there[at : at + PAGE], next_cursor=following)


async def call_tool(context: Context, params: t.CallToolRequestParams) -> t.CallToolResult:
    if params.name == "key":
        return said(str((params.meta or {}).get("toolreel/idempotency-key")))
    if params.name == "token":
        return said(os.environ["SHOP_TOKEN"])
    return await answer(context, params.name, params.arguments or {})


async def answer(context: Context, name: str, arguments: dict[str, Any]) -> t.CallToolResult:
    match name:
        case "echo":
            return said(arguments["text"])
        case "notice":
            await announce(context)
            return said("told")
        case "sum":
            return t.CallToolResult(
                content=[t.TextContent(type="text", text='{"sum":3}')], structured_content={"sum": 3}
            )
        case "show.all":
            return t.CallToolResult(content=everything())
        case "count":
            await count(context)
            return said("counted")
        case "hang":
            await hang()
        case "fail":
            return t.CallToolResult(content=[t.TextContent(type="text", text="No disk left.")], is_error=True)
        case "refuse":
            raise MCPError(t.INVALID_PARAMS, "Not like this.")
        case "die":
            print("I cannot go on", file=sys.stderr, flush=True)
            os._exit(7)
        case "pid":
            return said(str(os.getpid()))
        case "large":
            await count(context)  # which makes the answer over HTTP a stream of events, if it may be one
            return said("x" * int(arguments["size"]))
        case _:
            pass
    return said(f"{name} ran")


def said(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(type="text", text=text)])


def everything() -> list[t.ContentBlock]:
    uri = "file:///notes.txt"
    return [
        t.TextContent(type="text", text="Look:"),
        t.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        t.AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"),
        t.ResourceLink(type="resource_link", uri=uri, name="notes", size=12),
        t.EmbeddedResource(type="resource", resource=t.TextResourceContents(uri=uri, text="a note")),
        t.EmbeddedResource(type="resource", resource=t.BlobResourceContents(uri=uri, blob=PIXEL)),
        t.EmbeddedResource(type="resource", resource=t.BlobResourceContents(uri=uri, blob="JVBERi0xLjc=")),
    ]


async def announce(context: Context) -> None:
    if given.legacy:
        await context.session.send_tool_list_changed()
    else:
        await changes.publish(ToolsListChanged())


async def count(context: Context) -> None:
    for number in (1, 2):
        await context.session.report_progress(number, 2, f"step {number}")


async def hang() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        if given.log:
            given.log.write_text("the call was taken back")


server: Server[Any] = Server(
    "good",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_subscriptions_listen=ListenHandler(changes),
)


async def no_discovery(*_: object) -> t.DiscoverResult:
    raise MCPError(t.METHOD_NOT_FOUND, "Method not found")


async def over_stdio() -> None:
    begun = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (incoming, outgoing):
        if given.legacy:
            await serve_loop(server, incoming, outgoing, lifespan_state={}, init_options=begun)
        else:
            await server.run(incoming, outgoing, begun)


class Forgetful:
    """Forgets its sessions when `/forget?WAY` is asked for, and rejects their calls in this way.

    After `/forget?always`, it forgets each session at its first call.
    """

    ANSWERS: ClassVar[dict[str, tuple[int, str, str]]] = {
        "page": (404, "text/html", "<html>"),
        "rpc": (
            404,
            "application/json",
            '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"No."}}',
        ),
        "bad_request": (
            400,
            "application/json",
            '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}',
        ),
    }

    def __init__(self, app: Any) -> None:  # noqa: ANN401 - an application of ASGI
        self.app = app
        self.how = ""
        self.known = set[bytes]()
        self.forgotten = set[bytes]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        session = dict(scope.get("headers", ())).get(b"mcp-session-id", b"")
        if scope.get("path") == "/forget":
            self.how = scope["query_string"].decode()
            self.forgotten |= self.known
        else:
            first = [await receive()]
            calls = b'"tools/call"' in first[0].get("body", b"")
            if session not in self.forgotten and not (self.how == "always" and calls):
                self.known |= {session} - {b""}

                async def again() -> object:
                    return first.pop() if first else await receive()

                await self.app(scope, again, send)
                return
        status, kind, answer = self.ANSWERS.get(self.how, (404, "text/plain", ""))
        told = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": answer.encode()})


def over_http() -> None:
    import uvicorn

    app = Forgetful(server.streamable_http_app(json_response=given.http == "json"))
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listening])


if __name__ == "__main__":
    given = options.parse_args()
    if given.legacy:
        server.add_request_handler("server/discover", t.RequestParams, no_discovery)
    if given.http:
        over_http()
    else:
        anyio.run(over_stdio)
