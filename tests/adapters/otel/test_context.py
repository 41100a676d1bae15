"""The context of a call reaches the server of a tool: MCP servers, and servers over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.trace import format_span_id, format_trace_id

from tests.adapters.otel.telemetry import context_of, instrumented
from tests.patience import HANG
from tests.servers.chat_server import replying, serving
from toolreel import Plan, Ports, PythonTools, run
from toolreel.http import HttpEndpoint
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools.mcp import McpTools, ServerSettings, StdioServer

SERVER = """
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("trace")


@server.tool()
def meta(ctx: Context) -> str:
    return str((ctx.request_context.meta or {}).get("traceparent"))


server.run("stdio")
"""


def test_an_mcp_server_gets_the_context_of_the_call_in_meta(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    settings = ServerSettings(start_ms=int(HANG * 1000))
    server = StdioServer("trace", sys.executable, (str(tmp_path / "server.py"),), settings=settings)
    with McpTools([server]) as tools, instrumented() as heard:
        name = next(each.name for each in tools.surface.definitions)
        plan = Plan.of(model="m", messages="Look!", tools=tools.surface)
        ended = run(plan, Ports(ScriptedEndpoint([calling((name, {})), saying("Done.")]), tools))
    (call,) = [span for span in heard.spans if span.name.startswith("execute_tool")]
    told = next(message for message in ended.messages if getattr(message, "call_id", ""))
    trace, parent = format_trace_id(context_of(call).trace_id), format_span_id(context_of(call).span_id)
    assert f"00-{trace}-{parent}-" in told.content


@pytest.mark.parametrize("httpx_is_traced", [False, True])
def test_a_request_says_its_trace_only_where_httpx_is_traced(*, httpx_is_traced: bool) -> None:
    traced = HTTPXClientInstrumentor()
    with instrumented() as heard, serving(replying(saying("Hi."))) as server:
        if httpx_is_traced:
            traced.instrument(tracer_provider=heard.provider)
        try:
            with HttpEndpoint(server.url) as endpoint:
                run(Plan.of(model="m", messages="Hi!", tools=PythonTools([]).surface), Ports(endpoint))
        finally:
            traced.uninstrument()
    (seen,) = server.seen
    chat = heard.one("chat m")
    if httpx_is_traced:
        (post,) = heard.named("POST")
        assert post.parent is not None
        assert post.parent.span_id == context_of(chat).span_id
        trace, own = format_trace_id(context_of(post).trace_id), format_span_id(context_of(post).span_id)
        assert seen.headers["traceparent"].startswith(f"00-{trace}-{own}-")
    else:
        assert "traceparent" not in seen.headers
