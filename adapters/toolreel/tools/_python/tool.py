"""The decorator :func:`tool`, and :class:`Tool`: a function with its definition."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeAlias, TypeVar, Unpack, cast, get_args, overload

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
