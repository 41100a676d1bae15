"""Python functions as tools. The twin for asyncio and trio is :mod:`toolreel.tools._python.async_host`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolreel.tools._call_context import ProgressListener, ToolError
from toolreel.tools._events import failure, keywords, succeeded, timed_out
from toolreel.tools._python.tool import Tool, ToolLike, tool
from toolreel.tools._python.toolbox import ErrorListener, Toolbox
from toolreel.tools._threads_async import in_thread
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

__all__ = [
    "DEADLINE",
    "PythonTools",
    "Tool",
    "ToolError",
    "ToolLike",
    "Toolbox",
    "failure",
    "in_thread",
    "keywords",
    "succeeded",
    "timed_out",
    "tool",
]

DEADLINE: Final = 60.0
"""Seconds that a tool may take unless told otherwise."""


class PythonTools:
    """A tool host over typed Python functions.

    A tool that raises :class:`ToolError` tells the model so; any other exception becomes
    ``INTERNAL_ERROR``, of which the model learns the class alone and ``on_error`` everything; a tool that
    is still running at its deadline becomes ``TOOL_TIMEOUT`` and is left behind in its thread, which
    nobody waits for, or killed if it has a process of its own.

    :param tools: functions, or :class:`Tool` for a schema of your own
    :param deadline: seconds, or ``None`` to wait for ever and run tools in the calling thread; a tool's own
        ``deadline_ms`` goes before it
    :param allow: names or patterns of the tools that may run; all, if nothing is said
    :param deny: names or patterns of the tools that may not
    :param deps: what tools get as ``deps`` of their :class:`~toolreel.tools._call_context.RunContext`
    :param on_error: is shown what tools raise; by default it is logged (``toolreel.tools``)
    :param on_progress: is shown what tools report by their context
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] = (),
        *,
        deadline: float | None = DEADLINE,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
        deps: object = None,
        on_error: ErrorListener | None = None,
        on_progress: ProgressListener | None = None,
    ) -> None:
        self._box = Toolbox(
            tools, allow=allow, deny=deny, deps=deps, on_error=on_error, on_progress=on_progress
        )
        for definition in self._box.surface.definitions:
            if self._box.tool(definition.name).is_async:
                raise ConfigError(f"tool {definition.name!r} is async; run it with arun and AsyncPythonTools")
        self.surface = self._box.surface
        self._deadline = deadline

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool and put whatever comes of it into words for the model."""
        call = self._box.call(effect, self._deadline)
        try:
            if call.seconds is None:
                return call.run()
            return in_thread(effect.name, call.run).result(call.seconds)
        except TimeoutError:
            return call.timed_out()
        finally:
            call.end()
