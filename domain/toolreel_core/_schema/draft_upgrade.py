"""Translate JSON Schemas of older drafts to draft 2020-12.

Generators still write draft-07, and some draft-04: a tuple is an array under ``items``, a bound is
exclusive by a boolean. Draft 2020-12 has other keywords for both, and rejects or ignores the old ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import Json
from toolreel_core._schema.walk import changed_within

_OLDER: Final = re.compile(r"https?://json-schema\.org/(draft-0[3-7]/schema|draft/2019-09/schema|schema)#?")
_TUPLE_ITEM: Final = re.compile(r"/items/(?=\d+(/|$))")
"""A reference into a tuple of ``items``, which newer drafts call ``prefixItems``."""
_BOUND: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_EXCLUSIVE: Final = {bound: exclusive for exclusive, bound in _BOUND.items()}


def modern(schema: Json) -> Json:
    """The schema with the keywords of draft 2020-12; unchanged if it has no older ones.

    >>> modern({"items": [{"type": "string"}], "additionalItems": False})
    {'prefixItems': [{'type': 'string'}], 'items': False}
    """
    if not isinstance(schema, Mapping):
        return schema
    return changed_within(dict(_words(schema)), modern)


def _words(schema: Mapping[str, Json]) -> Sequence[tuple[str, Json]]:
    said: list[tuple[str, Json]] = []
    for keyword, value in schema.items():
        match keyword:
            case "$schema":
                older = isinstance(value, str) and _OLDER.fullmatch(value)
                said += [] if older else [(keyword, value)]
            case "$ref":
                reference = _TUPLE_ITEM.sub("/prefixItems/", value) if isinstance(value, str) else value
                said.append((keyword, reference))
            case "$recursiveRef":
                said.append(("$ref", value))
            case "items":
                said += _items(schema, value)
            case "additionalItems":
                pass  # it says something only together with a tuple, which takes it along
            case "dependencies":
                said += _dependencies(value)
            case "exclusiveMinimum" | "exclusiveMaximum":
                said += _exclusive(schema, keyword, value)
            case "minimum" | "maximum":
                said += [] if schema.get(_EXCLUSIVE[keyword]) is True else [(keyword, value)]
            case _:
                said.append((keyword, value))
    return said


def _items(schema: Mapping[str, Json], value: Json) -> Sequence[tuple[str, Json]]:
    """A tuple is ``prefixItems`` now, and ``items`` is what may come after it."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return [("items", value)]
    rest = [("items", schema["additionalItems"])] if "additionalItems" in schema else []
    return [("prefixItems", value), *rest] if value else rest


def _dependencies(value: Json) -> Sequence[tuple[str, Json]]:
    """One keyword was two: names that are needed, and schemas that hold."""
    if not isinstance(value, Mapping):
        return [("dependencies", value)]
    names = {key: part for key, part in value.items() if not isinstance(part, Mapping | bool)}
    schemas = {key: part for key, part in value.items() if key not in names}
    return [
        *([("dependentRequired", names)] if names else []),
        *([("dependentSchemas", schemas)] if schemas else []),
    ]


def _exclusive(schema: Mapping[str, Json], keyword: str, value: Json) -> Sequence[tuple[str, Json]]:
    """A bound that a boolean makes exclusive is itself the exclusive one now."""
    if not isinstance(value, bool):
        return [(keyword, value)]
    bound = schema.get(_BOUND[keyword])
    return [(keyword, bound)] if value and bound is not None else []
