"""Python functions as tools. The twin for asyncio and trio is :mod:`toolreel_adapters.apython_tools`."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Self, TypeAlias, Unpack, cast

from toolreel.catalog import masked
from toolreel.effects import RunTool
from toolreel.errors import ConfigError
from toolreel.events import ToolReturned
from toolreel.jsontext import Json, canonical, parse
from toolreel.parameters import SchemaLike
from toolreel.surface import ToolDefinition, ToolFlags, ToolSurface
from toolreel_adapters.call_context import running
from toolreel_adapters.signature import definition_of, documented

__all__ = [
    "DEADLINE",
    "Given",
    "PythonTools",
    "Tool",
    "ToolError",
    "Toolbox",
    "failure",
    "in_thread",
    "is_async",
    "keywords",
    "succeeded",
    "timed_out",
]

DEADLINE: Final = 60.0
"""Seconds that a tool may take unless told otherwise."""


class ToolError(Exception):
    """Raised by a tool to tell the model what was wrong with its arguments, and what to do."""

    def __init__(self, message: str, code: str = "ARGUMENT_ERROR") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with a definition of its own, where the signature does not say enough."""

    definition: ToolDefinition
    function: Callable[..., object]

    @classmethod
    def of(
        cls,
        function: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: SchemaLike | None = None,
        **flags: Unpack[ToolFlags],
    ) -> Self:
        """A tool out of a function and what its signature does not say.

        >>> def read(path: str) -> str:
        ...     '''Read a file.'''
        >>> Tool.of(read, name="files.read", read_only=True, deadline_ms=500).definition.description
        'Read a file.'

        :param parameters: a schema, or anything with ``json_schema()`` or ``model_json_schema()``; without
            one, the signature makes it. The function gets its arguments by name either way.
        """
        if parameters is None:
            definition = replace(definition_of(function), **flags)
            name = definition.name if name is None else name
            words = definition.description if description is None else description
            return cls(replace(definition, name=name, description=words), function)
        name = str(getattr(function, "__name__", "")) if name is None else name
        words = documented(function) if description is None else description
        return cls(ToolDefinition.of(name, words, parameters, **flags), function)

    def from_source(self, source: str) -> Self:
        """The tool, said to come from somewhere."""
        return replace(self, definition=replace(self.definition, source=source))


Given: TypeAlias = Callable[..., object] | Tool
"""A tool as it is handed over: a typed function, or one with a definition of its own."""


class Toolbox:
    """Functions by the inner name of their tool, with their definitions.

    :param allow: names or patterns of what there is to be; see :func:`toolreel.catalog.masked`
    :param deny: names or patterns of what there is not to be
    :raises ConfigError: if a signature makes no schema, two tools share a name, or a mask means no tool
    """

    def __init__(
        self, tools: Iterable[Given], *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
    ) -> None:
        known = [tool if isinstance(tool, Tool) else Tool.of(tool) for tool in tools]
        whole = ToolSurface(tuple(tool.definition for tool in known))
        self.surface = masked(whole, allow=allow, deny=deny)
        gone = set(self.surface.masked)
        self._tools = {tool.definition.name: tool for tool in known if tool.definition.name not in gone}

    def function(self, name: str) -> Callable[..., object]:
        """The function of a tool.

        :raises ConfigError: if there is none, because the plan was made with other tools
        """
        return self._tool(name).function

    def deadline(self, name: str, default: float | None) -> float | None:
        """Seconds that a call of the tool may take: its own deadline, or else the host's.

        :raises ConfigError: if there is no such tool
        """
        own = self._tool(name).definition.deadline_ms
        return default if own is None else own / 1000

    def _tool(self, name: str) -> Tool:
        if name not in self._tools:
            raise ConfigError(f"this host has no tool {name!r}; make the plan with the host's own surface")
        return self._tools[name]

    def run(self, effect: RunTool) -> ToolReturned:
        """Call a tool that is not async, here and now."""
        try:
            with running(effect):
                return succeeded(effect, self.function(effect.name)(**keywords(effect)))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
            return failure(effect, error)


class PythonTools:
    """A tool host over typed Python functions.

    A tool that raises :class:`ToolError` tells the model so; any other exception becomes
    ``INTERNAL_ERROR``; one that is still running at its deadline becomes ``TOOL_TIMEOUT`` and is left
    behind in its thread, which nobody waits for.

    :param tools: functions, or :class:`Tool` for a schema of your own
    :param deadline: seconds, or ``None`` to wait for ever and run tools in the calling thread; a tool's own
        ``deadline_ms`` goes before it
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
        for definition in self._box.surface.definitions:
            if is_async(self._box.function(definition.name)):
                raise ConfigError(f"tool {definition.name!r} is async; run it with arun and AsyncPythonTools")
        self.surface = self._box.surface
        self._deadline = deadline

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool and put whatever comes of it into words for the model."""
        deadline = self._box.deadline(effect.name, self._deadline)
        if deadline is None:
            return self._box.run(effect)
        returned = in_thread(effect.name, partial(self._box.run, effect))
        try:
            return returned.result(deadline)
        except TimeoutError:
            return timed_out(effect, deadline)


def is_async(function: Callable[..., object]) -> bool:
    """Whether what the function returns is to be awaited; objects with an async ``__call__`` count."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def in_thread(name: str, call: Callable[[], ToolReturned]) -> Future[ToolReturned]:
    """Start a call in a thread of its own, for which nobody has to wait, not even the process at its end.

    The call sees the caller's context variables; what it raises is raised to whoever asks for the result.
    """
    returned: Future[ToolReturned] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            returned.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - a SystemExit belongs to the caller, not to this thread
            returned.set_exception(error)

    threading.Thread(target=work, name=name, daemon=True).start()
    return returned


def succeeded(effect: RunTool, value: object) -> ToolReturned:
    """The event for a tool that returned a value, which may turn out not to be JSON."""
    try:
        return ToolReturned(effect.ref, canonical(cast("Json", value)))  # canonical checks what it is
    except (TypeError, ValueError, RecursionError) as error:
        return _failed(
            effect, "TOOL_OUTPUT_NOT_JSON", f"{effect.name} ran, but its output is not JSON: {error}."
        )


def failure(effect: RunTool, error: Exception) -> ToolReturned:
    """The event for a tool that raised."""
    if isinstance(error, ToolError):
        return _failed(effect, error.code, str(error))
    return _failed(effect, "INTERNAL_ERROR", f"{effect.name} failed with {type(error).__name__}: {error}")


def timed_out(effect: RunTool, deadline: float) -> ToolReturned:
    """The event for a tool that was still running at its deadline."""
    return _failed(
        effect,
        "TOOL_TIMEOUT",
        f"{effect.name} did not return within {deadline:g} s; "
        "it may still have effects. Check before you call it again.",
    )


def _failed(effect: RunTool, code: str, message: str) -> ToolReturned:
    envelope: Json = {"ok": False, "data": {}, "errors": [{"code": code, "message": message}]}
    return ToolReturned(effect.ref, canonical(envelope))


def keywords(effect: RunTool) -> Mapping[str, Json]:
    """The arguments of a call, as keyword arguments for a function."""
    return cast("Mapping[str, Json]", parse(effect.arguments))
