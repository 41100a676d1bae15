"""Transforms of the tools that are sent, most of them of the schemas in them, and of tool results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolreel_core._jsontext import Json, Tree, tree_at
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
