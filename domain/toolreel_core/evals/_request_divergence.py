"""Provider-neutral content of a request, and where two requests diverge.

Strategies encode the same conversation differently: call ids, reasoning sent back, text next to a call, the
subset of a schema. None of this is compared; but tools with their words, messages, and the options that
decide which replies are likely or possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, list_at, read_json, text_at

_ENCODING = frozenset(
    {
        *("messages", "tools", "model"),
        *("stream", "stream_options", "usage"),
        *("user", "safety_identifier", "metadata", "store", "prompt_cache_key"),
        # Another sample of the same replies.
        "seed",
        # The loop itself keeps to it, whatever the model does.
        "parallel_tool_calls",
    }
)
"""Keys of a body that say nothing of which replies are likely, or that are compared in another way."""
_FREE = ("auto", "none")
"""Choices of a tool that force no call; without tools, the tools are what differs."""
_MAX_EXCERPT = 80


def request_content(body: Tree, *, conversation: bool = False) -> Tree:
    """The content of a request's body: its ``messages``, ``tools`` (what each says) and ``options``.

    :param conversation: leave out what acts on the model alone: descriptions of tools, and options
    """
    messages, latest = list[Tree](), list[str]()
    for message in _as_trees(body.get("messages")):
        role, made = text_at(message, "role"), _as_trees(message.get("tool_calls"))
        if role == "assistant":
            latest = [text_at(call, "id") for call in made]
        called = text_at(message, "tool_call_id")
        one: Tree = {
            "role": "system" if role == "developer" else role,
            "text": "" if made else _text_of_content(message.get("content")).strip(),
            "calls": [_call_text(as_tree(call.get("function"))) for call in made],
            # Which of the calls before it a result belongs to, from 1 on.
            "answers": latest.index(called) + 1 if role == "tool" and called in latest else 0,
        }
        # A message of the model without text and calls says nothing.
        if role != "assistant" or made or one["text"]:
            messages.append(one)
    offered = [] if body.get("tool_choice") == "none" else _as_trees(body.get("tools"))
    functions = [as_tree(tool.get("function")) for tool in offered]
    words = {text_at(each, "name"): sorted(_schema_names_and_descriptions(each)) for each in functions}
    if conversation:
        return {"messages": messages, "tools": dict.fromkeys(words), "options": {}}
    options = {
        key: value
        for key, value in body.items()
        if key not in _ENCODING and value is not None and not (key == "tool_choice" and value in _FREE)
    }
    return {"messages": messages, "tools": words, "options": options}


def first_divergence(recorded: Tree | None, asked: Tree) -> tuple[str, str]:
    """What differs from the recorded request (messages, tools or options), and how, in words.

    :param recorded: of the request that comes next in the recording, or of its last one; ``None`` if it is
        empty
    """
    known = recorded or request_content({})
    for old, new in zip_longest(_as_trees(known["messages"]), _as_trees(asked["messages"])):
        if old != new and new is not None:
            return "messages", f"{_message_excerpt(new)} instead of {_message_excerpt(old)}"
    for part in ("tools", "options") if known["messages"] == asked["messages"] else ():
        before, now = as_tree(known[part]), as_tree(asked[part])
        if names := [name for name in {**before, **now} if before.get(name) != now.get(name)]:
            return part, ", ".join(sorted(names))
    # The same messages or fewer: the reply that was recorded for them has been passed.
    return "messages", "it has been answered"


def _message_excerpt(message: Tree | None) -> str:
    if message is None:
        return "nothing more"
    text = " and ".join(map(str, list_at(message, "calls"))) or f'"{" ".join(str(message["text"]).split())}"'
    return text if len(text) <= _MAX_EXCERPT else f"{text[:_MAX_EXCERPT]}…"


def _schema_names_and_descriptions(schema: Json) -> Iterator[str]:
    """What a tool says to the model, wherever it is in its schema."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                yield value
            elif key == "properties" and isinstance(value, Mapping):
                yield from value
                yield from (text for each in value.values() for text in _schema_names_and_descriptions(each))
            else:
                yield from _schema_names_and_descriptions(value)
    elif isinstance(schema, list | tuple):
        yield from (text for each in schema for text in _schema_names_and_descriptions(each))


def _call_text(function: Tree) -> str:
    arguments = _text_of_content(function.get("arguments"))
    name = text_at(function, "name")
    return f"{name}({read_json(arguments).map(canonical).value_or(arguments)})"


def _text_of_content(value: Json) -> str:
    """A text, or what there is of text in a list of parts."""
    if isinstance(value, str):
        return value
    return "".join(_text_of_content(part.get("text")) for part in _as_trees(value))


def _as_trees(value: Json) -> list[Tree]:
    items = value if isinstance(value, list | tuple) else ()
    return [item for item in items if isinstance(item, Mapping)]
