"""Python functions as tools, for asyncio and trio: :mod:`toolreel_adapters.python_tools`, awaited."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import partial

from toolreel.effects import RunTool
from toolreel.events import ToolReturned
from toolreel_adapters.errors import MissingExtra
from toolreel_adapters.python_tools import DEADLINE, Given, Toolbox, failure, keywords, succeeded, timed_out

try:
    import anyio
    import anyio.to_thread
except ImportError:
    raise MissingExtra.of("http", "anyio") from None

__all__ = ["AsyncPythonTools"]


class AsyncPythonTools:
    """A tool host over typed Python functions, async or not.

    Async functions are awaited and cancelled at their deadline; others run in a worker thread, so
    that they do not block the event loop.

    :param tools: functions, or :class:`~toolreel_adapters.python_tools.Tool` for a schema of your own
    :param deadline: seconds, or ``None`` to wait for ever
    """

    def __init__(self, tools: Iterable[Given] = (), *, deadline: float | None = DEADLINE) -> None:
        self._box = Toolbox(tools)
        self.surface = self._box.surface
        self._deadline = deadline

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool and put whatever comes of it into words for the model."""
        self._box.function(effect.name)
        if self._deadline is None:
            return await self._finished(effect)
        with anyio.move_on_after(self._deadline):
            return await self._finished(effect)
        return timed_out(effect, self._deadline)

    async def _finished(self, effect: RunTool) -> ToolReturned:
        try:
            return succeeded(effect, await self._call(effect))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
            return failure(effect, error)

    async def _call(self, effect: RunTool) -> object:
        function = self._box.function(effect.name)
        if inspect.iscoroutinefunction(function):
            return await function(**keywords(effect))
        call = partial(function, **keywords(effect))
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
