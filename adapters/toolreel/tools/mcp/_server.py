"""One MCP server for as long as a host uses it: start, watch, call, and restart once it has ended.

One task enters and leaves each connection, since its cancel scopes belong to that task; calls come from any
task. The tools are frozen at the first start. Whenever they are listed again, after a restart or because the
server announces a change, each definition is compared, and a tool whose definition changed is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final, assert_never, cast

from toolreel._errors import AdapterError, McpServerError, MissingExtra
from toolreel.tools._python.host import timed_out
from toolreel.tools.mcp._config_file import HttpServer, McpServer, StdioServer
from toolreel.tools.mcp._definitions import McpTool, ServerTools, server_tools
from toolreel.tools.mcp._events import (
    CallProgressed,
    DefinitionsChanged,
    McpNews,
    ServerEnded,
    ServerStarted,
)
from toolreel.tools.mcp._http import http_transport
from toolreel.tools.mcp._results import (
    error_event,
    invalid_result_event,
    result_event,
    too_large_event,
    unavailable_event,
)
from toolreel.tools.mcp._session import (
    ConnectionLost,
    ResponseTooLarge,
    UnusableResponse,
    call_tool,
    list_tools,
)
from toolreel.tools.mcp._stdio import stdio_transport
from toolreel.tools.mcp._streams import ConnectionEnd, ServerUnreachable
from toolreel_core._jsontext.canonical import parse
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.faults import tool_changed, tool_not_implemented
from toolreel_core._tools.result import failed

try:
    import anyio
    from anyio.abc import TaskGroup, TaskStatus
    from mcp import Client, ClientSession, MCPError
    from mcp.client import IncomingMessage, Transport
    from mcp.client.subscriptions import SubscriptionLost
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.types import Implementation, Tool, ToolListChangedNotification
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["Server"]

_REASON_TIMEOUT: Final = 2.0
"""Seconds to wait for the reason of an end that a call noticed first."""
_RESUBSCRIBE_DELAY: Final = 1.0
"""Seconds until a lost stream of announcements is opened again."""


@dataclass(slots=True)
class _Connection:
    """One connection."""

    session: ClientSession = field(init=False)
    ending: ConnectionEnd = field(default_factory=ConnectionEnd)
    stale: bool = True
    """The tools were not listed since the connection began, or since the server announced a change."""
    listing: anyio.Lock = field(default_factory=anyio.Lock)

    async def hear(self, message: IncomingMessage) -> None:
        """Versions of the protocol before 2026-07-28 announce changes without being asked."""
        if isinstance(message, ToolListChangedNotification):
            self.stale = True


class Server:
    """A server, its tools, and the connection that there is to it at the moment.

    :param tell: is told of everything that happens around it
    """

    def __init__(self, config: McpServer, group: TaskGroup, tell: Callable[[McpNews], None]) -> None:
        self.config = config
        self.offer = ServerTools({})
        """What it offered when it first started."""
        self._group = group
        self._tell = tell
        self._link: _Connection | None = None
        self._starting = anyio.Lock()
        self._starts = 0
        self._now: ServerTools | None = None
        """What it offers now."""

    async def open(self) -> None:
        """Start it, and keep what it offers.

        :raises McpServerError: if it cannot be started or does not say what it offers
        """
        try:
            await self._linked()
        except ServerUnreachable as error:
            raise McpServerError(f"MCP server {self.config.name!r}: {error}") from None

    def close(self) -> None:
        """Ask the connection to end; it takes a moment."""
        if self._link and not self._link.ending.over.is_set():
            self._link.ending.wanted = True
            self._link.ending.over.set()

    async def run(self, effect: RunTool, tool: McpTool, deadline: float | None) -> ToolReturned:
        """Run one of its tools; every failure is put into words for the model."""
        who = f"the MCP server {self.config.name!r}"
        try:
            link = await self._linked()
            await self._look_again(link)
        except ServerUnreachable as error:
            return unavailable_event(effect, f"{who} is not there: {error}", begun=False)
        except (UnusableResponse, MCPError) as error:
            return unavailable_event(effect, f"{who} does not say what it offers: {error}", begun=False)
        if wrong := self._wrong(effect, tool):
            return wrong
        try:
            with anyio.move_on_after(math.inf if deadline is None else deadline):
                arguments = cast("dict[str, Any]", parse(effect.arguments))
                progress = self._progress(effect)
                return result_event(
                    effect, await call_tool(link.session, tool.name, arguments, effect.key, progress)
                )
            return timed_out(effect, deadline or 0)
        except MCPError as error:
            return error_event(effect, error.error)
        except ResponseTooLarge:
            return too_large_event(effect, self.config.settings.max_message_bytes)
        except UnusableResponse as error:
            return invalid_result_event(effect, str(error))
        except ConnectionLost as error:
            return unavailable_event(
                effect, f"{who} went away: {await _reason(link.ending, str(error))}", begun=True
            )

    async def _linked(self) -> _Connection:
        """The present connection, or a new one.

        :raises NotReached: if the server cannot be started, or was restarted too often
        """
        async with self._starting:
            if self._link and not self._link.ending.over.is_set():
                return self._link
            most = self.config.settings.max_restarts
            if self._starts > most:
                raise ServerUnreachable(f"it has ended too often; it is started anew at most {most} times")
            self._starts += 1
            link: _Connection = await self._group.start(self._serve)
            self._link = link
            return link

    async def _serve(self, *, task_status: TaskStatus[_Connection]) -> None:
        """Hold a connection from its beginning to its end, in one task."""
        link = _Connection()
        ending, settings = link.ending, self.config.settings
        about = Implementation(name="toolreel", version=version("toolreel"))
        begun = asked = False
        try:
            # No cache: tools are listed only when the last list is out of date.
            client = Client(
                _transport(self.config, ending), message_handler=link.hear, client_info=about, cache=None
            )
            with anyio.CancelScope() as scope:
                scope.deadline = anyio.current_time() + settings.start_ms / 1000
                async with client, anyio.create_task_group() as watching:
                    link.session = client.session
                    await self._look_again(link)
                    scope.deadline = math.inf
                    begun = True
                    self._tell(ServerStarted(self.config.name, self._starts - 1))
                    watching.start_soon(_watch, client, link)
                    task_status.started(link)
                    await ending.over.wait()
                    asked = ending.wanted
                    watching.cancel_scope.cancel()
            if scope.cancelled_caught:
                ending.because(f"it did not say what it offers within {settings.start_ms} ms")
        except Exception as error:  # noqa: BLE001 - whatever broke, it is the server's and not the run's
            ending.because(_error_text(error))
        if not begun:
            raise ServerUnreachable(_with_stderr(ending))
        if not asked:
            self._tell(ServerEnded(self.config.name, ending.why, ending.stderr))

    async def _look_again(self, link: _Connection) -> None:
        """List the tools, if they may have changed.

        :raises AnswerLost: if the server does not say what it offers
        :raises MCPError: if it answers with an error
        """
        async with link.listing:
            if not link.stale:
                return
            link.stale = False  # before the question, so that a change announced meanwhile is not missed
            listed: list[Tool] | None = None
            try:
                with anyio.move_on_after(self.config.settings.start_ms / 1000):
                    listed = await list_tools(link.session)
            except ConnectionLost as error:
                raise UnusableResponse(f"it went away: {await _reason(link.ending, str(error))}") from None
            finally:
                link.stale = link.stale or listed is None
            if listed is None:
                raise UnusableResponse(f"no answer within {self.config.settings.start_ms} ms")
            self._compare(listed)

    def _compare(self, listed: list[Tool]) -> None:
        """Keep the present tools, and report how they differ from those of before."""
        before, there = self._now, server_tools(self.config.name, listed, self.config.settings)
        self._now = there
        if before is None:
            self.offer = there
        if before is None or before == there:
            return
        was, now = self.offer.tools, there.tools
        changed = tuple(name for name in was if name in now and now[name] != was[name])
        gone = tuple(name for name in was if name not in now)
        added = tuple(name for name in now if name not in was)
        self._tell(DefinitionsChanged(self.config.name, changed, gone, added))

    def _wrong(self, effect: RunTool, tool: McpTool) -> ToolReturned | None:
        now = self._now.tools.get(effect.name) if self._now else None
        if now == tool:
            return None
        fault = tool_not_implemented(effect.name) if now is None else tool_changed(effect.name)
        return ToolReturned(effect.ref, failed(effect.name, fault).text())

    def _progress(self, effect: RunTool) -> ProgressFnT:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            self._tell(CallProgressed(effect.name, effect.call_id, progress, total, message or ""))

        return hear


def _transport(config: McpServer, ending: ConnectionEnd) -> Transport:
    match config:
        case StdioServer():
            return stdio_transport(config, ending)
        case HttpServer():
            return http_transport(config)
        case _:
            assert_never(config)


async def _watch(client: Client, link: _Connection) -> None:
    """Since version 2026-07-28 of the protocol, a server announces changes only to those who ask for it."""
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
            return  # it does not serve such a stream
        # Changes between two streams are not announced. The pause is for a server that ends each at once.
        link.stale = True
        await anyio.sleep(_RESUBSCRIBE_DELAY)


async def _reason(ending: ConnectionEnd, why: str) -> str:
    """Why a connection ended; the task that reads from it may know it a moment later than a call."""
    if why:
        ending.because(why)
    ending.over.set()
    with anyio.move_on_after(_REASON_TIMEOUT):
        await ending.explained.wait()
    return ending.why or "it ended the connection"


def _error_text(error: BaseException) -> str:
    error = _cause(error)
    first = str(error).partition("\n")[0]
    ours = isinstance(error, AdapterError | MCPError) and first
    return first if ours else f"{type(error).__name__}: {first}"


def _cause(error: BaseException) -> BaseException:
    """The cause within a group: not the failure of a question, which follows from a broken transport."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [_cause(each) for each in error.exceptions]
    return next((each for each in causes if not isinstance(each, MCPError | ConnectionLost)), causes[0])


def _with_stderr(ending: ConnectionEnd) -> str:
    last = ending.stderr.strip()
    return f"{ending.why}; the last it wrote to stderr:\n{last}" if last else ending.why
