"""Tool hosts over MCP servers: one for asyncio and trio, and one for synchronous programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

import anyio
from anyio.from_thread import start_blocking_portal

from toolreel._driver import fault_event
from toolreel._driver import notify as notify_listener
from toolreel._internal import McpConfigError, McpServerError, log
from toolreel.tools import CALL_DEADLINE
from toolreel.tools.mcp._config_file import McpServer, server_credentials
from toolreel.tools.mcp._definitions import McpTool, unaccepted_tools
from toolreel.tools.mcp._server import McpListener, Server
from toolreel_core._config_checks import Table
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core._tools import (
    ToolDefinition,
    ToolSource,
    ToolSurface,
    compose,
    name_with_digest,
    tool_changed,
    tool_not_implemented,
)

_SHUTDOWN_TIMEOUT = 5.0
"""Seconds that all servers together have to shut down."""
_CLOSED = "the MCP servers are closed; run inside the `with` block of their host"


class _McpHost:
    def __init__(
        self,
        servers: Iterable[McpServer],
        *,
        deadline: float | None = CALL_DEADLINE,
        pins: Mapping[str, str] | None = None,
        listen: McpListener | None = None,
    ) -> None:
        self._configs = tuple(servers)
        names = [config.name for config in self._configs]
        if duplicates := [name for name in names if names.count(name) > 1]:
            raise ConfigError(f"MCP server {duplicates[0]!r} is given twice; rename one of them")
        self._deadline = Table.of({"deadline": deadline}).value("deadline", float | None)
        self._pins = pins
        self._listen = listen
        self.surface = ToolSurface()
        self.left_out: Mapping[str, str] = {}
        """Why tools are not offered, by name: they have no name of their own, or were not accepted."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the servers are given, by name; journals do not write them."""
        return {
            f"{name} of MCP server {config.name}": value
            for config in self._configs
            for name, value in server_credentials(config).items()
        }


class AsyncMcpTools(_McpHost):
    """A tool host over MCP servers, which run while its context is open.

    ::

        async with AsyncMcpTools(read_mcp_servers(Path("mcp.json"))) as tools:
            plan = Plan.of(model="…", messages="…", tools=tools.surface)
            await arun(plan, AsyncPorts(endpoint, tools))

    If a server exits during a call, that call fails, and the server is restarted for the next one. A tool
    whose definition changes while the context is open is rejected from then on.

    :param deadline: seconds per call, or ``None`` for no limit; a deadline of the tool has priority
    :param pins: accepted fingerprints by inner name, such as ``pins_of`` a plan's tools; other
        tools are left out, and their calls rejected
    :param listen: callback for servers that exit, changed definitions, and progress of calls
    :raises McpServerError: on entering, if a server cannot be started; the others are stopped
    :raises McpConfigError: on entering, if the settings name a tool that its server does not list
    :raises ConfigError: if two servers share a name
    """

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._tools: dict[str, tuple[Server, McpTool]] = {}
        self.is_open = True
        notify = partial(notify_listener, self._listen)
        self._servers = [Server(config, self._group, notify) for config in self._configs]
        try:
            await self._open()
        except BaseException as error:
            self._group.cancel_scope.cancel()
            await self._group.__aexit__(None, None, None)
            raise error from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.is_open = False
        for server in self._servers:
            server.close()
        if error is not None:
            self._group.cancel_scope.cancel()
        self._group.cancel_scope.deadline = anyio.current_time() + _SHUTDOWN_TIMEOUT
        await self._group.__aexit__(None, None, None)

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its server; failures become results for the model."""
        if not self.is_open:
            raise ConfigError(_CLOSED)
        if effect.name not in self._tools:
            return fault_event(effect, tool_changed if effect.name in self.left_out else tool_not_implemented)
        server, tool = self._tools[effect.name]
        return await server.run(effect, tool, tool.definition.seconds(self._deadline))

    async def _open(self) -> None:
        failures: list[str] = []

        async def start(server: Server) -> None:
            try:
                await server.open()
            except McpServerError as error:
                failures.append(str(error))

        async with anyio.create_task_group() as starting:
            for server in self._servers:
                starting.start_soon(start, server)
        if failures:
            raise McpServerError("\n".join(sorted(failures)))
        self._collect_tools()

    def _collect_tools(self) -> None:
        left_out: dict[str, str] = {}
        sources: list[ToolSource] = []
        seen: set[str] = set()
        for server in self._servers:
            for mistake in server.offer.mistakes:
                raise McpConfigError(f"MCP server {server.config.name!r}: {mistake}")
            offered: dict[str, ToolDefinition] = {}
            for tool in server.offer.tools.values():
                definition = tool.definition
                if definition.outward in seen:  # as tool b_c of server a, and tool c of server a_b
                    name = name_with_digest(definition.name, f"{server.config.name}/{tool.name}")
                    definition = replace(definition, name=name)
                seen.add(definition.outward)
                offered[definition.name] = definition
                self._tools[definition.name] = server, tool
            unpinned = unaccepted_tools(offered.values(), self._pins)
            left_out |= {**server.offer.left_out, **unpinned}
            for name in unpinned:
                del offered[name], self._tools[name]
            sources.append(ToolSource(f"mcp {server.config.name}", tuple(offered.values())))
        for name, why in left_out.items():
            log("tools", "warning", "tool_left_out", {"tool": name, "why": why})
        self.left_out = left_out
        self.surface = compose(*sources)


class McpTools(_McpHost):
    """The sync version of :class:`AsyncMcpTools`, with the same parameters; any thread can call it."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            host = AsyncMcpTools(self._configs, deadline=self._deadline, pins=self._pins, listen=self._listen)
            self._host = stack.enter_context(self._portal.wrap_async_context_manager(host))
            self._stack = stack.pop_all()
        self.surface, self.left_out = host.surface, host.left_out
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, at)

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its server; an interruption such as Ctrl-C cancels the call there."""
        if not self._host.is_open:  # then the portal is closed, too
            raise ConfigError(_CLOSED)
        returned = self._portal.start_task_soon(self._host.run, effect)
        try:
            return returned.result()
        except BaseException:
            returned.cancel()
            raise
