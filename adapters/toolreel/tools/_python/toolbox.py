"""Tools by name, and one call of a tool under way: what the hosts of both colours share."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from toolreel.tools._call_context import CurrentCall, ProgressListener, RunContext, ToolError, running
from toolreel.tools._events import failure, keywords, succeeded, timeout_event
from toolreel.tools._isolation import Crash, IsolatedCall, target_of
from toolreel.tools._python.tool import Tool, ToolLike
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.sources import masked
from toolreel_core._tools.surface import ToolSurface

__all__ = ["Call", "ErrorListener", "Toolbox"]

ErrorListener: TypeAlias = Callable[[CurrentCall, Exception], None]
"""Is shown what a tool raised that was not meant for the model, with its traceback."""


def _log_error(call: CurrentCall, error: Exception) -> None:
    import logging  # here, since few runs have anything to log

    log = logging.getLogger("toolreel.tools")
    log.error("tool %s failed, call %s of turn %s", call.name, call.call_id, call.turn, exc_info=error)


def _ignore(_: object) -> None:
    """Nobody wants to know."""


class Toolbox:
    """Functions by the inner name of their tool, with their definitions.

    :param allow: names or patterns of what there is to be; see :func:`toolreel_core._tools.sources.masked`
    :param deny: names or patterns of what there is not to be
    :param deps: what tools get as ``deps`` of their :class:`~toolreel.tools._call_context.RunContext`
    :param on_error: is shown what tools raise; by default it is logged with its traceback
    :param on_progress: is shown what tools report
    :raises ConfigError: if a signature makes no schema, two tools share a name, or a mask means no tool
    """

    def __init__(
        self,
        tools: Iterable[ToolLike],
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
        deps: object = None,
        on_error: ErrorListener | None = None,
        on_progress: ProgressListener | None = None,
    ) -> None:
        known = [tool if isinstance(tool, Tool) else Tool.of(tool) for tool in tools]
        whole = ToolSurface(tuple(tool.definition for tool in known))
        self.surface = masked(whole, allow=allow, deny=deny)
        gone = set(self.surface.masked)
        self._tools = {tool.definition.name: tool for tool in known if tool.definition.name not in gone}
        self._deps = deps
        self._on_error = on_error or _log_error
        self._on_progress = on_progress or _ignore

    def tool(self, name: str) -> Tool:
        """The tool of that name.

        :raises ConfigError: if there is none, because the plan was made with other tools
        """
        if name not in self._tools:
            raise ConfigError(f"this host has no tool {name!r}; make the plan with the host's own surface")
        return self._tools[name]

    def function(self, name: str) -> Callable[..., object]:
        """The function of a tool.

        :raises ConfigError: if there is no such tool
        """
        return self.tool(name).function

    def call(self, effect: RunTool, seconds: float | None) -> Call:
        """A call that is about to begin.

        :param seconds: how long it may take, unless the tool has a deadline of its own
        :raises ConfigError: if there is no such tool
        """
        tool = self.tool(effect.name)
        own = tool.definition.deadline_ms
        seconds = seconds if own is None else own / 1000
        deadline = None if seconds is None else time.monotonic() + seconds
        told = CurrentCall(effect.name, effect.call_id, effect.key, effect.turn)
        context = RunContext(self._deps, told, deadline, self._on_progress)
        return Call(tool, effect, context, seconds, self._on_error)


class Call:
    """A call of a tool: run it once, in either way, and :meth:`end` it whatever came of it."""

    def __init__(
        self,
        tool: Tool,
        effect: RunTool,
        context: RunContext[Any],
        seconds: float | None,
        on_error: ErrorListener,
    ) -> None:
        self.seconds = seconds
        """How long it may take; ``None`` for any time."""
        self._tool = tool
        self._effect = effect
        self._context = context
        self._on_error = on_error
        self._apart = None if tool.isolation is None else IsolatedCall(tool.isolation)
        if self._apart is not None:
            context.on_end(self._apart.kill)

    @property
    def is_async(self) -> bool:
        """Whether it is to be awaited, here."""
        return self._tool.is_async

    def run(self) -> ToolReturned:
        """Call a tool that is not async, here and now."""
        try:
            with running(self._context):
                if self._apart is not None:
                    return self._answered(self._apart.ask(self._question()))
                return succeeded(self._effect, self._tool.function(**self._keywords()))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
            return self._failed(error)

    async def arun(self) -> ToolReturned:
        """Await an async tool."""
        function = cast("Callable[..., Awaitable[object]]", self._tool.function)
        try:
            with running(self._context):
                return succeeded(self._effect, await function(**self._keywords()))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
            return self._failed(error)

    def end(self) -> None:
        """Nobody waits for the call any longer: the tool can find out, and its processes are killed."""
        self._context.end()

    def timed_out(self) -> ToolReturned:
        """The event for a call that was still running at its deadline."""
        definition, how = self._tool.definition, f"did not return within {self.seconds:g} s"
        harmless = definition.idempotent or definition.read_only
        if self._apart is not None:
            how = f"{how} and was stopped"
        if not harmless:
            how = f"{how}; it may {'still have' if self._apart is None else 'have had'} effects"
        return timeout_event(self._effect, how, again_is_harmless=harmless)

    def _keywords(self) -> dict[str, object]:
        return self._tool.arguments.read(self._effect.name, keywords(self._effect), self._context)

    def _question(self) -> Mapping[str, Json]:
        effect = self._effect
        return {
            "target": target_of(self._tool.function, f"tool {effect.name!r}"),
            "typed": bool(self._tool.arguments.kinds),
            "name": effect.name,
            "arguments": effect.arguments,
            "call_id": effect.call_id,
            "key": effect.key,
            "turn": effect.turn,
        }

    def _answered(self, answer: Mapping[str, Json]) -> ToolReturned:
        if trace := answer.get("trace"):
            self._on_error(self._context.call, Crash("it failed in its own process", str(trace)))
        return ToolReturned(self._effect.ref, str(answer["output"]))

    def _failed(self, error: Exception) -> ToolReturned:
        killed = isinstance(error, Crash) and self._context.cancelled
        if not killed and not isinstance(error, ToolError):
            self._on_error(self._context.call, error)
        return failure(self._effect, error)
