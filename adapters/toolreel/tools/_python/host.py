"""Tool hosts over Python functions: a sync one, and one for asyncio and trio."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from toolreel._internal.errors import MissingExtra
from toolreel.tools._call_context import (
    CurrentCall,
    ProgressListener,
    RunContext,
    ToolError,
    ignore_progress,
    running,
)
from toolreel.tools._isolation import Crash, IsolatedCall, target_of
from toolreel.tools._python.tool import Tool, ToolLike
from toolreel.tools._result_events import failure, keywords, succeeded, timeout_event
from toolreel.tools._threads_async import awaited, in_thread
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.codec import load_event
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._protocol.spent import Spent
from toolreel_core._tools.masking import masked
from toolreel_core._tools.surface import ToolSurface

DEADLINE: Final = 60.0
"""Default deadline of a tool call, in seconds."""

ErrorListener: TypeAlias = Callable[[CurrentCall, Exception], None]
"""Callback for exceptions of tools that the model does not see; they have their traceback."""


def _log_error(call: CurrentCall, error: Exception) -> None:
    from toolreel._internal.logs import log_error  # imported here, because few runs log anything

    message = f"tool {call.name} failed, call {call.call_id} of turn {call.turn}"
    log_error("tools", message, {"tool": call.name, "call_id": call.call_id, "turn": call.turn}, error)


class Toolbox:
    """Tools by inner name, with their surface; :class:`~toolreel.tools._python.host.PythonTools` runs them.

    :raises ConfigError: if a signature has no schema, two tools share a name, or a mask matches no tool
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
        all_tools = [
            tool if isinstance(tool, Tool) else Tool.of(tool) for tool in _listed(tools, type(self).__name__)
        ]
        surface = ToolSurface(tuple(tool.definition for tool in all_tools))
        self.surface = masked(surface, allow=allow, deny=deny)
        removed = set(self.surface.masked)
        self._tools = {
            tool.definition.name: tool for tool in all_tools if tool.definition.name not in removed
        }
        self.has_settings = (deadline, deps, on_error, on_progress) != (DEADLINE, None, None, None)
        """Whether it is more than a list of tools."""
        self._deadline = deadline
        self._deps = deps
        self._on_error = on_error or _log_error
        self._on_progress = on_progress or ignore_progress
        self._check()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, without the masked ones."""
        return (*self._tools.values(),)

    def _check(self) -> None:
        """Check that this kind of host can run the tools."""

    def _call(self, effect: RunTool) -> Call:
        """A call that has not started yet.

        :raises ConfigError: if no run may call such a tool: the plan was built with other tools, or it is not
            exposed
        """
        name = effect.name
        if name not in self._tools:
            raise ConfigError(f"this host has no tool {name!r}; build the plan with the surface of this host")
        if not self._tools[name].definition.exposed:  # the reducer asks for none; a forged effect may
            raise ConfigError(f"tool {name!r} is not exposed, so that no run may call it")
        own = self._tools[name].definition.deadline_ms
        seconds = self._deadline if own is None else own / 1000
        deadline = None if seconds is None else time.monotonic() + seconds
        current = CurrentCall(name, effect.call_id, effect.key, effect.turn)
        context = RunContext(self._deps, current, deadline, self._on_progress)
        return Call(self._tools[name], effect, context, seconds, self._on_error)


def _listed(tools: object, host: str) -> Iterable[ToolLike]:
    if not isinstance(tools, Iterable):
        raise ConfigError(
            f"tools: expected a list, got {type(tools).__name__}; write {host}([function, ...])"
        )
    return tools


class Call:
    """One call of a tool: :meth:`run` or :meth:`arun` it once, and always :meth:`end` it."""

    def __init__(
        self,
        tool: Tool,
        effect: RunTool,
        context: RunContext[Any],
        seconds: float | None,
        on_error: ErrorListener,
    ) -> None:
        self.seconds = seconds
        """Deadline in seconds; ``None`` for no limit."""
        self._tool = tool
        self._effect = effect
        self._context = context
        self._on_error = on_error
        self._isolated = None if tool.isolation is None else IsolatedCall(tool.isolation)
        if self._isolated is not None:
            context.on_end(self._isolated.kill)

    @property
    def is_async(self) -> bool:
        """Whether it must be awaited with :meth:`arun`."""
        return self._tool.is_async

    def run(self) -> ToolReturned:
        """Call a sync tool in this thread."""
        return self._billed(self._run())

    async def arun(self) -> ToolReturned:
        """Await an async tool."""
        return self._billed(await self._arun())

    def _run(self) -> ToolReturned:
        try:
            with running(self._context):
                if self._isolated is not None:
                    return self._answered(self._isolated.run(self._request()))
                return succeeded(self._effect, self._tool.function(**self._keywords()), self._tool.ok_key)
        except Exception as error:  # noqa: BLE001 - exceptions become results for the model
            return self._failed(error)

    async def _arun(self) -> ToolReturned:
        function = cast("Callable[..., Awaitable[object]]", self._tool.function)
        try:
            with running(self._context):
                return succeeded(self._effect, await function(**self._keywords()), self._tool.ok_key)
        except Exception as error:  # noqa: BLE001 - exceptions become results for the model
            return self._failed(error)

    def end(self) -> None:
        """Mark the call as over: its context says so, and its process is killed."""
        self._context.end()

    def timed_out(self) -> ToolReturned:
        """The event for a call that was still running at its deadline."""
        definition, how = self._tool.definition, f"did not return within {self.seconds:g} s"
        repeatable = definition.idempotent or definition.read_only
        if self._isolated is not None:
            how = f"{how} and was stopped"
        if not repeatable:
            how = f"{how}; it may {'still have' if self._isolated is None else 'have had'} effects"
        return self._billed(timeout_event(self._effect, how, safe_to_repeat=repeatable))

    def _billed(self, event: ToolReturned) -> ToolReturned:
        """The event with what the tool has said that it took of models."""
        spent = self._context.spending.total
        return event if spent is None else replace(event, spent=spent)

    def _keywords(self) -> dict[str, object]:
        return self._tool.arguments.read(self._effect.name, keywords(self._effect), self._context)

    def _request(self) -> Mapping[str, Json]:
        effect = self._effect
        return {
            "target": target_of(self._tool.function, f"tool {effect.name!r}"),
            "typed": bool(self._tool.arguments.kinds),
            "ok_key": self._tool.ok_key,
            "name": effect.name,
            "arguments": effect.arguments,
            "call_id": effect.call_id,
            "key": effect.key,
            "turn": effect.turn,
        }

    def _answered(self, response: Mapping[str, Json]) -> ToolReturned:
        if trace := response.get("trace"):
            self._on_error(self._context.call, Crash("it failed in its own process", str(trace)))
        spent = cast("Mapping[str, Any] | None", response.get("spent"))
        bill = None if spent is None else Spent(**spent)
        if event := response.get("event"):  # with images, audio or files
            return replace(cast("ToolReturned", load_event(str(event))), ref=self._effect.ref, spent=bill)
        return ToolReturned(self._effect.ref, str(response["output"]), spent=bill)

    def _failed(self, error: Exception) -> ToolReturned:
        killed = isinstance(error, Crash) and self._context.cancelled
        if not killed and not isinstance(error, ToolError):
            self._on_error(self._context.call, error)
        return failure(self._effect, error)


class PythonTools(Toolbox):
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

    def _check(self) -> None:
        for name, tool in self._tools.items():
            if tool.is_async:
                raise ConfigError(f"tool {name!r} is async; run it with arun and AsyncPythonTools")

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; failures become results for the model."""
        call = self._call(effect)
        try:
            if call.seconds is None:
                return call.run()
            return in_thread(effect.name, call.run).result(call.seconds)
        except TimeoutError:
            return call.timed_out()
        finally:
            call.end()


class AsyncPythonTools(Toolbox):
    """A tool host over typed Python functions, async or not.

    Async functions are awaited, and cancelled at their deadline. Other functions run in a daemon thread,
    which is abandoned at the deadline; isolated tools are killed. The parameters are those of
    :class:`PythonTools`.
    """

    def _check(self) -> None:
        # Not at the top: ``toolreel`` has this class among its names and loads them without any extra.
        try:
            from anyio import move_on_after
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        self._move_on_after = move_on_after

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; failures become results for the model."""
        call = self._call(effect)
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
