"""Python functions as tools: the decorator :func:`tool`, :class:`Tool`, and the sync and async tool hosts."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Self, TypeAlias, TypeVar, Unpack, cast, get_args, overload

from toolreel._driver import check_run_arguments, immediately
from toolreel._internal import ToolModuleError, start_in_daemon_thread
from toolreel.tools._call_context import CurrentCall, RunContext, as_current_call
from toolreel.tools._hosts import await_future
from toolreel.tools._isolation import Crash, Isolation, import_path
from toolreel.tools._results import (
    OkKey,
    call_arguments,
    exception_event,
    success_event,
    timeout_event,
    unexpected_part_of_error,
)
from toolreel.tools._signature import ParameterTypes, argument_types, docstring_summary, signature_of
from toolreel_core._config_checks import Table, check_choice, unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, parse
from toolreel_core._protocol import RunTool, ToolReturned, dump, load_event
from toolreel_core._tools import SchemaLike, ToolDefinition, ToolFlags, ToolSurface, masked

_MARK = "__toolreel_tool__"
_Function = TypeVar("_Function", bound=Callable[..., Any])


class ToolSettings(ToolFlags, total=False):
    name: str | None
    description: str | None
    parameters: SchemaLike | None
    isolated: bool | Isolation
    ok_key: OkKey


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with an explicit definition.

    :raises ConfigError: if it is isolated, and another process could not import it
    """

    definition: ToolDefinition
    function: Callable[..., object]
    isolation: Isolation | None = None
    """Isolation of its calls; ``None`` runs them in this process."""
    ok_key: OkKey = "envelope"
    """What ``ok`` in a returned object means."""
    arguments: ParameterTypes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("ok_key", self.ok_key, get_args(OkKey))
        check_run_arguments(isolated=self.isolation)
        object.__setattr__(self, "arguments", argument_types(self.definition, self.function))
        if self.isolation is not None:
            place = f"tool {self.definition.name!r}"
            import_path(self.function, place)
            if self.arguments.context is not None:
                raise ConfigError(
                    f"{place}: an isolated tool cannot have a RunContext; call current_call() for the key, "
                    "or do not isolate it"
                )

    @classmethod
    def of(cls, function: Callable[..., object], **settings: Unpack[ToolSettings]) -> Self:
        """A tool from a function, with settings that override its signature.

        >>> def read(path: str) -> str:
        ...     '''Read a file.'''
        >>> Tool.of(read, name="files.read", read_only=True, deadline_ms=500).definition.description
        'Read a file.'

        Settings of the decorator :func:`tool` apply too, unless overridden here.

        - ``parameters``: a schema, or anything with ``json_schema()`` or ``model_json_schema()``; by default
          it is generated from the signature. Arguments are passed by name: converted to the annotated types
          if the schema is generated, as plain JSON otherwise.
        - ``ok_key``: whether ``"ok": false`` in a returned object is a failure: ``envelope`` if the object
          has only the keys of an envelope, ``failure`` always, ``data`` never.
        - ``isolated``: whether each call runs in a separate process, which is killed at the deadline.
        """
        merged: dict[str, Any] = {**getattr(function, _MARK, {}), **settings}
        name, schema, isolated = (merged.pop(key, None) for key in ("name", "parameters", "isolated"))
        ok_key = merged.pop("ok_key", "envelope")
        if merged.get("description") is None:
            merged.pop("description", None)
        if schema is None:
            definition = replace(signature_of(function, name).definition, **merged)
        else:
            inner = str(getattr(function, "__name__", "")) if name is None else name
            merged.setdefault("description", docstring_summary(function))
            definition = ToolDefinition.of(inner, parameters=schema, **merged)
        return cls(definition, function, Isolation() if isolated is True else isolated or None, ok_key)

    @property
    def is_async(self) -> bool:
        """Whether calls must be awaited; an async ``__call__`` counts, an isolated tool does not."""
        is_async = inspect.iscoroutinefunction
        return self.isolation is None and (is_async(self.function) or is_async(type(self.function).__call__))

    def with_source(self, source: str) -> Self:
        """The same tool with another source in its definition."""
        return replace(self, definition=replace(self.definition, source=source))


ToolLike: TypeAlias = Callable[..., object] | Tool


@overload
def tool(function: _Function, /) -> _Function: ...


@overload
def tool(**settings: Unpack[ToolSettings]) -> Callable[[_Function], _Function]: ...


def tool(
    function: _Function | None = None, /, **settings: Unpack[ToolSettings]
) -> _Function | Callable[[_Function], _Function]:
    """Decorator: set the name, flags or isolation of a function as a tool.

    It returns the function itself, so that you can call and test it as usual.

    >>> @tool(read_only=True, deadline_ms=500)
    ... def count(part: str) -> int:
    ...     '''How many of a part are in stock.'''
    ...     return 4
    >>> count("pin"), Tool.of(count).definition.read_only
    (4, True)

    :param settings: as for :meth:`Tool.of`
    """

    def mark(marked: _Function) -> _Function:
        setattr(marked, _MARK, settings)
        return marked

    return mark if function is None else mark(function)


