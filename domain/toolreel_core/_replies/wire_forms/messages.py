"""A reply in the form of Anthropic's Messages, as one of chat completions.

https://docs.anthropic.com/en/api/messages. The blocks are read as servers and gateways really write them:
a text in place of the list, blocks without a type, an ``input`` that is text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, canonical, finite, read
from toolreel_core._replies.wire_forms.translated import Translated, type_of
from toolreel_core._settings import MESSAGES_BLOCKS

_HEAD: Final = ("id", "model", "provider", "error")
_PIECES: Final = "partial_json"
"""Where the assembled stream has the text of an ``input``."""
_INPUTS: Final = (_PIECES, "input", "arguments", "parameters")
_PAUSED: Final = "pause_turn"
_FINISHES: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "refusal": "stop",
    _PAUSED: "stop",
}
"""The words of chat completions for these reasons; an ordinary reply is read faster in its own."""
_REFUSED: Final = "The model refuses to answer."


def chat_of_message(body: Json) -> Translated:
    """The reply as a chat completion; unchanged if it is none of this form.

    >>> said = {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "a"}}
    >>> translated = chat_of_message({"role": "assistant", "content": [said], "stop_reason": "tool_use"})
    >>> translated.body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    '{"host":"a"}'
    """
    if not isinstance(body, Mapping) or "content" not in body or "choices" in body:
        return Translated(body)
    blocks = _blocks(body["content"])
    calls = [_call(block) for block in blocks if _kind(block) == "tool_use"]
    text = "".join(map(_text, blocks))
    thinking = "".join(map(_thought, blocks))
    message: dict[str, Json] = {"role": body.get("role", "assistant"), "content": text}
    if thinking:
        message["thinking"] = thinking
    if calls:
        message["tool_calls"] = calls
    if body.get("stop_reason") == "refusal":
        message["refusal"] = text or _why(body)
    head = {key: body[key] for key in _HEAD if body.get(key)}
    usage = {"usage": _usage(as_tree(body["usage"]))} if isinstance(body.get("usage"), Mapping) else {}
    reason = body.get("stop_reason")
    finish = _FINISHES.get(reason, reason) if isinstance(reason, str) else reason
    choice: Tree = {"index": 0, "message": message, "finish_reason": finish}
    return Translated(
        {**head, **usage, "choices": [choice]}, carried_in_messages(blocks), paused=reason == _PAUSED
    )


def whole_blocks(body: Tree) -> list[Tree]:
    """The blocks of a reply as documented, each with its type.

    >>> whole_blocks({"content": "Hi."})
    [{'type': 'text', 'text': 'Hi.'}]
    """
    return [{**_whole(block), "type": _kind(block)} for block in _blocks(body.get("content"))]


def _blocks(content: Json) -> list[Tree]:
    """The blocks of a content; a text in the place of a block is one of text."""
    listed = content if isinstance(content, Sequence) and not isinstance(content, str) else [content]
    return [
        block if isinstance(block, Mapping) else {"type": "text", "text": block}
        for block in listed
        if block is not None
    ]


def _kind(block: Tree) -> str:
    """The type of a block; where it has none, what it holds tells."""
    if kind := type_of(block):
        return kind
    if "name" in block and not {*_INPUTS}.isdisjoint(block):
        return "tool_use"
    return next((key for key in ("text", "thinking") if key in block), "")


def _text(block: Tree) -> str:
    text = block.get("text") if _kind(block) == "text" else None
    return text if isinstance(text, str) else ""


def _thought(block: Tree) -> str:
    text = block.get("thinking") if _kind(block) == "thinking" else None
    return text if isinstance(text, str) else ""


def _call(block: Tree) -> Json:
    given = next((block[key] for key in _INPUTS if block.get(key) is not None), None)
    # An object is what the form documents, so its text is no repair.
    arguments = canonical(finite(given)) if isinstance(given, Mapping) else given
    function: Tree = {"name": block.get("name"), "arguments": "{}" if given is None else arguments}
    return {"id": block.get("id"), "type": "function", "function": function}


def _why(body: Tree) -> str:
    why = as_tree(body.get("stop_details")).get("explanation")
    return why if isinstance(why, str) and why.strip() else _REFUSED


def _usage(usage: Tree) -> Tree:
    """Counts as chat completions have them, where what the cache holds is part of the prompt."""
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    counts = [count for count in (usage.get("input_tokens"), read, written) if type(count) is int]
    cached: Tree = {"prompt_tokens_details": {"cached_tokens": read}} if read else {}
    return {**usage, "prompt_tokens": sum(counts), "completion_tokens": usage.get("output_tokens"), **cached}


def carried_in_messages(blocks: Sequence[Tree]) -> JsonText:
    """The blocks that go back unchanged, with the places of the calls; nothing if all is text and calls."""
    if all(_kind(block) in {"text", "tool_use"} and "citations" not in block for block in blocks):
        return NOTHING
    kept = [_place(block) if _kind(block) == "tool_use" else _whole(block) for block in blocks]
    return canonical(finite({MESSAGES_BLOCKS: kept}))


def _place(block: Tree) -> Tree:
    """A call without what the message says of it."""
    return {key: value for key, value in block.items() if key not in {"id", "name", *_INPUTS}}


def _whole(block: Tree) -> Tree:
    """A block whose input came in pieces, as the server would have written it."""
    pieces = block.get(_PIECES)
    if not isinstance(pieces, str):
        return block
    rest = {key: value for key, value in block.items() if key != _PIECES}
    given = read(pieces).value_or(None)
    return {**rest, "input": given} if isinstance(given, Mapping) else rest
