"""The tools of MCP servers, for plain threads: the async host in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from toolreel._errors import MissingExtra
from toolreel.tools._python.host import DEADLINE
from toolreel.tools.mcp._async_host import AsyncMcpTools
from toolreel.tools.mcp._config_file import McpServer
from toolreel.tools.mcp._definitions import LeftOut
from toolreel.tools.mcp._events import McpListener
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.sources import ToolSource
from toolreel_core._tools.surface import ToolSurface

try:
    from anyio.from_thread import start_blocking_portal
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["McpTools"]


class McpTools:
    """A tool host over MCP servers, which run for as long as its context is entered.

    ::

        with McpTools(read_mcp_servers(Path("mcp.json"))) as tools:
            plan = Plan.of(model="…", messages="…", tools=tools.surface)
            run(plan, Ports(endpoint, tools))

    It may be called from any thread, and takes the same as
    :class:`~toolreel.tools.mcp._async_host.AsyncMcpTools`.
    """

    def __init__(
        self,
        servers: Iterable[McpServer],
        *,
        deadline: float | None = DEADLINE,
        pins: Mapping[str, str] | None = None,
        listen: McpListener | None = None,
    ) -> None:
        self._host = AsyncMcpTools(servers, deadline=deadline, pins=pins, listen=listen)

    @property
    def sources(self) -> tuple[ToolSource, ...]:
        """The tools of each server, to be composed with those of other sources."""
        return self._host.sources

    @property
    def surface(self) -> ToolSurface:
        """The tools of all servers."""
        return self._host.surface

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Tools that are there and not offered, since they cannot be used or were not accepted."""
        return self._host.left_out

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self._portal.wrap_async_context_manager(self._host))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, at)

    def run(self, effect: RunTool) -> ToolReturned:
        """Have the tool run by its server; whoever interrupts this has the server told."""
        returned = self._portal.start_task_soon(self._host.run, effect)
        try:
            return returned.result()
        except BaseException:
            returned.cancel()
            raise