def load_tools(names: Iterable[str]) -> list[ToolLike]:
    """A host gives its tools, unless it has settings that calls need.

    :raises ToolModuleError: if a module cannot be imported, or the attribute is not a tool
    """
    return [tool for name in names for tool in _load_tools(name)]


def _load_tools(name: str) -> Iterator[Tool]:
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise ToolModuleError(f"--tools {name}: expected module:attribute, for example my_tools:TOOLS")
    module = load_module(place, f"--tools {name}")
    if not hasattr(module, attribute):
        public = [each for each in dir(module) if not each.startswith("_")]
        raise ToolModuleError(f"--tools {name}: {unknown_name_message('attribute', attribute, public)}")
    value = getattr(module, attribute)
    if isinstance(value, Toolbox):
        if value.has_settings:
            raise ToolModuleError(
                f"--tools {name}: a {type(value).__name__} with deps, a deadline or on_error cannot be used "
                "here, since its calls need them; name a list of tools"
            )
        value = value.tools
    for each in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(each, Tool) and not callable(each):
            raise ToolModuleError(
                f"--tools {name}: expected a function, a Tool, a list of them or a PythonTools, "
                f"got {type(each).__name__}"
            )
        yield (each if isinstance(each, Tool) else Tool.of(each)).with_source(name)


def load_module(place: str, option: str) -> ModuleType:
    file, name = Path(place), place
    for folder in (Path.cwd(), file.resolve().parent):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    if place.endswith(".py"):
        if not file.is_file():
            raise ToolModuleError(f"{option}: there is no file {file}")
        name = file.stem
        # Another module of this name may be built in, or imported already.
        found = importlib.util.find_spec(name)
        if not found or not found.origin or Path(found.origin).resolve() != file.resolve():
            raise ToolModuleError(f"{option}: another module is named {name}; rename the file to import it")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolModuleError(f"{option}: cannot import {name}: {error}") from error
    # SystemExit: a script without a main guard runs as a whole.
    except (Exception, SystemExit) as error:
        from traceback import extract_tb  # few modules fail, and it is slow to import

        at = extract_tb(error.__traceback__)[-1]
        # A syntax error has its place in its message.
        where = "" if isinstance(error, SyntaxError) else f" (line {at.lineno} of {at.filename})"
        raise ToolModuleError(
            f"{option}: importing {name} failed with {type(error).__name__}: {error}{where}"
        ) from error


CALL_DEADLINE = 60.0
"""Default deadline of a tool call, in seconds."""

ErrorListener: TypeAlias = Callable[[CurrentCall, Exception], None]
"""Callback for exceptions of tools that the model does not see; they have their traceback."""


def _log_error(call: CurrentCall, error: Exception) -> None:
    from toolreel._internal import log_error  # imported here, because few runs log anything

    message = f"tool {call.name} failed, call {call.call_id} of turn {call.turn}"
    log_error("tools", message, {"tool": call.name, "call_id": call.call_id, "turn": call.turn}, error)


