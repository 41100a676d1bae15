"""Tool host over Python functions for asyncio and trio; the async twin of ``host``."""

from __future__ import annotations

from collections.abc import Iterable

from toolreel._errors import MissingExtra
from toolreel.tools._call_context import ProgressListener
from toolreel.tools._python.host import DEADLINE
from toolreel.tools._python.tool import ToolLike
from toolreel.tools._python.toolbox import Call, ErrorListener, Toolbox
from toolreel.tools._threads_async import awaited, in_thread
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned


class AsyncPythonTools:
    """A tool host over typed Python functions, async or not.

    Async functions are awaited, and cancelled at their deadline. Other functions run in a daemon thread,
    which is abandoned at the deadline; isolated tools are killed.

    :param tools: functions, or :class:`~toolreel.tools._python.host.Tool` for a schema of your own
    :param deadline: seconds, or ``None`` for no limit; ``deadline_ms`` of a tool has priority
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
        # Not at the top: ``toolreel`` has this class among its names and loads them without any extra.
        try:
            from anyio import move_on_after
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        self._move_on_after = move_on_after
        self._box = Toolbox(
            tools, allow=allow, deny=deny, deps=deps, on_error=on_error, on_progress=on_progress
        )
        self.surface = self._box.surface
        self._deadline = deadline

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; failures become results for the model."""
        call = self._box.call(effect, self._deadline)
        try:
            if call.seconds is None:
                return await _result_of(call, effect.name)
            with self._move_on_after(call.seconds):
                return await _result_of(call, effect.name)
            return call.timed_out()
        finally:
            call.end()


async def _result_of(call: Call, name: str) -> ToolReturned:
    return await (call.arun() if call.is_async else awaited(in_thread(name, call.run)))
