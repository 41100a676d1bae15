"""Walk a JSON Schema: its subschemas, as opposed to its plain values, and its references.

A property may be called ``$ref`` and a default may look like a schema: what a keyword means depends on its
position, so every change of a schema walks it with these functions. Only references into the schema itself
are followed, such as ``#/$defs/Node`` and ``#``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from toolreel_core._jsontext import Json, Tree
from toolreel_core._lazy_pattern import lazy_pattern

_SCHEMA: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose value is a schema."""
_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
_BY_NAME: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value has a schema for each name."""


def changed_within(schema: Tree, change: Callable[[Json], Json]) -> dict[str, Json]:
    """The schema with ``change`` applied to each direct subschema, in the same order.

    >>> changed_within({"items": 1, "default": {"items": 1}}, str)
    {'items': '1', 'default': {'items': 1}}
    """
    return {keyword: _changed(keyword, value, change) for keyword, value in schema.items()}


def subschemas(schema: Tree) -> Iterator[Json]:
    """The direct subschemas of a schema, in order.

    >>> list(subschemas({"items": {}, "anyOf": [True], "properties": {"not": False}, "const": {}}))
    [{}, True, False]
    """
    for keyword, value in schema.items():
        if keyword in _SCHEMA:
            yield value
        elif keyword in _SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
            yield from value
        elif keyword in _BY_NAME and isinstance(value, Mapping):
            yield from value.values()


def _changed(keyword: str, value: Json, change: Callable[[Json], Json]) -> Json:
    if keyword in _SCHEMA:
        return change(value)
    if keyword in _SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
        return [change(item) for item in value]
    if keyword in _BY_NAME and isinstance(value, Mapping):
        return {name: change(item) for name, item in value.items()}
    return value


Place: TypeAlias = tuple[str, ...]
"""The steps of a JSON pointer, from the root of the schema."""

_ESCAPED: Final = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")
"""Percent-encoded bytes of a reference; one character may take several."""


@dataclass(frozen=True, slots=True)
class References:
    """The references of one schema."""

    root: Tree
    _known: dict[Place, tuple[Place, ...]] = field(default_factory=dict, repr=False, compare=False)
    """What each place was found to refer to."""

    def target(self, schema: Tree) -> Place | None:
        """The target of a schema's ``$ref``, if it is a schema in the same document; else ``None``."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        place = tuple(_step(part) for part in reference.split("/")[1:])
        return place if isinstance(self.at(place), Mapping | bool) else None

    def at(self, place: Place) -> Json:
        """The value at a place; null if there is none."""
        value: Json = self.root
        for step in place:
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, Sequence) and not isinstance(value, str):
                is_number = step.isascii() and step.isdecimal() and len(step) < 10
                value = value[int(step)] if is_number and int(step) < len(value) else None
            else:
                return None
        return value

    def within(self, schema: Json) -> tuple[Place, ...]:
        """The targets of all references in a schema."""
        places = (self.target(part) for part in schemas_in(schema))
        return tuple(dict.fromkeys(place for place in places if place is not None))

    def reached(self, starts: Sequence[Place]) -> tuple[Place, ...]:
        """The given places and all places reachable from them by references."""
        seen: dict[Place, None] = {}
        pending = [*starts]
        while pending:
            place = pending.pop()
            if place not in seen:
                seen[place] = None
                pending += self._from(place)
        return tuple(seen)

    def is_endless(self, place: Place) -> bool:
        """Whether the schema at a place is recursive, directly or through others."""
        return place in self.reached(self._from(place))

    def _from(self, place: Place) -> tuple[Place, ...]:
        if place not in self._known:
            self._known[place] = self.within(self.at(place))
        return self._known[place]


def schemas_in(schema: Json) -> Iterator[Tree]:
    """A schema and all schemas inside it, at any depth.

    >>> [part["type"] for part in schemas_in({"type": "array", "items": {"type": "string"}})]
    ['array', 'string']
    """
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            yield part
            pending += subschemas(part)


def _step(part: str) -> str:
    """One step of a pointer, without its two layers of escapes."""
    plain = _ESCAPED.sub(
        lambda escapes: bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "replace"), part
    )
    return plain.replace("~1", "/").replace("~0", "~")
