"""Calls of the client's history with arguments that every server can read.

A client keeps what the model wrote, and sends it back: arguments that were cut, are no object or hold NaN.
Servers that parse them refuse the whole conversation from then on (ggml-org/llama.cpp#25510,
vllm-project/vllm#19419), so they go out as the loop itself writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolreel_core._conversation import AssistantMessage, Message, SentCall
from toolreel_core._jsontext import Json, as_tree, items_of, read, tree_at


def readable(messages: Sequence[Message], entries: Sequence[Json]) -> tuple[Message, ...]:
    """The messages; those whose arguments are not the text of an object are replaced.

    :param entries: the same messages as the client wrote them
    """
    return tuple(_readable(message, entry) for message, entry in zip(messages, entries, strict=True))


def _readable(message: Message, entry: Json) -> Message:
    if not isinstance(message, AssistantMessage) or not message.calls:
        return message
    written = [
        tree_at(as_tree(call), "function").get("arguments") for call in items_of(as_tree(entry), "tool_calls")
    ]
    both = zip(message.calls, written, strict=True)
    calls = tuple([_with_object(call, original) for call, original in both])
    same = all(one is other for one, other in zip(calls, message.calls, strict=True))
    return message if same else replace(message, calls=calls)


def _with_object(call: SentCall, written: Json) -> SentCall:
    """The call with the text of an object: its own, or an empty one, as the result says what was wrong."""
    is_object = read(call.arguments).map(lambda tree: isinstance(tree, Mapping)).value_or(False)
    if not is_object:
        return replace(call, arguments="{}")
    return call if isinstance(written, str) else replace(call)
