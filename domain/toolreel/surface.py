"""The tools of a run: their definitions, frozen as the model will see them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyrsistent import PMap, pmap

from toolreel.errors import ConfigError
from toolreel.jsontext import Json, JsonText, canonical, parse
from toolreel.schemas import check_schema

__all__ = ["ToolDefinition", "ToolSurface"]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NO_PARAMETERS: Final = canonical({"type": "object", "properties": {}, "additionalProperties": False})


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What the model is told about one tool.

    :raises ConfigError: if the name or the schema cannot be sent to a provider
    """

    name: str
    """Unique in a surface; letters, digits, ``_`` and ``-``, at most 64."""
    description: str = ""
    parameters: JsonText = _NO_PARAMETERS
    """JSON Schema (draft 2020-12) of the arguments, an object."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"tool name {self.name!r} does not fit {_NAME.pattern}; providers refuse it")
        try:
            check_schema(self.parameters)
        except ConfigError as error:
            raise ConfigError(f"tool {self.name!r}: {error}") from None

    @classmethod
    def of(
        cls, name: str, description: str = "", parameters: Mapping[str, Json] | None = None
    ) -> ToolDefinition:
        """A definition from a parsed schema; without one, a tool that takes no arguments."""
        return cls(name, description, _NO_PARAMETERS if parameters is None else canonical(parameters))

    def tree(self) -> Json:
        """The definition as an entry of a request's ``tools``."""
        function = {"name": self.name, "description": self.description, "parameters": parse(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolSurface:
    """The tools of one run, in the order in which the model sees them.

    :raises ConfigError: if two tools share a name
    """

    definitions: tuple[ToolDefinition, ...] = ()
    text: JsonText = field(init=False, repr=False, compare=False)
    """The canonical text of the ``tools`` array."""
    by_name: PMap[str, ToolDefinition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = Counter(definition.name for definition in self.definitions)
        if twice := [name for name, times in names.items() if times > 1]:
            raise ConfigError(f"tool {twice[0]!r} is defined twice; rename one of the two")
        tree = [definition.tree() for definition in self.definitions]
        object.__setattr__(self, "text", canonical(tree))
        object.__setattr__(self, "by_name", pmap({tool.name: tool for tool in self.definitions}))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in order."""
        return tuple(definition.name for definition in self.definitions)
