"""Schemas for providers that take a subset of JSON Schema: Gemini."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from toolreel_core._jsontext import (
    Json,
    Tree,
    as_tree,
    canonical,
    json_type,
    list_at,
    schema_types,
    text_at,
    tree_at,
)
from toolreel_core._schema.walk import inline_references

# The subset of OpenAPI 3.0 that Gemini accepts. One unknown keyword makes Gemini reject the whole request
# ("Unknown name … Cannot find field"), and so does a node without a type, an enum of anything but strings, or
# a keyword next to ``anyOf`` (freellmapi#65, genoffice#186). The schema sent is looser than the original;
# arguments are still validated against the original.


def merge_all_of(schema: Tree) -> Tree:
    together: dict[str, Json] = {key: value for key, value in schema.items() if key != "allOf"}
    for each in list_at(schema, "allOf"):
        part = merge_all_of(as_tree(each))
        # Spread twice: the first gives the order, the last the values; earlier parts come first and win.
        own = tree_at(together, "properties")
        properties = {**own, **tree_at(part, "properties"), **own}
        required = [*list_at(together, "required"), *list_at(part, "required")]
        together = {**together, **part, **together}
        together |= {"properties": properties} if properties else {}
        together |= {"required": required} if required else {}
    return together


def merge_branch_properties(branches: Sequence[Tree], schema: Tree) -> Tree:
    """An object schema with the properties of all branches; what every branch requires is required."""
    if not branches:
        return schema
    folded = [merge_all_of(branch) for branch in branches]
    properties = tree_at(schema, "properties")
    for part in folded:
        properties = {**properties, **tree_at(part, "properties"), **properties}
    needed: list[Json] = [
        name
        for name in list_at(folded[0], "required")
        if all(name in list_at(part, "required") for part in folded)
    ]
    return {**schema, "properties": properties, "required": [*list_at(schema, "required"), *needed]}


_TYPES: Sequence[str] = ("array", "boolean", "integer", "number", "object", "string")
_FORMATS: Mapping[str, Sequence[str]] = {
    "string": ("date-time",),
    "integer": ("int32", "int64"),
    "number": ("double", "float"),
}
_COUNTS: Mapping[str, Sequence[str]] = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_SHAPES: Mapping[str, Sequence[str]] = {
    "object": ("$ref", "properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""Keywords that show the type of a schema that declares none; the first type that has one counts."""
_OWN_SHAPE = ("properties", "items", "prefixItems", "enum", "const")
"""Keywords that a schema may not have next to ``anyOf``: then its branches are merged into it."""


def gemini_subset(schema: Tree) -> Tree:
    """The schema of a tool's arguments as Gemini takes it: one object, of types that it knows.

    If the root is a choice of objects, the result has the properties of all of them.
    """
    root = merge_all_of(inline_references(schema))
    return _gemini_schema_of_type(
        merge_branch_properties(_branches_except_null(root), root), "object", nullable=False
    )


def _gemini_schema(schema: Json) -> dict[str, Json]:
    tree = merge_all_of(as_tree(schema))
    branches, kinds = _branches_except_null(tree), _types_of(tree)
    if not branches and len(kinds) > 1:
        return _gemini_any_of(tree, [{**tree, "type": kind} for kind in kinds])
    if branches and not any(key in tree for key in _OWN_SHAPE):
        return _gemini_any_of(tree, branches)
    kind = kinds[0] if kinds else "string"
    return _gemini_schema_of_type(merge_branch_properties(branches, tree), kind, nullable=_is_nullable(tree))


def _gemini_any_of(tree: Tree, branches: Sequence[Tree]) -> dict[str, Json]:
    shared = {key: tree[key] for key in ("type", "description") if isinstance(tree.get(key), str)}
    null = {"nullable": True} if _is_nullable(tree) else {}
    nodes = [_gemini_schema({**shared, **branch, **null}) for branch in branches]
    flat = [part for node in nodes for part in (list_at(node, "anyOf") or [node])]
    return {"anyOf": flat} if len(flat) > 1 else nodes[0]


