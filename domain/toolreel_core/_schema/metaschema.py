"""Recognising everyday JSON Schemas at once, without going through the metaschema.

The metaschema takes milliseconds a schema, and a run may have a thousand tools. What is recognised here is
sound beyond doubt; of the rest nothing is said, and the metaschema decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._schema.walk import subschemas

__all__ = ["is_everyday"]

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def is_everyday(schema: Json) -> bool:
    """Whether a schema has only keywords that are well known, each with a value that it may have.

    >>> is_everyday({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})
    True
    >>> is_everyday({"type": "text"}), is_everyday({"$anchor": "here"})
    (False, False)
    """
    if not isinstance(schema, Mapping):
        return isinstance(schema, bool)
    known = all(keyword in _FITS and _FITS[keyword](value) for keyword, value in schema.items())
    return known and all(map(is_everyday, subschemas(schema)))


def _anything(_: Json) -> bool:
    return True


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_draft(value: Json) -> bool:
    return value == _DRAFT


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return type(value) is int and value >= 0


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_some_list(value: Json) -> bool:
    return _is_list(value) and bool(value)


def _are_names(value: Json) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(name, str) for name in value)
        and len({*map(str, value)}) == len(value)
    )


def _is_type(value: Json) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _are_names(value) and _is_some_list(value) and _TYPES.issuperset(map(str, _items(value)))


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) else ()


def _is_by_name(value: Json) -> bool:
    return isinstance(value, Mapping)


def _is_by_pattern(value: Json) -> bool:
    return isinstance(value, Mapping) and all(map(_is_pattern, value))


def _is_pattern(value: Json) -> bool:
    return isinstance(value, str) and _compiles(value)


@lru_cache(maxsize=256)
def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


_FITS: Final[Mapping[str, Callable[[Json], bool]]] = {
    **dict.fromkeys(("title", "description", "$comment", "format", "$ref"), _is_text),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _is_flag),
    **dict.fromkeys(("default", "const"), _anything),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("additionalProperties", "items", "not", "if", "then", "else"), _anything),
    **dict.fromkeys(("contains", "propertyNames"), _anything),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _is_some_list),
    **dict.fromkeys(("properties", "$defs", "definitions"), _is_by_name),
    "patternProperties": _is_by_pattern,
    "$schema": _is_draft,
    "pattern": _is_pattern,
    "required": _are_names,
    "type": _is_type,
}
"""What the value of each keyword has to be; schemas inside of it are looked at in their turn."""
