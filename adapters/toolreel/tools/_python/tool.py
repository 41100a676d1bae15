"""Functions as tools: :func:`tool` marks one, :class:`Tool` is one with its definition."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeAlias, TypeVar, Unpack, cast, overload

from toolreel.tools._isolation import Isolation, target_of
from toolreel.tools._python.signature import Arguments, signature_of, summary_of, untyped_arguments
from toolreel_core._errors import ConfigError
from toolreel_core._tools.parameters import SchemaLike
from toolreel_core._tools.surface import ToolDefinition, ToolFlags

__all__ = ["Tool", "ToolLike", "ToolSettings", "tool"]

_MARK: Final = "__toolreel_tool__"
_Function = TypeVar("_Function", bound=Callable[..., Any])


class ToolSettings(ToolFlags, total=False):
    """What can be said of a function beside its signature: see :meth:`Tool.of`."""

    name: str | None
    description: str | None
    parameters: SchemaLike | None
    isolated: bool | Isolation


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with a definition of its own, where the signature does not say enough.

    :raises ConfigError: if it is to be isolated, and another process could not import it
    """

    definition: ToolDefinition
    function: Callable[..., object]
    isolation: Isolation | None = None
    """How its calls are kept apart; ``None`` for in this process."""
    arguments: Arguments = field(init=False, repr=False, compare=False)
    """How the arguments of a call become those of the function."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", _arguments(self.definition, self.function))
        if self.isolation is not None:
            place = f"tool {self.definition.name!r}"
            target_of(self.function, place)
            if self.arguments.context is not None:
                raise ConfigError(
                    f"{place}: a RunContext does not reach another process; ask current_call() for the key, "
                    "or do not isolate it"
                )

    @classmethod
    def of(cls, function: Callable[..., object], **settings: Unpack[ToolSettings]) -> Self:
        """A tool out of a function and what its signature does not say.

        >>> def read(path: str) -> str:
        ...     '''Read a file.'''
        >>> Tool.of(read, name="files.read", read_only=True, deadline_ms=500).definition.description
        'Read a file.'

        What :func:`tool` has said of the function holds as well, where nothing else is said here.

        :param parameters: a schema, or anything with ``json_schema()`` or ``model_json_schema()``; without
            one, the signature makes it. The function gets its arguments by name either way, but without
            a schema of its own they are values of its types, else plain JSON
        :param isolated: whether each call runs in a process of its own, which is killed at the deadline
        """
        said: ToolSettings = {**cast("ToolSettings", getattr(function, _MARK, {})), **settings}
        name, words = said.pop("name", None), said.pop("description", None)
        schema, isolated = said.pop("parameters", None), said.pop("isolated", False)
        flags = cast("ToolFlags", said)
        if schema is None:
            definition = replace(signature_of(function, name).definition, **flags)
            definition = definition if words is None else replace(definition, description=words)
        else:
            inner = str(getattr(function, "__name__", "")) if name is None else name
            about = summary_of(function) if words is None else words
            definition = ToolDefinition.of(inner, about, schema, **flags)
        return cls(definition, function, Isolation() if isolated is True else isolated or None)

    @property
    def is_async(self) -> bool:
        """Whether a call is to be awaited; an async ``__call__`` counts, one that is kept apart does not."""
        wanted = inspect.iscoroutinefunction
        return self.isolation is None and (wanted(self.function) or wanted(type(self.function).__call__))

    def from_source(self, source: str) -> Self:
        """The tool, said to come from somewhere."""
        return replace(self, definition=replace(self.definition, source=source))


ToolLike: TypeAlias = Callable[..., object] | Tool
"""A tool as it is handed over: a typed function, or one with a definition of its own."""


@overload
def tool(function: _Function, /) -> _Function: ...


@overload
def tool(**settings: Unpack[ToolSettings]) -> Callable[[_Function], _Function]: ...


def tool(
    function: _Function | None = None, /, **settings: Unpack[ToolSettings]
) -> _Function | Callable[[_Function], _Function]:
    """Say of a function, where it stands, how it is to be run as a tool.

    The function stays what it was, and can be called and tested like any other.

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
            raise ConfigError(f"{marked!r} cannot be marked; use Tool.of") from None
        return marked

    return mark if function is None else mark(function)


def _arguments(definition: ToolDefinition, function: Callable[..., object]) -> Arguments:
    """How the function is called: by its types, if they are what the definition's schema was made of."""
    try:
        signature = signature_of(function, definition.name)
    except ConfigError:
        return untyped_arguments(function)
    if signature.definition.parameters == definition.parameters:
        return signature.arguments
    return untyped_arguments(function)
