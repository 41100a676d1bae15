"""Walk a JSON Schema, follow its references, and inline them.

A property may be called ``$ref`` and a default may look like a schema: what a keyword means depends on its
position, so every change of a schema walks it with these functions. Only references into the schema itself
are followed, such as ``#/$defs/Node`` and ``#``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, list_at, text_at, value_at_json_pointer
from toolreel_core._lazy_pattern import lazy_pattern

_SCHEMA = frozenset({
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames",
    "then", "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
"""Keywords whose value is a schema."""
_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
_BY_NAME = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value has a schema for each name."""


def map_subschemas(schema: Tree, change: Callable[[Json], Json]) -> dict[str, Json]:
    """The schema with ``change`` applied to each direct subschema, in the same order."""
    changed = dict[str, Json]()
    for keyword, value in schema.items():
        if keyword in _SCHEMA:
            changed[keyword] = change(value)
        elif keyword in _SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
            changed[keyword] = [change(item) for item in value]
        elif keyword in _BY_NAME and isinstance(value, Mapping):
            changed[keyword] = {name: change(item) for name, item in value.items()}
        else:
            changed[keyword] = value
    return changed


def subschemas(schema: Tree) -> list[Json]:
    found = list[Json]()
    map_subschemas(schema, found.append)
    return found


def schemas_in(schema: Json) -> Iterator[Tree]:
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            yield part
            pending += subschemas(part)


def reference_target(reference: Json, root: Tree) -> Json:
    """What a reference into its own schema leads to; null if it leads elsewhere, or to nothing."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    return value_at_json_pointer(root, _ESCAPED.sub(_decode_percent, reference))


# A run of escapes at once, since one character may be several bytes of UTF-8.
_ESCAPED = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")


def _decode_percent(escapes: re.Match[str]) -> str:
    return bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "replace")


# Definitions that refer to others several times grow exponentially. By default, all tools of a request
# together may have as many bytes (`max_tool_definitions_bytes`).
_MOST_BYTES = 200_000
# A chain of references may lead deeper than the schema itself nests.
_DEEPEST = 64
_HOLDERS = ("$defs", "definitions")
_NOTES = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)


class _TooLargeError(Exception):
    """The schema is too large or too deep to inline."""


def inline_references(schema: Tree) -> Tree:
    """A schema with its references replaced by what they refer to; a recursive one is cut where it recurs.

    Some providers reject ``$ref`` and ``$defs``, and some models write text where a reference describes an
    object (GLM, pydantic-ai#10243).

    >>> inline_references({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}})
    {'properties': {'a': {'type': 'string'}}}
    >>> inline_references({"type": "object", "properties": {"next": {"$ref": "#"}}})
    {'type': 'object', 'properties': {'next': {'type': 'object'}}}

    A schema stays unchanged if the result exceeds 200 kB or 64 levels, or if a part of it refers to
    something by other means than a pointer into the schema.
    """
    for part in schemas_in(schema):
        elsewhere = "$ref" in part and not isinstance(reference_target(part["$ref"], schema), Mapping | bool)
        if elsewhere or "$dynamicRef" in part or ("$id" in part and part is not schema):
            return schema
    room = _MOST_BYTES

    def inline_part(part: Json, above: tuple[str, ...], depth: int) -> Json:
        nonlocal room
        if not isinstance(part, Mapping):
            return part
        if depth > _DEEPEST:
            raise _TooLargeError
        beside = {keyword: value for keyword, value in part.items() if keyword != "$ref"}
        beside = map_subschemas(beside, lambda inner: inline_part(inner, above, depth + 1))
        if "$ref" not in part:
            return beside
        place = str(part["$ref"])
        target = reference_target(place, schema)
        if place in above:
            definition = as_tree(target)
            notes = {key: definition[key] for key in ("title", "description") if key in definition}
            return {"type": text_at(definition, "type") or "object", **notes, **beside}
        room -= len(canonical(target))
        if room < 0:
            raise _TooLargeError
        return _merge_siblings(inline_part(target, (*above, place), depth + 1), beside)

    try:
        return as_tree(inline_part(_without_definitions(schema), ("#",), 0))
    except _TooLargeError:
        return schema


def _merge_siblings(target: Json, beside: dict[str, Json]) -> Json:
    """The target of a reference, combined with the keywords next to it, which apply too."""
    if isinstance(target, Mapping) and beside.keys() <= {*_NOTES, *_HOLDERS}:
        return {**_without_definitions(target), **beside}
    if not beside:
        return target
    return {**beside, "allOf": [*list_at(beside, "allOf"), target]}


def _without_definitions(schema: Tree) -> dict[str, Json]:
    return {keyword: value for keyword, value in schema.items() if keyword not in _HOLDERS}
