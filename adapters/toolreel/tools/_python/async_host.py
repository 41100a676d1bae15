"""Python functions as tools, for asyncio and trio: :mod:`toolreel.tools._python.host`, awaited."""

from __future__ import annotations

from collections.abc import Iterable

from toolreel._errors import MissingExtra
from toolreel.tools._call_context import ProgressListener
from toolreel.tools._python.host import DEADLINE, Given
from toolreel.tools._python.toolbox import Call, ErrorListener, Toolbox
from toolreel.tools._threads_async import awaited, in_thread
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

__all__ = ["AsyncPythonTools"]


class AsyncPythonTools:
    """A tool host over typed Python functions, async or not.

    Async functions are awaited and cancelled at their deadline; others run in a thread, so that they
    do not block the event loop, and are left behind in it at their deadline; those with a process of
    their own are killed.

    :param tools: functions, or :class:`~toolreel.tools._python.host.Tool` for a schema of your own
    :param deadline: seconds, or ``None`` to wait for ever; a tool's own ``deadline_ms`` goes before it
    :param allow: names or patterns of the tools that may run; all, if nothing is said
    :param deny: names or patterns of the tools that may not
    :param deps: what tools get as ``deps`` of their :class:`~toolreel.tools._call_context.RunContext`
    :param on_error: is shown what tools raise; by default it is logged (``toolreel.tools``)
    :param on_progress: is shown what tools report by their context
    """

    def __init__(
        self,
        tools: Iterable[Given] = (),
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
        """Run the tool and put whatever comes of it into words for the model."""
        call = self._box.call(effect, self._deadline)
        try:
            if call.seconds is None:
                return await _made(call, effect.name)
            with self._move_on_after(call.seconds):
                return await _made(call, effect.name)
            return call.timed_out()
        finally:
            call.end()


async def _made(call: Call, name: str) -> ToolReturned:
    return await (call.arun() if call.is_async else awaited(in_thread(name, call.run)))
