"""Check arguments with jsonschema-rs first: 1 us instead of 30 with jsonschema.

It is used only for schemas that :mod:`toolreel_core._schema.compiled` does not support, with keywords for
which it cannot disagree with jsonschema, and only to accept values: see
:mod:`toolreel_core._schema.validators`. jsonschema still checks rarer keywords, references (another
recursion limit), regular expressions (another dialect) and ``multipleOf`` (another division).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from toolreel._errors import MissingExtra
from toolreel_core._jsontext.canonical import Json, JsonText, parse
from toolreel_core._schema.compiled import Check
from toolreel_core._schema.validators import register_validator
from toolreel_core._schema.walk import subschemas

try:
    import jsonschema_rs
except ImportError:
    raise MissingExtra.of("fast", "jsonschema-rs") from None

__all__ = ["compiled_check", "install"]

_SHARED_KEYWORDS: Final = frozenset(
    {
        *("$comment", "default", "deprecated", "description", "examples", "format"),
        *("readOnly", "title", "writeOnly"),
        *(
            "additionalProperties",
            "properties",
            "propertyNames",
            "required",
            "maxProperties",
            "minProperties",
        ),
        *("contains", "items", "maxItems", "minItems", "prefixItems", "uniqueItems"),
        *("maxLength", "minLength", "type"),
        *("allOf", "anyOf", "else", "if", "not", "oneOf", "then"),
    }
)
_NUMERIC: Final = frozenset({"const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})
_EXACT: Final = 2**53
"""Up to here, integers and floats represent the same numbers."""


def install() -> None:
    """Use it for the arguments of all runs in this process."""
    register_validator(compiled_check)


def compiled_check(schema: JsonText) -> Check | None:
    """The validator of a schema; ``None`` if jsonschema might disagree on some value.

    >>> from toolreel_core._jsontext.canonical import canonical
    >>> check = compiled_check(canonical({"type": "object", "required": ["n"]}))
    >>> check({"n": 1}), check({})
    (True, False)
    >>> compiled_check(canonical({"type": "string", "pattern": "^a"}))
    """
    tree = parse(schema)
    if not isinstance(tree, Mapping) or not _is_known(tree):
        return None
    return jsonschema_rs.Draft202012Validator(dict(tree), validate_formats=False).is_valid


def _is_known(schema: Json) -> bool:
    if not isinstance(schema, Mapping):
        return isinstance(schema, bool)
    for keyword, value in schema.items():
        if keyword not in _SHARED_KEYWORDS and not (keyword in _NUMERIC and _is_exact(value)):
            return False
    return all(map(_is_known, subschemas(schema)))


def _is_exact(value: Json) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int() | float():
            return -_EXACT <= value <= _EXACT
        case Mapping():
            return all(map(_is_exact, value.values()))
        case Sequence():
            return all(map(_is_exact, value))
        case _:
            assert_never(value)
