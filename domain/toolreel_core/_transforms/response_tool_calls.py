"""Transforms of responses, and of the tool calls in them: bring the calls into today's form.

Calls that are moved here get no id, since one that is the same in every turn would pair results with the
wrong calls; the reader of the response numbers them over the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, in_order, is_blank, items_of, tree_at
from toolreel_core._transforms.registry import register_transform

_DIALECT: Final = "hermes_json"


def _for_each_choice(change: Callable[[Tree], Tree]) -> Callable[[Tree], Tree]:
    """A transform of bodies, from one of the choices in them."""

    @wraps(change)
    def changed(body: Tree) -> Tree:
        before = items_of(body, "choices")
        after = [change(choice) if isinstance(choice, Mapping) else choice for choice in before]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return body
        return {**body, "choices": after}

    return changed


def _for_each_message(change: Callable[[Tree], Tree]) -> Callable[[Tree], Tree]:
    """A transform of bodies, from one of the messages in them."""

    @_for_each_choice
    @wraps(change)
    def changed(choice: Tree) -> Tree:
        message = tree_at(choice, "message")
        after = change(message)
        return choice if after is message else {**choice, "message": after}

    return changed


@register_transform(
    "response",
    "assistant_function_call_to_tool_calls",
    about="A call in the legacy function_call becomes the one entry of tool_calls.",
    evidence=("MeetKai/functionary#243",),
)
@_for_each_message
def function_call_to_tool_calls(message: Tree) -> Tree:
    """The body with the legacy call of each message moved, unless there are calls of today's form."""
    legacy = message.get("function_call")
    if not isinstance(legacy, Mapping) or message.get("tool_calls"):
        return message
    rest = {key: value for key, value in message.items() if key != "function_call"}
    return {**rest, "tool_calls": [{"type": "function", "function": legacy}]}


@register_transform(
    "response",
    "assistant_tool_calls_object_to_array",
    about="A single call in the place of the list of calls becomes a list of one; calls by number, a list.",
    evidence=("sgl-project/sglang#34609",),
)
@_for_each_message
def tool_calls_object_to_array(message: Tree) -> Tree:
    """The body with ``tool_calls`` as a list in each message."""
    single = message.get("tool_calls")
    if not isinstance(single, Mapping):
        return message
    numbered = [*in_order(single).values()]
    return {**message, "tool_calls": [single] if single and not numbered else numbered}


@register_transform(
    "response",
    "assistant_tool_calls_arguments_json_string_if_hash",
    about="Arguments that came as an object become its JSON text.",
    evidence=("ggml-org/llama.cpp#20198", "openclaw/openclaw#97834"),
)
@_for_each_message
def arguments_json_string_if_hash(message: Tree) -> Tree:
    """The body with the arguments of each call as text, where they were an object."""
    calls, changed = [*items_of(message, "tool_calls")], False
    for place, call in enumerate(calls):
        function = tree_at(as_tree(call), "function")
        if isinstance(arguments := function.get("arguments"), Mapping):
            changed = True
            calls[place] = {**as_tree(call), "function": {**function, "arguments": canonical(arguments)}}
    return {**message, "tool_calls": calls} if changed else message


@register_transform(
    "response",
    "assistant_content_tool_call_tags_to_tool_calls",
    about="Calls in the text as <tool_call> tags become tool_calls, if there are none.",
    evidence=("ollama/ollama#17353", "ollama/ollama#14656", "xiaoY233/Chat2API#122"),
)
@_for_each_choice
def content_tool_call_tags_to_tool_calls(choice: Tree) -> Tree:
    """The body with calls taken out of the text of each message that has no structured ones.

    No tool is known here, so ``<tool_call>name</tool_call>``, which counts for a known one only, stays
    text; any name counts in a call that is written out. Each entry says where it came from in
    ``provenance``: text is also where quotations stand, so it deserves less trust.
    """
    message, finish = tree_at(choice, "message"), choice.get("finish_reason")
    content = message.get("content")
    if not isinstance(content, str) or message.get("tool_calls") or message.get("function_call"):
        return choice
    from toolreel_core._text_calls import text_calls  # noqa: PLC0415 - loaded for who has text read

    finish_word = finish if isinstance(finish, str) else ""
    found = text_calls(content, tools=(), dialects=(_DIALECT,), finish=finish_word)
    if not found.calls:
        return choice
    entries: list[Json] = [
        {
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
            "provenance": f"text:{call.dialect}",
        }
        for call in found.calls
    ]
    moved: dict[str, Json] = {"content": found.content or None, "tool_calls": entries}
    if found.reasoning and is_blank(message.get("reasoning_content")):
        moved["reasoning_content"] = found.reasoning
    finish_change = {"finish_reason": "tool_calls"} if finish == "stop" else {}
    return {**choice, "message": {**message, **moved}, **finish_change}


@register_transform(
    "tool_call",
    "assistant_tool_calls_arguments_blank_to_empty_object",
    about="Arguments that are blank, null or missing become an empty object, as models mean it.",
    evidence=("openai/openai-agents-js#664", "sigoden/aichat#1217", "SillyTavern/SillyTavern#4084"),
)
def arguments_blank_to_empty_object(call: Tree) -> Tree:
    """The call with ``arguments: "{}"``, if it was made without any; the text ``null`` is none either."""
    function = tree_at(call, "function")
    arguments = function.get("arguments")
    is_null = isinstance(arguments, str) and arguments.strip() == "null"
    if not function or not (is_null or is_blank(arguments)):
        return call
    return {**call, "function": {**function, "arguments": "{}"}}
