"""Merge ``allOf`` into one schema, for providers that do not support it.

The merged schema is slightly looser; where parts contradict each other, the first wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._jsontext.trees import as_tree, items_of, tree_at


def with_all_of(schema: Tree) -> Tree:
    """A schema with its ``allOf`` merged into it.

    >>> with_all_of({"title": "A", "allOf": [{"title": "B", "type": "string"}]})
    {'title': 'A', 'type': 'string'}
    """
    together: Tree = {key: value for key, value in schema.items() if key != "allOf"}
    for part in items_of(schema, "allOf"):
        together = _both(together, with_all_of(as_tree(part)))
    return together


def with_properties_of(branches: Sequence[Tree], schema: Tree) -> Tree:
    """An object schema with the properties of all branches; what every branch requires is required.

    >>> with_properties_of([{"properties": {"b": True}}, {"properties": {"c": True}}], {"type": "object"})
    {'type': 'object', 'properties': {'b': True, 'c': True}, 'required': []}
    """
    if not branches:
        return schema
    folded = [with_all_of(branch) for branch in branches]
    properties = tree_at(schema, "properties")
    for part in folded:
        properties = _joined(properties, tree_at(part, "properties"))
    needed: list[Json] = [
        name
        for name in items_of(folded[0], "required")
        if all(name in items_of(part, "required") for part in folded)
    ]
    return {**schema, "properties": properties, "required": [*items_of(schema, "required"), *needed]}


def _both(first: Tree, second: Tree) -> Tree:
    together = _joined(first, second)
    if "properties" in together:
        together["properties"] = _joined(tree_at(first, "properties"), tree_at(second, "properties"))
    if "required" in together:
        together["required"] = [*items_of(first, "required"), *items_of(second, "required")]
    return together


def _joined(first: Tree, second: Tree) -> dict[str, Json]:
    return {**first, **{key: value for key, value in second.items() if key not in first}}