def _gemini_schema_of_type(tree: Tree, kind: str, *, nullable: bool) -> dict[str, Json]:
    node: dict[str, Json] = {"type": kind, "nullable": True} if nullable else {"type": kind}
    if isinstance(tree.get("title"), str):
        node["title"] = tree["title"]
    # What Gemini has no keyword for is said in the description.
    about, form, listed = text_at(tree, "description"), text_at(tree, "format"), _const_or_enum_values(tree)
    # Gemini's own format ``enum`` says no more than the keyword.
    has_format = form in _FORMATS.get(kind, ())
    choices = ", ".join(canonical(choice) for choice in listed if not isinstance(choice, str))
    words = (
        about,
        "" if has_format or form in {"", "enum"} else f"Format: {form}.",
        f"One of: {choices}." if choices and kind != "string" else "",
    )
    if description := " ".join(filter(None, words)):
        node["description"] = description
    if has_format:
        node["format"] = form
    node |= {key: tree[key] for key in _COUNTS.get(kind, ()) if type(tree.get(key)) is int}
    match kind:
        case "string":
            texts = dict.fromkeys(choice for choice in listed if isinstance(choice, str) and choice)
            node |= {"pattern": tree["pattern"]} if isinstance(tree.get("pattern"), str) else {}
            node |= {"enum": [*texts]} if texts else {}
        case "integer" | "number":
            node |= _gemini_bounds(tree, kind)
        case "array":  # the schema of its elements has to be there, and one for all places
            places = [*list_at(tree, "prefixItems"), *list_at(tree, "items")]
            node["items"] = _gemini_schema({"anyOf": places} if places else tree.get("items"))
        case "object":  # no list of properties or names at all, rather than an empty one
            properties = {name: _gemini_schema(part) for name, part in tree_at(tree, "properties").items()}
            node |= {"properties": properties} if properties else {}
            for key in ("required", "propertyOrdering"):
                names = (name for name in list_at(tree, key) if isinstance(name, str) and name in properties)
                known = dict.fromkeys(names)
                node |= {key: [*known]} if known else {}
        case _:
            pass
    return node


def _gemini_bounds(tree: Tree, kind: str) -> dict[str, Json]:
    """The bounds of a number; one that is excluded gives way to the next whole number, or is let in."""
    bounds = dict[str, Json]()
    for key, excluded, inner in (("minimum", "exclusiveMinimum", max), ("maximum", "exclusiveMaximum", min)):
        found = [value for value in [tree.get(key)] if _is_number(value)]
        if _is_number(value := tree.get(excluded)):
            up = math.floor(value) + 1 if key == "minimum" else math.ceil(value) - 1
            found.append(up if kind == "integer" else value)
        if found:
            bounds[key] = inner(found)
    return bounds


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _branches_except_null(tree: Tree) -> list[Tree]:
    return [part for part in _union_branches(tree) if not _is_null(part)]


def _union_branches(tree: Tree) -> list[Tree]:
    return [as_tree(part) for part in list_at(tree, "anyOf") or list_at(tree, "oneOf")]


def _types_of(tree: Tree) -> list[str]:
    """The types of a schema: declared, else of its choices, else inferred from its keywords."""
    named = dict.fromkeys(kind for kind in schema_types(tree) if kind in _TYPES)
    chosen = dict.fromkeys(map(json_type, _const_or_enum_values(tree)))
    shaped: list[str] = [kind for kind, keys in _SHAPES.items() if any(key in tree for key in keys)][:1]
    return [*named] or [*chosen] or shaped


def _const_or_enum_values(tree: Tree) -> list[Json]:
    listed = [tree["const"]] if "const" in tree else list_at(tree, "enum")
    return [choice for choice in listed if choice is not None]


def _is_nullable(tree: Tree) -> bool:
    return (
        tree.get("nullable") is True
        or "null" in schema_types(tree)
        or ("const" in tree and tree["const"] is None)
        or None in list_at(tree, "enum")
        or any(map(_is_null, _union_branches(tree)))
    )


def _is_null(tree: Tree) -> bool:
    listed = [tree["const"]] if "const" in tree else list_at(tree, "enum")
    return schema_types(tree) == ["null"] or ("type" not in tree and [*listed] == [None])
