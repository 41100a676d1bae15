"""Python functions as tools, for asyncio and trio: :mod:`toolreel_adapters.python_tools`, awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import cast

from toolreel.effects import RunTool
from toolreel.events import ToolReturned
from toolreel_adapters.call_context import running
from toolreel_adapters.errors import MissingExtra
from toolreel_adapters.python_tools import (
    DEADLINE,
    Given,
    Toolbox,
    failure,
    in_thread,
    is_async,
    keywords,
    succeeded,
    timed_out,
)
from toolreel_adapters.threaded import awaited

try:
    import anyio
except ImportError:
    raise MissingExtra.of("http", "anyio") from None

__all__ = ["AsyncPythonTools"]


class AsyncPythonTools:
    """A tool host over typed Python functions, async or not.

    Async functions are awaited and cancelled at their deadline; others run in a thread, so that they
    do not block the event loop, and are left behind in it at their deadline.

    :param tools: functions, or :class:`~toolreel_adapters.python_tools.Tool` for a schema of your own
    :param deadline: seconds, or ``None`` to wait for ever; a tool's own ``deadline_ms`` goes before it
    :param allow: names or patterns of the tools that may run; all, if nothing is said
    :param deny: names or patterns of the tools that may not
    """

    def __init__(
        self,
        tools: Iterable[Given] = (),
        *,
        deadline: float | None = DEADLINE,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
    ) -> None:
        self._box = Toolbox(tools, allow=allow, deny=deny)
        self.surface = self._box.surface
        self._deadline = deadline

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool and put whatever comes of it into words for the model."""
        function = self._box.function(effect.name)
        call = self._awaited if is_async(function) else self._in_thread
        deadline = self._box.deadline(effect.name, self._deadline)
        if deadline is None:
            return await call(effect)
        with anyio.move_on_after(deadline):
            return await call(effect)
        return timed_out(effect, deadline)

    async def _awaited(self, effect: RunTool) -> ToolReturned:
        function = cast("Callable[..., Awaitable[object]]", self._box.function(effect.name))
        try:
            with running(effect):
                return succeeded(effect, await function(**keywords(effect)))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
            return failure(effect, error)

    async def _in_thread(self, effect: RunTool) -> ToolReturned:
        return await awaited(in_thread(effect.name, partial(self._box.run, effect)))
