"""Tool calls as OpenAI documents them, of tools that there are, with nothing to mend and nothing to carry."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from toolreel_core._internal.frozen import maker
from toolreel_core._jsontext.canonical import NOTHING, Json, JsonText
from toolreel_core._jsontext.fast import canonical_object, plain_object
from toolreel_core._replies.calls.tool_call import ToolCall

__all__ = ["ordinary_calls"]

_ENTRY: Final = frozenset({"function", "id", "index", "type"})
_FUNCTION: Final = frozenset({"arguments", "name"})
_WRAPPERS: Final = frozenset({"args", "arguments", "input", "parameters"})
"""Keys of arguments that may be a whole call."""

_tool_call: Final = maker(ToolCall)


def ordinary_calls(listed: Json, known: Collection[str], max_depth: int) -> tuple[ToolCall, ...] | None:
    """The calls in ``tool_calls``, if all of them are ordinary.

    >>> entry = {"id": "call_a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
    >>> ordinary_calls([entry], {"ping"}, max_depth=64)[0].id
    'call_a'
    >>> ordinary_calls([entry], {"pong"}, max_depth=64)

    :param known: the names of tools that there are
    """
    if not isinstance(listed, list):
        return None
    calls: list[ToolCall] = []
    for entry in listed:
        call = _call(entry, known, max_depth)
        if call is None:
            return None
        calls.append(call)
    distinct = len(calls) < 2 or len({call.id for call in calls}) == len(calls)
    return tuple(calls) if distinct else None


def _call(entry: Json, known: Collection[str], max_depth: int) -> ToolCall | None:
    if not isinstance(entry, dict) or not _ENTRY.issuperset(entry):
        return None
    identity, function = entry.get("id"), entry.get("function")
    if not isinstance(function, dict) or not _FUNCTION.issuperset(function):
        return None
    name, text = function.get("name"), function.get("arguments")
    if not isinstance(identity, str) or not isinstance(name, str) or not isinstance(text, str):
        return None
    arguments = _arguments(text, max_depth) if name in known and identity.strip() else None
    if arguments is None:
        return None
    original = arguments if text == arguments else text
    return _tool_call(identity, name, arguments, original, "structured", NOTHING)


def _arguments(text: str, max_depth: int) -> JsonText | None:
    tree = plain_object(text, max_depth=max_depth)
    # A key with markup in it, or a single one that says "arguments", is for whoever reads with care.
    if tree is None or "<" in "".join(tree) or not _WRAPPERS.isdisjoint(tree):
        return None
    return canonical_object(text, tree)
