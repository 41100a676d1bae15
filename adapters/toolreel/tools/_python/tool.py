"""The decorator :func:`tool`, and :class:`Tool`: a function with its definition; tools by import path."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, TypeVar, Unpack, cast, get_args, overload

from toolreel._internal.errors import ToolModuleError
from toolreel.tools._isolation import Isolation, target_of
from toolreel.tools._ok_key import OkKey
from toolreel.tools._python.signature import Arguments, signature_of, summary_of, untyped_arguments
from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import check_choice
from toolreel_core._tools.parameter_schemas import SchemaLike
from toolreel_core._tools.tool_definition import ToolDefinition, ToolFlags

_MARK: Final = "__toolreel_tool__"
_Function = TypeVar("_Function", bound=Callable[..., Any])


class ToolSettings(ToolFlags, total=False):
    """Keyword arguments of :func:`tool` and :meth:`Tool.of`."""

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
    arguments: Arguments = field(init=False, repr=False, compare=False)
    """Conversion of a call's arguments."""

    def __post_init__(self) -> None:
        check_choice("ok_key", self.ok_key, get_args(OkKey))
        object.__setattr__(self, "arguments", _arguments(self.definition, self.function))
        if self.isolation is not None:
            place = f"tool {self.definition.name!r}"
            target_of(self.function, place)
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

        :param parameters: a schema, or anything with ``json_schema()`` or ``model_json_schema()``; by default
            it is generated from the signature. Arguments are passed by name: converted to the annotated
            types if the schema is generated, as plain JSON otherwise
        :param ok_key: whether ``"ok": false`` in a returned object is a failure: ``envelope`` if the object
            has only the keys of an envelope, ``failure`` always, ``data`` never
        :param isolated: whether each call runs in a separate process, which is killed at the deadline
        """
        merged: ToolSettings = {**cast("ToolSettings", getattr(function, _MARK, {})), **settings}
        name, description = merged.pop("name", None), merged.pop("description", None)
        schema, isolated = merged.pop("parameters", None), merged.pop("isolated", False)
        ok_key = merged.pop("ok_key", "envelope")
        flags = cast("ToolFlags", merged)
        if schema is None:
            definition = replace(signature_of(function, name).definition, **flags)
            definition = definition if description is None else replace(definition, description=description)
        else:
            inner = str(getattr(function, "__name__", "")) if name is None else name
            text = summary_of(function) if description is None else description
            definition = ToolDefinition.of(inner, text, schema, **flags)
        return cls(definition, function, Isolation() if isolated is True else isolated or None, ok_key)

    @property
    def is_async(self) -> bool:
        """Whether calls must be awaited; an async ``__call__`` counts, an isolated tool does not."""
        is_async = inspect.iscoroutinefunction
        return self.isolation is None and (is_async(self.function) or is_async(type(self.function).__call__))

    def from_source(self, source: str) -> Self:
        """The same tool with another source in its definition."""
        return replace(self, definition=replace(self.definition, source=source))


ToolLike: TypeAlias = Callable[..., object] | Tool
"""A typed function, or a :class:`Tool`."""


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
        try:
            setattr(marked, _MARK, settings)
        except AttributeError:
            raise ConfigError(
                f"{marked!r} does not accept attributes; use Tool.of instead of @tool"
            ) from None
        return marked

    return mark if function is None else mark(function)


def _arguments(definition: ToolDefinition, function: Callable[..., object]) -> Arguments:
    """Typed conversion of arguments, if the definition's schema is that of the signature; else plain JSON."""
    try:
        signature = signature_of(function, definition.name)
    except ConfigError:
        return untyped_arguments(function)
    if signature.definition.parameters == definition.parameters:
        return signature.arguments
    return untyped_arguments(function)


def load_tools(names: Iterable[str]) -> list[ToolLike]:
    """Import tools by name; an attribute can be a function, a :class:`Tool`, a list of them, or a host.

    A name is ``module:attribute`` or ``file.py:attribute``; the file's folder is then searched for imports.
    A host (``PythonTools``) gives its tools; it cannot be used if it has settings that calls need.

    Each is returned as a :class:`Tool` whose source is the name. The working directory is searched too, as
    ``python -m`` does.

    :raises ToolModuleError: if a module cannot be imported, or the attribute is not a tool
    :raises ConfigError: if a signature cannot be converted to a schema
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return [tool for name in names for tool in _load(name)]


def _load(name: str) -> list[ToolLike]:
    place, colon, attribute = name.rpartition(":")
    if not colon or not place or not attribute:
        raise ToolModuleError(f"--tools {name}: expected module:attribute, for example my_tools:TOOLS")
    module_name = _module_of_file(Path(place), name) if place.endswith(".py") else place
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ToolModuleError(f"--tools {name}: cannot import {module_name}: {error}") from error
    except (Exception, SystemExit) as error:
        raise ToolModuleError(
            f"--tools {name}: importing {module_name} failed with {type(error).__name__}: {error}{_at(error)}"
        ) from error
    if not hasattr(module, attribute):
        close = get_close_matches(attribute, dir(module), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ToolModuleError(f"--tools {name}: {module_name} has no {attribute!r}{hint}")
    return _tools(getattr(module, attribute), name)


def _module_of_file(file: Path, name: str) -> str:
    """The name under which a file can be imported, with its folder searched first, as for a script."""
    if not file.is_file():
        raise ToolModuleError(f"--tools {name}: there is no file {file}")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = importlib.util.find_spec(file.stem)
    if found is None or found.origin is None or Path(found.origin).resolve() != file.resolve():
        raise ToolModuleError(
            f"--tools {name}: another module is named {file.stem}; rename the file to import it"
        )
    return file.stem


def _at(error: BaseException) -> str:
    """The line and file of an error, for the message."""
    if isinstance(error, SyntaxError):
        return ""  # its message has the place
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" (line {trace.tb_lineno} of {trace.tb_frame.f_code.co_filename})" if trace else ""


def _tools(value: object, name: str) -> list[ToolLike]:
    from toolreel.tools._python.host import Toolbox  # it imports this module

    if isinstance(value, Toolbox):
        if value.has_settings:
            raise ToolModuleError(
                f"--tools {name}: a {type(value).__name__} with deps, a deadline or callbacks cannot be used "
                "here, since its calls need them; name a list of tools"
            )
        value = value.tools
    candidates: list[object] = list(value) if isinstance(value, (list, tuple)) else [value]
    tools: list[ToolLike] = []
    for candidate in candidates:
        if not isinstance(candidate, Tool) and not callable(candidate):
            raise ToolModuleError(
                f"--tools {name}: expected a function, a Tool, a list of them or a PythonTools, "
                f"got {type(candidate).__name__}"
            )
        tool = candidate if isinstance(candidate, Tool) else Tool.of(candidate)
        tools.append(tool.from_source(name))
    return tools
