"""The life of one MCP server: start it, watch it, call its tools, restart it after it exits.

Each connection is opened and closed by one task, because its cancel scopes belong to that task; calls come
from any task. The tools are frozen at the first start. When they are listed again, after a restart or because
the server announces a change, definitions are compared, and calls of a changed tool are rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, TypeAlias, cast

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp import Client, MCPError, types
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolreel._driver import fault_event
from toolreel._internal import AdapterError, McpServerError, log
from toolreel.tools import timeout_event
from toolreel.tools.mcp._config_file import McpServer
from toolreel.tools.mcp._definitions import McpTool, ServerTools, server_tools
from toolreel.tools.mcp._results import Failure, error_event, mcp_failure_event, result_event
from toolreel.tools.mcp._transports import (
    RAW,
    SESSION_FORGOTTEN,
    TOO_LARGE,
    UNREADABLE,
    McpConnection,
    ServerUnreachable,
    open_transport,
)
from toolreel_core._jsontext import parse
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core._tools import tool_changed, tool_not_implemented


@dataclass(frozen=True, slots=True)
class McpNews:
    """An event of a server during a run: a restart, an unexpected end, changed tools, or progress."""

    kind: Literal["restarted", "ended", "changed", "progress"]
    server: str
    text: str


McpListener: TypeAlias = Callable[[McpNews], None]
"""A callback for events of servers; called from the event loop, so it must not block."""


# Against a server whose list never ends: a run takes 128 tools by default (``max_tool_definitions_count``).
_MAX_PAGES = 1_000
_MAX_TOOLS = 10_000
_REASON_TIMEOUT = 2.0
"""Seconds to wait for the reason, when a call notices the end of a connection first."""
_RESUBSCRIBE_DELAY = 1.0
"""Seconds until a lost stream of announcements is reopened."""


# Errors that the SDK itself raises have standard codes; only their texts distinguish them from errors that
# the server sent.
_CLOSED = "Connection closed"
_EVENT_TOO_LARGE = "SSE stream failed: Server-sent event exceeded"
_UNPARSED = "Failed to parse"


class _NoResponse(AdapterError):
    def __init__(self, failure: Failure, why: str) -> None:
        super().__init__(why)
        self.failure: Failure = failure


class Server:
    def __init__(self, config: McpServer, group: TaskGroup, notify: Callable[[list[McpNews]], None]) -> None:
        self.config = config
        self._shown = f"the MCP server {config.name!r}"
        self.offer = ServerTools({})
        """Its tools at the first start."""
        self._group = group
        self._notify = notify
        self._link: McpConnection | None = None
        self._starting = anyio.Lock()
        self._starts = 0
        """Those after a session that the server forgot are not counted: that is not a failure."""
        self._current: ServerTools | None = None
        """Its tools now."""

    async def open(self) -> None:
        try:
            await self._connect()
        except ServerUnreachable as error:
            raise McpServerError(f"MCP server {self.config.name!r}: {error}") from None

    def close(self) -> None:
        if self._link and not self._link.over.is_set():
            self._link.requested = True
            self._link.over.set()

    async def run(self, effect: RunTool, tool: McpTool, deadline: float | None) -> ToolReturned:
        """Run one of its tools; all that waits for the server is within the deadline.

        :param deadline: seconds for all that waits for the server: its start, its list of tools, and the call
        """
        sent: list[McpConnection] = []
        with anyio.move_on_after(math.inf if deadline is None else deadline):
            for is_last in (False, True):
                sent.clear()
                try:
                    return await self._run_tool(effect, tool, sent)
                except _NoResponse as error:
                    # The server rejects a session that it has forgotten before it runs the call.
                    if is_last or error.failure != "forgotten":
                        return mcp_failure_event(effect, error.failure, str(error))
        if sent:
            how = f"did not return within {deadline or 0:g} s; it may still have effects"
        else:
            how = f"was not called: its server was not ready for it within {deadline or 0:g} s"
        return timeout_event(effect, how, safe_to_repeat=not sent)

    async def _run_tool(self, effect: RunTool, tool: McpTool, sent: list[McpConnection]) -> ToolReturned:
        """Run a tool on the current connection, or a new one.

        :param sent: takes the connection when the call is sent on it, so that it may have effects
        """
        try:
            link = await self._connect()
        except ServerUnreachable as error:
            raise _NoResponse("unavailable", f"{self._shown} is not there: {error}") from None
        link.calls += 1
        try:
            return await self._call_tool(effect, tool, link, sent)
        except _NoResponse as error:
            link.forgotten = link.forgotten or error.failure == "forgotten"
            raise
        finally:
            link.calls -= 1
            # Not before: other calls on this connection may still get their answers.
            if link.forgotten and not link.calls:
                link.end_because("it has forgotten the session")

    async def _call_tool(
        self, effect: RunTool, tool: McpTool, link: McpConnection, sent: list[McpConnection]
    ) -> ToolReturned:
        try:
            await self._refresh_tools(link)
        except (_NoResponse, MCPError) as error:
            if isinstance(error, _NoResponse) and error.failure == "forgotten":
                raise
            why = f"{self._shown} does not say what it offers: {error}"
            raise _NoResponse("unavailable", why) from None
        now = self._current.tools.get(tool.definition.name) if self._current else None
        if now != tool:
            return fault_event(effect, tool_not_implemented if now is None else tool_changed)

        async def report(progress: float, total: float | None, message: str | None) -> None:
            of = "" if total is None else f" of {total:g}"
            self._report("progress", f"{effect.name}: {progress:g}{of} {message or ''}".rstrip())

        # Servers that avoid duplicates look at the key.
        meta = cast("types.RequestParamsMeta", {"toolreel/idempotency-key": effect.key})
        arguments = cast("dict[str, Any]", parse(effect.arguments))
        params = types.CallToolRequestParams(name=tool.name, arguments=arguments, _meta=meta)
        sent.append(link)
        try:
            return result_event(
                effect, await self._send_request(link, types.CallToolRequest(params=params), report)
            )
        except MCPError as error:
            return error_event(effect, error.error)

    async def _send_request(
        self, link: McpConnection, request: types.ClientRequest, report: ProgressFnT | None = None
    ) -> dict[str, Any]:
        # Not session.call_tool, which fails if the result does not match the tool's output schema.
        try:
            result = await link.session.send_request(request, types.Result, progress_callback=report)
        except ValidationError:
            raise _NoResponse("unusable", "its answer is not what was asked for") from None
        except MCPError as error:
            code, text = error.code, error.message
            if code == SESSION_FORGOTTEN:
                raise _NoResponse("forgotten", f"{self._shown} has forgotten the session") from None
            if code == TOO_LARGE or text.startswith(_EVENT_TOO_LARGE):
                limit = self.config.settings.max_message_bytes
                raise _NoResponse("too_large", f"more than {limit} bytes, which is the limit") from None
            if code == UNREADABLE:
                raise _NoResponse("unusable", text) from None
            if code == types.PARSE_ERROR and text.startswith(_UNPARSED):
                first_line, _, _ = text.partition("\n")
                raise _NoResponse("unusable", f"its answer cannot be read: {first_line}") from None
            if code == types.CONNECTION_CLOSED:
                why = await _reason_of_end(link, text.replace(_CLOSED, ""))
                raise _NoResponse("lost", f"{self._shown} went away: {why}") from None
            raise
        return cast("dict[str, Any]", result.meta and result.meta[RAW])

    async def _connect(self) -> McpConnection:
        async with self._starting:
            link = self._link
            if link and not link.forgotten and not link.over.is_set():
                return link
            if link is None or not link.forgotten:
                limit = self.config.settings.max_restarts
                if self._starts > limit:
                    raise ServerUnreachable(f"it has ended too often; it is restarted at most {limit} times")
                self._starts += 1
            started: McpConnection = await self._group.start(self._hold_connection)
            self._link = started
            return started

    async def _hold_connection(self, *, task_status: TaskStatus[McpConnection]) -> None:
        """Open a connection, and close it at its end, in one task."""
        link, settings = McpConnection(), self.config.settings
        started = requested = False
        try:
            # No cache: we list tools only when the last list is stale, and then need the current one.
            client = Client(
                open_transport(self.config, link),
                message_handler=link.on_message,
                client_info=types.Implementation(name="toolreel", version=version("toolreel")),
                cache=None,
            )
            with anyio.move_on_after(settings.start_ms / 1000) as scope:
                async with client, anyio.create_task_group() as watching:
                    link.session = client.session
                    await self._refresh_tools(link)
                    # The limit was for the start.
                    scope.deadline = math.inf
                    started = True
                    if self._link:
                        self._report("restarted", f"MCP server {self.config.name} was restarted")
                    watching.start_soon(_subscribe_to_changes, client, link)
                    task_status.started(link)
                    await link.over.wait()
                    requested = link.requested
                    watching.cancel_scope.cancel()
            if scope.cancelled_caught:
                link.end_because(f"it did not say what it offers within {settings.start_ms} ms")
        except Exception as error:  # noqa: BLE001 - any failure of a server must not end the run
            cause = _root_cause(error)
            first = str(cause).partition("\n")[0]
            ours = isinstance(cause, AdapterError | MCPError) and first
            link.end_because(first if ours else f"{type(cause).__name__}: {first}")
        if not started:
            raise ServerUnreachable(str(link))
        if not requested:
            self._report("ended", f"MCP server {self.config.name} exited: {link}")

    async def _refresh_tools(self, link: McpConnection) -> None:
        """List the tools, if they may have changed."""
        async with link.listing:
            if not link.stale:
                return
            link.stale = False  # before the request, so that a change announced in the meantime is not missed
            listed: list[dict[str, Any]] | None = None
            try:
                with anyio.move_on_after(self.config.settings.start_ms / 1000):
                    listed = await self._list_tools(link)
            # A list that failed, or was cancelled, is asked for again before the next call.
            finally:
                link.stale = link.stale or listed is None
            if listed is None:
                raise _NoResponse("unusable", f"no answer within {self.config.settings.start_ms} ms")
            self._store_tools(listed)

    async def _list_tools(self, link: McpConnection) -> list[dict[str, Any]]:
        """All tools, from all pages; none if it does not support tools."""
        tools: list[dict[str, Any]] = []
        cursor: str | None = None
        seen: set[str] = set()
        while len(seen) < _MAX_PAGES and len(tools) <= _MAX_TOOLS:
            params = types.PaginatedRequestParams(cursor=cursor)
            try:
                page = await self._send_request(link, types.ListToolsRequest(params=params))
            except MCPError as error:
                if error.code == types.METHOD_NOT_FOUND:
                    return tools
                raise
            tools += [tool for tool in page["tools"] or () if isinstance(tool, dict)]
            cursor = page.get("nextCursor")
            if not cursor:
                return tools
            if cursor in seen:
                why = f"the server repeats its cursor {cursor!r}"
                log("tools", "warning", "listing_ended", {"why": why})
                return tools
            seen.add(cursor)
        raise _NoResponse("unusable", f"it goes on listing tools after {len(tools)} of them")

    def _store_tools(self, listed: list[dict[str, Any]]) -> None:
        before, now = self._current, server_tools(self.config.name, listed, self.config.settings)
        self._current = now
        if before is None:
            self.offer = now
        frozen = self.offer.tools
        differing = [name for name in {**frozen, **now.tools} if frozen.get(name) != now.tools.get(name)]
        if before not in (None, now) and differing:
            names = ", ".join(differing)
            self._report("changed", f"MCP server {self.config.name} changed its tools; rejected are: {names}")

    def _report(self, kind: Literal["restarted", "ended", "changed", "progress"], text: str) -> None:
        self._notify([McpNews(kind, self.config.name, text)])


async def _subscribe_to_changes(client: Client, link: McpConnection) -> None:
    """Subscribe to changes of the tools, which the protocol requires since version 2026-07-28."""
    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools and tools.list_changed):
        return
    while True:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    link.stale = True
        except SubscriptionLost:
            pass
        except MCPError:
            return  # the server does not support the subscription
        # Changes between two streams are not announced, so the tools may be stale. The pause is for servers
        # that end each stream at once.
        link.stale = True
        await anyio.sleep(_RESUBSCRIBE_DELAY)


async def _reason_of_end(link: McpConnection, why: str) -> str:
    """Why a connection ended; the task that reads from it may learn it a moment after a call fails."""
    if why:
        link.end_because(why)
    link.over.set()
    with anyio.move_on_after(_REASON_TIMEOUT):
        await link.explained.wait()
    return link.why or "it ended the connection"


def _root_cause(error: BaseException) -> BaseException:
    """The root cause in an exception group: failed requests only follow from a broken transport."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [_root_cause(each) for each in error.exceptions]
    return next((each for each in causes if not isinstance(each, MCPError | _NoResponse)), causes[0])
