"""Provider-neutral content of a request, and where two requests diverge.

Strategies encode the same conversation differently: other call ids, reasoning sent back or not, other text
next to a call, a schema in the subset that a server takes. None of this is compared. Compared are the tools
and what they say (names, descriptions, properties), the messages in their order (role, text, calls, and the
call that a result belongs to), and the options that decide which replies are likely, or possible: the
sampling, a constraint of the decoding, a forced call, a route.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from toolreel_core._jsontext import Json, JsonText, Tree, as_tree, canonical, read

_ENCODING: Final = frozenset(
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
_FREE: Final = ("auto", "none")
"""Choices of a tool that force no call; without tools, the tools are what differs."""
_MAX_EXCERPT = 80


class ContentMessage(NamedTuple):
    """One message."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    text: str = ""
    """Of an assistant that calls nothing, and of everybody else."""
    calls: tuple[tuple[str, str], ...] = ()
    """Name and arguments of each call; arguments that are JSON in its canonical form."""
    answers: int = 0
    """Which of the calls before it a result belongs to, from 1 on; 0: none of them, or it is no result."""


class RequestContent(NamedTuple):
    """The content of a request."""

    messages: tuple[ContentMessage, ...]
    tools: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Name of each, with its descriptions and properties, in alphabetical order."""
    options: tuple[tuple[str, JsonText], ...] = ()
    """What else decides about the reply, by key in alphabetical order."""

    @property
    def conversation(self) -> RequestContent:
        """The names of the tools and the messages: all that the loop itself acts on."""
        return RequestContent(self.messages, tuple((name, ()) for name, _ in self.tools))


def request_content(body: Tree) -> RequestContent:
    """The content of a request's body.

    >>> found = request_content({"messages": [{"role": "user", "content": "hello"}], "temperature": 1})
    >>> found.messages, found.options
    ((ContentMessage(role='user', text='hello', calls=(), answers=0),), (('temperature', '1'),))
    """
    messages, latest = list[ContentMessage](), list[str]()
    for message in _as_trees(body.get("messages")):
        role, made = _text_of_content(message.get("role")), _as_trees(message.get("tool_calls"))
        if role == "assistant":
            latest = [_text_of_content(call.get("id")) for call in made]
        called = _text_of_content(message.get("tool_call_id"))
        one = ContentMessage(
            "system" if role == "developer" else role,
            "" if made else _text_of_content(message.get("content")).strip(),
            tuple(_call_parts(as_tree(call.get("function"))) for call in made),
            latest.index(called) + 1 if role == "tool" and called in latest else 0,
        )
        if one != ContentMessage("assistant"):
            messages.append(one)
    offered = () if body.get("tool_choice") == "none" else _as_trees(body.get("tools"))
    named = (
        (_text_of_content(as_tree(tool.get("function")).get("name")), tuple(sorted(_schema_words(tool))))
        for tool in offered
    )
    deciding = (
        (key, canonical(value))
        for key, value in body.items()
        if key not in _ENCODING and value is not None and not (key == "tool_choice" and value in _FREE)
    )
    return RequestContent(tuple(messages), tuple(sorted(named)), tuple(sorted(deciding)))


def first_divergence(recorded: RequestContent | None, asked: RequestContent) -> tuple[str, str]:
    """By what a request differs from the recorded one (messages, tools or options), and how, in words.

    :param recorded: of the request that comes next in the recording, or of its last one; ``None`` if it
        is empty
    """
    before = recorded.messages if recorded else ()
    for old, new in zip_longest(before, asked.messages):
        if old != new and new is not None:
            return "messages", f"{_message_excerpt(new)} instead of {_message_excerpt(old)}"
    if recorded and before == asked.messages:
        for what in ("tools", "options"):
            if names := {name for name, _ in {*getattr(recorded, what)} ^ {*getattr(asked, what)}}:
                return what, ", ".join(sorted(names))
    return "messages", "it has been answered"


def _message_excerpt(message: ContentMessage | None) -> str:
    if message is None:
        return "nothing more"
    text = " and ".join(f"{name}({arguments})" for name, arguments in message.calls)
    text = text or f'"{" ".join(message.text.split())}"'
    return text if len(text) <= _MAX_EXCERPT else f"{text[:_MAX_EXCERPT]}…"


def _schema_words(schema: Json) -> Iterator[str]:
    """What a tool says to the model, wherever it is in its schema."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                yield value
            elif key == "properties" and isinstance(value, Mapping):
                yield from value
                yield from (text for each in value.values() for text in _schema_words(each))
            else:
                yield from _schema_words(value)
    elif isinstance(schema, list | tuple):
        yield from (text for each in schema for text in _schema_words(each))


def _call_parts(function: Tree) -> tuple[str, str]:
    arguments = _text_of_content(function.get("arguments"))
    return _text_of_content(function.get("name")), read(arguments).map(canonical).value_or(arguments)


def _text_of_content(value: Json) -> str:
    """A text, or what there is of text in a list of parts."""
    if isinstance(value, str):
        return value
    return "".join(_text_of_content(part.get("text")) for part in _as_trees(value))


def _as_trees(value: Json) -> list[Tree]:
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [item for item in items if isinstance(item, Mapping)]
