"""Tool host over MCP servers for synchronous programs: the async host in a background thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from toolreel._errors import MissingExtra
from toolreel.tools._python.host import DEADLINE
from toolreel.tools.mcp._async_host import AsyncMcpTools
from toolreel.tools.mcp._config_file import McpServer
from toolreel.tools.mcp._definitions import SkippedTool
from toolreel.tools.mcp._events import McpListener
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.sources import ToolSource
from toolreel_core._tools.surface import ToolSurface

try:
    from anyio.from_thread import start_blocking_portal
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


class McpTools:
    """A tool host over MCP servers, which run while its context is open.

    ::

        with McpTools(read_mcp_servers(Path("mcp.json"))) as tools:
            plan = Plan.of(model="…", messages="…", tools=tools.surface)
            run(plan, Ports(endpoint, tools))

    You can call it from any thread. The parameters are those of
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
        """The tools of each server, to combine with other sources."""
        return self._host.sources

    @property
    def surface(self) -> ToolSurface:
        """The tools of all servers."""
        return self._host.surface

    @property
    def left_out(self) -> tuple[SkippedTool, ...]:
        """Tools that are not offered, because they cannot be used or were not accepted."""
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
        """Run the tool on its server; an interruption such as Ctrl-C cancels the call there."""
        returned = self._portal.start_task_soon(self._host.run, effect)
        try:
            return returned.result()
        except BaseException:
            returned.cancel()
            raise
