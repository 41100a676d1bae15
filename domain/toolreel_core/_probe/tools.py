"""The tools that a probe offers, and the picture that it shows."""

from __future__ import annotations

from typing import Final

from toolreel_core._jsontext import Json, Tree, parse
from toolreel_core._tools import ToolDefinition, ToolSurface

LOOKUP: Final = ToolDefinition.of(
    "lookup",
    "Returns the value that is stored under a key.",
    {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
)
PING: Final = ToolDefinition.of(
    "ping", "Tells whether the system is up. It takes no arguments.", {"type": "object", "properties": {}}
)
ORDER: Final = ToolDefinition.of(
    "order",
    "Orders an item.",
    {
        "type": "object",
        "properties": {
            "item": {"type": "string"},
            "count": {"type": "integer"},
            "price": {"type": "number"},
            "gift": {"type": "boolean"},
            "labels": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["item", "count", "price", "gift", "labels"],
    },
)
SURFACE: Final = ToolSurface((LOOKUP, PING, ORDER))
"""All of them: what a reply is read with."""

KEYWORDS: Final[Tree] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "key": {"type": "string"},
        "kind": {"const": "value"},
        "version": {"type": ["integer", "null"], "exclusiveMinimum": 0},
    },
    "required": ["key"],
    "additionalProperties": False,
}
"""Parameters with keywords that a subset of JSON Schema leaves out."""

REFERENCES: Final[Tree] = {
    "type": "object",
    "properties": {"key": {"$ref": "#/$defs/Key"}},
    "required": ["key"],
    "$defs": {"Key": {"type": "string"}},
}
STRICT: Final[Tree] = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}

CONTROL_TOKENS: Final = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>", "</s>")
"""Ends of turns in common chat templates: in a text, they should be characters like any others."""
LIKE_THEM: Final = ("<|ix_edn|>", "<|exy_ix|>", "<edn_fo_xurt>", "<|endxftext|>", "</x>")
"""Texts of the same form that no template knows."""

RED: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BAQEBAQEBAQEBA"
    "QEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC"
)
"""A red square."""


def entry(tool: ToolDefinition) -> Tree:
    """The entry of ``tools`` for one of them."""
    return _entry(tool.name, tool.description, parse(tool.parameters))


def variant(parameters: Tree, **more: Json) -> Tree:
    """The entry of ``lookup`` with other parameters."""
    return _entry(LOOKUP.name, LOOKUP.description, parameters, **more)


def _entry(name: str, description: str, parameters: Json, **more: Json) -> Tree:
    function: Tree = {"name": name, "description": description, "parameters": parameters, **more}
    return {"type": "function", "function": function}
