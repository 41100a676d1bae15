"""Tool host over Python functions; ``async_host`` is its twin for asyncio and trio."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolreel.tools._call_context import ProgressListener
from toolreel.tools._python.tool import ToolLike
from toolreel.tools._python.toolbox import ErrorListener, Toolbox
from toolreel.tools._threads_async import in_thread
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

DEADLINE: Final = 60.0
"""Default deadline of a tool call, in seconds."""


class PythonTools:
    """A tool host over typed Python functions.

    If a tool raises :class:`ToolError`, the message is returned to the model. Any other exception becomes
    ``INTERNAL_ERROR``: the model sees only its class, ``on_error`` gets the exception. A tool that exceeds
    its deadline becomes ``TOOL_TIMEOUT``; its daemon thread is abandoned, or its process killed if it is
    isolated.

    :param tools: functions, or :class:`Tool` for a schema of your own
    :param deadline: seconds, or ``None`` for no limit, which runs tools in the calling thread;
        ``deadline_ms`` of a tool has priority
    :param allow: names or patterns of the tools to offer; all by default
    :param deny: names or patterns of tools to leave out
    :param deps: dependencies of the tools: ``deps`` of their
        :class:`~toolreel.tools._call_context.RunContext`
    :param on_error: callback for exceptions of tools; by default they are logged (``toolreel.tools``)
    :param on_progress: callback for progress that tools report
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
        """Run the tool; failures become results for the model."""
        call = self._box.call(effect, self._deadline)
        try:
            if call.seconds is None:
                return call.run()
            return in_thread(effect.name, call.run).result(call.seconds)
        except TimeoutError:
            return call.timed_out()
        finally:
            call.end()
