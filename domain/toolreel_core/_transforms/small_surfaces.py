"""Transforms of tools for weak models: an example of a call, shorter descriptions, fewer properties.

What a tool takes stays as it is: a call is checked against the whole schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of, tree_at
from toolreel_core._schema import changed_within, inlined
from toolreel_core._transforms.registry import register_transform

_MEASURED: Final = "docs/weak-models.md: what was measured"
_LONGEST: Final = 120
_DEEPEST: Final = 4
_SENTENCE: Final = re.compile(r".+?[.!?](?=\s|\Z)", re.DOTALL)
"""The first sentence of a description."""


@register_transform(
    "tool",
    "tool_example_call",
    about="Adds an example of a call to each description, from the schema, for models that miss the form.",
    evidence=(_MEASURED,),
)
def tool_example_call(tool: Tree) -> Tree:
    """The tool with an example in the description of its function."""
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return tool
    parameters = inlined(tree_at(function, "parameters"), endless="cut")
    arguments = _example(parameters, "", 0) if parameters else {}
    call = canonical({"name": function.get("name"), "arguments": arguments})
    description = f"{function.get('description') or ''} Example of a call: {call}".strip()
    return {**tool, "function": {**function, "description": description}}


def _example(schema: Json, name: str, depth: int) -> Json:
    """A value of the form that a schema describes."""
    tree = as_tree(schema)
    given = _given(tree)
    if given:
        return given[0]
    kinds = tree.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    match kind:
        case "integer" | "number":
            return tree.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
        case "array":
            return [_example(tree.get("items"), name, depth + 1)] if depth < _DEEPEST else []
        case "object":
            properties = tree_at(tree, "properties") if depth < _DEEPEST else {}
            needed = {key: properties[key] for key in properties if key in items_of(tree, "required")}
            return {key: _example(part, key, depth + 1) for key, part in needed.items()}
        case _:
            return f"<{name}>"


def _given(tree: Tree) -> Sequence[Json]:
    """The values that a schema names itself."""
    alone = [tree[key] for key in ("const", "default") if key in tree]
    return [*alone, *items_of(tree, "examples"), *items_of(tree, "enum")]


@register_transform(
    "tool",
    "tool_first_sentences",
    about="Leaves the first sentence of each description, at most 120 characters, to spend fewer tokens.",
    evidence=(_MEASURED,),
)
def tool_first_sentences(tool: Tree) -> Tree:
    """The tool with short descriptions of its function and its properties."""
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return tool
    short = _with_first_sentence(function)
    if isinstance(parameters := function.get("parameters"), Mapping):
        short = {**short, "parameters": _shortened(parameters)}
    return {**tool, "function": short}


def _shortened(schema: Json) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    return _with_first_sentence(changed_within(schema, _shortened))


def _with_first_sentence(tree: Tree) -> Tree:
    text = tree.get("description")
    if not isinstance(text, str):
        return tree
    sentence = _SENTENCE.match(text.strip())
    first = sentence.group() if sentence else text.strip()
    return {**tree, "description": first if len(first) <= _LONGEST else f"{first[: _LONGEST - 2]} …"}


@register_transform(
    "tool",
    "tool_required_properties",
    about="Leaves out optional properties of a tool that has required ones, for models that fill in all.",
    evidence=(_MEASURED,),
)
def tool_required_properties(tool: Tree) -> Tree:
    """The tool with its required properties alone; one that requires nothing stays as it is."""
    function = tool.get("function")
    parameters = tree_at(as_tree(function), "parameters")
    properties, required = tree_at(parameters, "properties"), items_of(parameters, "required")
    if not isinstance(function, Mapping) or not required:
        return tool
    kept = {name: part for name, part in properties.items() if name in required}
    return {**tool, "function": {**function, "parameters": {**parameters, "properties": kept}}}
