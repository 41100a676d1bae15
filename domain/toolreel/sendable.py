"""JSON Schemas as they are sent: what some provider refuses, although it means nothing, is left out.

An empty ``required: []`` says the same as none, and validators of the older drafts refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from toolreel.jsontext import Json

__all__ = ["sendable"]

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


def sendable(schema: Json) -> Json:
    """A schema without empty ``required`` lists, at any depth; everything else stays, in its order.

    >>> sendable({"type": "object", "required": [], "default": {"required": []}})
    {'type': 'object', 'default': {'required': []}}

    :param schema: a schema that :func:`toolreel.schemas.check_schema` has accepted
    """
    if not isinstance(schema, Mapping):
        return schema
    return {
        keyword: _part(keyword, value) for keyword, value in schema.items() if keyword != "required" or value
    }


def _part(keyword: str, value: Json) -> Json:
    """The value of one keyword; where it is no schema it may be anything, such as a default."""
    if keyword in _SCHEMA:
        return sendable(value)
    if keyword in _SCHEMAS:
        return [sendable(item) for item in cast("list[Json]", value)]
    if keyword in _BY_NAME:
        return {name: sendable(item) for name, item in cast("Mapping[str, Json]", value).items()}
    return value
