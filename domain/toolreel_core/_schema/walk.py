"""Walk the subschemas of a JSON Schema, as opposed to its plain values.

A property may be called ``$ref`` and a default may look like a schema: what a keyword means
depends on its position, so every change of a schema walks it with these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._jsontext.canonical import Json, Tree

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
