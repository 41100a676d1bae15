"""Transforms of tool calls, as they stand in a reply."""

from __future__ import annotations

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._jsontext.trees import is_blank, tree_at
from toolreel_core._transforms.registry import register_transform


@register_transform(
    "tool_call",
    "assistant_tool_calls_arguments_blank_to_empty_object",
    about="Arguments that are blank, null or missing become an empty object, as models mean it.",
    evidence=("openai/openai-agents-js#664", "sigoden/aichat#1217", "SillyTavern/SillyTavern#4084"),
)
def arguments_blank_to_empty_object(call: Tree) -> Tree:
    """The call with ``arguments: "{}"``, if it was made without any; the text ``null`` is none either."""
    function = tree_at(call, "function")
    if not function or not _says_nothing(function.get("arguments")):
        return call
    return {**call, "function": {**function, "arguments": "{}"}}


def _says_nothing(arguments: Json) -> bool:
    return is_blank(arguments) or (isinstance(arguments, str) and arguments.strip() == "null")
