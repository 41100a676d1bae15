"""The leaderboard's documents of functions as tool definitions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from benchmarks.bfcl.cases import documents
from toolreel_core._tools import ToolDefinition, ToolSurface

__all__ = ["schema", "surface"]

_TYPES: Mapping[str, str] = {"dict": "object", "float": "number", "tuple": "array"}
"""Python's words for types, and those of JSON Schema."""


@cache
def surface(backends: tuple[str, ...], withheld: tuple[str, ...]) -> ToolSurface:
    """The tools of some backends, less those that are withheld."""
    tools = (tool for backend in backends for tool in _definitions(backend))
    return ToolSurface(tuple(tool for tool in tools if tool.name not in withheld))


@cache
def _definitions(backend: str) -> tuple[ToolDefinition, ...]:
    return tuple(
        ToolDefinition.of(document["name"], document["description"], schema(document["parameters"]))
        for document in documents(backend)
    )


def schema(tree: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema out of what the leaderboard writes for it.

    >>> schema({"type": "dict", "properties": {"n": {"type": "float"}}, "required": ["n"]})
    {'type': 'object', 'properties': {'n': {'type': 'number'}}, 'required': ['n']}
    """
    clean = dict(tree)
    if "type" in clean:
        clean["type"] = _TYPES.get(clean["type"], clean["type"])
    if "properties" in clean:
        clean["properties"] = {name: schema(part) for name, part in clean["properties"].items()}
    if "items" in clean:
        clean["items"] = schema(clean["items"])
    return clean
