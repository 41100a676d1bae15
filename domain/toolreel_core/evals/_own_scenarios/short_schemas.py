"""The short form of a tool's arguments: ``{ city = "string: The city.", days = "integer?" }``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolreel_core._internal.config_checks import Table
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Json

_TYPES: Final = ("string", "integer", "number", "boolean", "object")
_WORD: Final = re.compile(
    r"(?P<type>\w+)(?P<list>\[\])?(?P<optional>\?)?\s*(?::\s*(?P<about>.*))?", re.DOTALL
)
"""A type, with the marks of a list and of an optional parameter, and its description."""


def parameters_of(table: Table) -> dict[str, Json]:
    """The JSON Schema of an ``arguments`` table.

    >>> parameters_of(Table.of({"city": "string", "days": "integer?: How many."}))["required"]
    ['city']

    :raises PlaceError: at an argument that is none of the forms
    """
    properties, required = dict[str, Json](), list[Json]()
    for name, value in table.values.items():
        schema, needed = _property(table, name, value)
        properties[name] = schema
        required += [name] if needed else []
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _property(table: Table, name: str, value: Any) -> tuple[Json, bool]:  # noqa: ANN401 - a value of data
    match value:
        case list():
            return {"enum": [*value]}, True
        case Mapping():
            return dict(value), True
        case str():
            return _of_word(table, name, value)
        case _:
            raise table.complaint(
                f"expected a type such as 'integer', a list of values, or a JSON Schema, got {value!r}", name
            )


def _of_word(table: Table, name: str, text: str) -> tuple[Json, bool]:
    found = _WORD.fullmatch(text.strip())
    word = found["type"] if found else text
    if not found or word not in _TYPES:
        what = unknown_name("type", word, _TYPES)
        raise table.complaint(
            f"{what}; [] makes a list of it, ? an optional one, and ': ' begins a description", name
        )
    about: dict[str, Json] = {"description": found["about"].strip()} if found["about"] else {}
    one: dict[str, Json] = {"type": word}
    schema = {"type": "array", "items": one, **about} if found["list"] else {**one, **about}
    return schema, not found["optional"]
