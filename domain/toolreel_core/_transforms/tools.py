"""Transforms of the tools that are sent, most of them of the schemas in them, and of tool results.

For weak models: an example of a call, shorter descriptions, fewer properties. What a tool takes stays as it
is, since a call is checked against the whole schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of, tree_at
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema import changed_within, inlined
from toolreel_core._transforms.registry import Change, register_transform


@register_transform(
    "tool",
    "openai_tools_strip_function_descriptions",
    about="Leaves out what is said about each function, for servers that limit it, or to save tokens.",
    evidence=("getsentry/sentry-mcp#106", "OpenHands/OpenHands#4838", "aaif-goose/goose#739"),
)
def strip_function_descriptions(tool: Tree) -> Tree:
    """The tool without the description of its function; its parameters keep theirs."""
    return _with_function(tool, lambda function: _without_key(function, "description"))


@register_transform(
    "tool",
    "schema_inline_defs",
    about="Writes out $ref and $defs, for models that write text where a reference stands for an object.",
    evidence=("pydantic/pydantic-ai#10243", "pydantic/pydantic-ai#1598", "anomalyco/opencode#12295"),
)
def schema_inline_defs(tool: Tree) -> Tree:
    """The tool with the references in its parameters written out."""
    return _with_parameters(tool, inlined)


@register_transform(
    "tool",
    "schema_gemini_subset",
    about="Rewrites what Gemini refuses in a schema, and leaves out what cannot be rewritten.",
    evidence=(
        "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema",
        "pizza-bot-app/pizza-bot#62",
        "anomalyco/opencode#15795",
        "decolua/9router#359",
        "Smana/runlore#40",
        "directus/mcp#8",
    ),
)
def schema_gemini_subset(tool: Tree) -> Tree:
    """The tool with parameters that Gemini takes, and not ``strict``."""
    from toolreel_core._schema import gemini_subset  # noqa: PLC0415 - for one family of providers

    return _with_parameters(tool, gemini_subset)


@register_transform(
    "tool",
    "schema_strip_strict",
    about="Leaves out strict and what only strict mode asks for, for servers that refuse to know it.",
    evidence=("BerriAI/litellm#6136", "earendil-works/pi#1172", "OpenCoworkAI/open-cowork#232"),
)
def schema_strip_strict(tool: Tree) -> Tree:
    """The tool without ``strict``, and with parameters that nowhere forbid further properties."""
    plain = _with_function(tool, lambda function: _without_key(function, "strict"))
    return _with_parameters(plain, strip_strict)


def strip_strict(schema: Tree) -> Tree:
    """A schema without ``additionalProperties: false``, which strict mode wants everywhere.

    >>> strip_strict({"items": {"additionalProperties": False}, "additionalProperties": {"type": "null"}})
    {'items': {}, 'additionalProperties': {'type': 'null'}}
    """
    return {
        keyword: value
        for keyword, value in changed_within(schema, _strip_strict_in).items()
        if keyword != "additionalProperties" or value is not False
    }


def _strip_strict_in(schema: Json) -> Json:
    return strip_strict(schema) if isinstance(schema, Mapping) else schema


def _with_parameters(tool: Tree, change: Change) -> Tree:
    parameters = tree_at(tool, "function").get("parameters")
    if not isinstance(parameters, Mapping):
        return tool
    return _with_function(tool, lambda function: {**function, "parameters": change(parameters)})


def _with_function(tool: Tree, change: Change) -> Tree:
    function = tool.get("function")
    return {**tool, "function": change(function)} if isinstance(function, Mapping) else tool


def _without_key(tree: Tree, key: str) -> Tree:
    return {name: value for name, value in tree.items() if name != key}


_FROM_THE_TOOL: Final = ("data", "warnings", "errors")


@register_transform(
    "tool_result",
    "tool_result_compact_envelope",
    about="Leaves out of an envelope what is empty, to spend fewer tokens on it.",
    evidence=("context-foundry/context-foundry#233", "taskgenius/taskgenius-plugin#506"),
)
def compact_envelope(envelope: Tree) -> Tree:
    """The envelope without data, warnings and errors that say nothing; ``ok`` and the name stay."""
    if all(envelope.get(key, True) for key in _FROM_THE_TOOL):
        return envelope
    return {key: value for key, value in envelope.items() if value or key not in _FROM_THE_TOOL}


_MEASURED: Final = "docs/weak-models.md: what was measured"
_LONGEST: Final = 120
_DEEPEST: Final = 4
_SENTENCE: Final = lazy_pattern(r".+?[.!?](?=\s|\Z)", re.DOTALL)
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
    parameters = inlined(tree_at(function, "parameters"))
    arguments = _example_value(parameters, "", 0) if parameters else {}
    call = canonical({"name": function.get("name"), "arguments": arguments})
    description = f"{function.get('description') or ''} Example of a call: {call}".strip()
    return {**tool, "function": {**function, "description": description}}


def _example_value(schema: Json, name: str, depth: int) -> Json:
    """A value of the form that a schema describes."""
    tree = as_tree(schema)
    given = _given_values(tree)
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
            return [_example_value(tree.get("items"), name, depth + 1)] if depth < _DEEPEST else []
        case "object":
            properties = tree_at(tree, "properties") if depth < _DEEPEST else {}
            needed = {key: properties[key] for key in properties if key in items_of(tree, "required")}
            return {key: _example_value(part, key, depth + 1) for key, part in needed.items()}
        case _:
            return f"<{name}>"


def _given_values(tree: Tree) -> Sequence[Json]:
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
        short = {**short, "parameters": _shorten_descriptions(parameters)}
    return {**tool, "function": short}


def _shorten_descriptions(schema: Json) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    return _with_first_sentence(changed_within(schema, _shorten_descriptions))


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
