"""The short form of a tool's parameters: ``{ city = "string", days = "integer?: How many." }``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolreel_core._config_checks import Table, unknown_name
from toolreel_core._jsontext import Json

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
        found = _WORD.fullmatch(value.strip()) if isinstance(value, str) else None
        if found and found["type"] in _TYPES:
            word: dict[str, Json] = {"type": found["type"]}
            schema: dict[str, Json] = {"type": "array", "items": word} if found["list"] else word
            about = {"description": found["about"].strip()} if found["about"] else {}
            properties[name] = {**schema, **about}
        elif isinstance(value, list):
            properties[name] = {"enum": value}
        elif isinstance(value, Mapping):
            properties[name] = value
        else:
            marks = "[] makes a list of it, ? an optional one, and ': ' begins a description"
            what = unknown_name("type", found["type"] if found else str(value), _TYPES)
            raise table.complaint(f"{what}, or write a list of values or a JSON Schema; {marks}", name)
        required += [] if found and found["optional"] else [name]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