class Toolbox:
    """Tools by inner name, with their surface; :class:`~toolreel.tools._python_tools.PythonTools` runs them.

    :raises ConfigError: if a signature has no schema, two tools share a name, or a mask matches no tool
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] = (),
        *,
        deadline: float | None = CALL_DEADLINE,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
        deps: object = None,
        on_error: ErrorListener | None = None,
    ) -> None:
        if not hasattr(tools, "__iter__"):
            host = type(self).__name__
            raise ConfigError(
                f"tools: expected a list, got {type(tools).__name__}; write {host}([function, ...])"
            )
        all_tools = [tool if isinstance(tool, Tool) else Tool.of(tool) for tool in tools]
        surface = ToolSurface(tuple(tool.definition for tool in all_tools))
        self.surface = masked(surface, allow=allow, deny=deny)
        named = {tool.definition.name: tool for tool in all_tools}
        self._tools_in = {each.name: named[each.name] for each in self.surface.definitions}
        self.has_settings = (deadline, deps, on_error) != (CALL_DEADLINE, None, None)
        """Whether it is more than a list of tools."""
        self._deadline = Table.of({"deadline": deadline}).value("deadline", float | None)
        check_run_arguments(on_error=on_error)
        self._deps = deps
        self._on_error = on_error or _log_error
        self._check_async_tools_allowed()

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (*self._tools_in.values(),)

    def _check_async_tools_allowed(self) -> None: ...

    def _prepare_call(self, effect: RunTool) -> Call:
        """The call of an effect; :class:`ConfigError` if its tool is unknown here, or not exposed."""
        name, tool = effect.name, self._tools_in.get(effect.name)
        if tool is None:
            raise ConfigError(f"this host has no tool {name!r}; build the plan with the surface of this host")
        if not tool.definition.exposed:  # the reducer asks for none; a forged effect may
            raise ConfigError(f"tool {name!r} is not exposed, so that no run may call it")
        seconds = tool.definition.seconds(self._deadline)
        deadline = None if seconds is None else time.monotonic() + seconds
        return Call(tool, effect, RunContext.of_call(effect, self._deps, deadline), seconds, self._on_error)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: perform it once, and always end its context, which kills its process."""

    tool: Tool
    effect: RunTool
    context: RunContext[Any]
    seconds: float | None
    """Deadline in seconds; ``None`` for no limit."""
    on_error: ErrorListener

    async def perform(self) -> ToolReturned:
        tool, effect = self.tool, self.effect
        try:
            with as_current_call(self.context):
                if tool.isolation is not None:
                    event = self._run_in_isolation(tool.isolation)
                else:
                    value: Any = tool.function(
                        **tool.arguments.keyword_arguments(effect.name, call_arguments(effect), self.context)
                    )
                    event = success_event(effect, await value if tool.is_async else value, tool.ok_key)
        except Exception as error:  # noqa: BLE001 - exceptions become results for the model
            event = self.failure_result(error)
        return self._add_cost(event)

    def _run_in_isolation(self, isolation: Isolation) -> ToolReturned:
        tool, effect = self.tool, self.effect
        request: dict[str, Json] = {
            "target": import_path(tool.function, f"tool {effect.name!r}"),
            "parameters": parse(tool.definition.parameters),
            "ok_key": tool.ok_key,
            "effect": dump(effect),
        }
        response = isolation.response(request, self.context)
        if trace := response.get("trace"):
            self.on_error(self.context.call, Crash("it failed in its own process", str(trace)))
        return cast("ToolReturned", load_event(response["event"]))

    def timeout_result(self) -> ToolReturned:
        definition, how = self.tool.definition, f"did not return within {self.seconds:g} s"
        repeatable, stopped = definition.idempotent or definition.read_only, self.tool.isolation is not None
        how += " and was stopped" * stopped
        if not repeatable:
            how += f"; it may {'have had' if stopped else 'still have'} effects"
        return self._add_cost(timeout_event(self.effect, how, safe_to_repeat=repeatable))

    def _add_cost(self, event: ToolReturned) -> ToolReturned:
        spent = self.context.spending.total
        return event if spent is None else replace(event, spent=spent)

    def failure_result(self, error: Exception) -> ToolReturned:
        killed = isinstance(error, Crash) and self.context.cancelled
        if not killed and (surprise := unexpected_part_of_error(error)):
            self.on_error(self.context.call, surprise)
        return exception_event(self.effect, error)


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
    """

    def _check_async_tools_allowed(self) -> None:
        for name, tool in self._tools_in.items():
            if tool.is_async:
                raise ConfigError(f"tool {name!r} is async; run it with arun and AsyncPythonTools")

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; failures become results for the model."""
        call = self._prepare_call(effect)
        try:
            perform = partial(immediately, call.perform())
            if call.seconds is None:
                return perform()
            return start_in_daemon_thread(effect.name, perform).result(call.seconds)
        # This is the deadline: a TimeoutError of the tool itself is a result by now.
        except TimeoutError:
            return call.timeout_result()
        finally:
            call.context.end()


class AsyncPythonTools(Toolbox):
    """A tool host over typed Python functions, async or not.

    Async functions are awaited, and cancelled at their deadline. Other functions run in a daemon thread,
    which is abandoned at the deadline; isolated tools are killed. The parameters are those of
    :class:`PythonTools`.
    """

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; failures become results for the model."""
        from anyio import move_on_after  # not at the top: ``toolreel`` has this class without any extra

        call = self._prepare_call(effect)
        try:
            with move_on_after(math.inf if call.seconds is None else call.seconds):
                return await _await_call(call, effect.name)
            return call.timeout_result()
        finally:
            call.context.end()


async def _await_call(call: Call, name: str) -> ToolReturned:
    from asyncio import CancelledError, current_task  # not needed by sync tools

    try:
        if call.tool.is_async:
            return await call.perform()
        return await await_future(start_in_daemon_thread(name, partial(immediately, call.perform())))
    except CancelledError as error:
        # A tool let out the cancellation of a task of its own, if nobody cancelled the run. Trio's
        # cancellations are of another class, and never leave the scope that was cancelled.
        task = current_task()
        if task is None or task.cancelling():
            raise
        escaped = RuntimeError(f"{name} let out the cancellation of a task of its own")
        escaped.__cause__ = error
        return call.failure_result(escaped)
