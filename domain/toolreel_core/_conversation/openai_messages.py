"""Conversations as lists of dicts in OpenAI's form, both ways, so that nothing is lost without a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolreel_core._conversation.message import Message, wire_tree
from toolreel_core._conversation.message_input import message_in
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json

_PARTS: Final = {"text": "text", "image_url": "image_url", "input_audio": "input_audio", "file": "file"}
"""The key of a part that has its content, by its type."""


def messages_to(messages: Iterable[Message]) -> list[dict[str, Json]]:
    """Messages as dicts in OpenAI's form, as requests send them.

    >>> from toolreel_core._conversation.message import UserMessage
    >>> messages_to([UserMessage("Hello.")])
    [{'role': 'user', 'content': 'Hello.'}]

    :param messages: such as ``run.messages`` or ``state.messages.messages``
    """
    return [dict(wire_tree(message)) for message in messages]


def messages_from(dicts: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Messages from dicts in OpenAI's form; :func:`messages_to` writes equal ones again.

    Text, images, audio, files, tool calls and results, names and refusals are kept, and so are all fields of
    an assistant's message and of its calls that are a provider's own, such as reasoning and signatures. What
    no message can hold is an error. Written differently, with the same meaning, are only: ``developer``
    (``system``), fields that are ``null`` or empty (left out), a content of text parts alone (one text), and
    arguments that are an object (their JSON text).

    >>> messages_from([{"role": "user", "content": "Hello."}])
    (UserMessage(content='Hello.'),)

    :raises ConfigError: if one is no message, or has a field that would be lost; names its place
    """
    if isinstance(dicts, Mapping) or not isinstance(dicts, Iterable):
        raise ConfigError(f"messages: expected a list of dicts, got {type(dicts).__name__}")
    return tuple([_check_message(tree, f"messages[{number}]") for number, tree in enumerate(dicts)])


def _check_message(tree: object, place: str) -> Message:
    if not isinstance(tree, Mapping):
        expected = 'a dict such as {"role": "user", "content": "Hello."}'
        raise ConfigError(f"{place}: expected {expected}, got {type(tree).__name__}")
    message = message_in(tree, place)
    # message_in has checked all that it reads; here is what it would leave out.
    for number, part in _numbered_items(tree.get("content")):
        _check_part(part, f"{place}.content[{number}]")
    for number, call in _numbered_items(tree.get("tool_calls")):
        _check_call(call, f"{place}.tool_calls[{number}]")
    return message


def _numbered_items(given: Any) -> Iterable[tuple[int, Any]]:  # noqa: ANN401 - JSON of any kind
    return enumerate(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()


def _check_part(part: Any, place: str) -> None:  # noqa: ANN401 - JSON of any kind
    if not isinstance(part, Mapping):
        return
    kind = str(part.get("type") or "text")
    held = _PARTS.get(kind, kind)
    _check_keys(part, {"type", held}, place)
    if held == "input_audio":
        _check_keys(part[held], {"data", "format"}, f"{place}.{held}")


def _check_call(call: Mapping[str, Any], place: str) -> None:
    if call.get("type") not in {None, "function"}:
        raise ConfigError(f"{place}.type: expected 'function', got {call['type']!r}; leave the call out")
    _check_keys(call["function"], {"name", "arguments"}, f"{place}.function")


def _check_keys(tree: Mapping[str, Any], known: set[str], place: str) -> None:
    for key, value in tree.items():
        if key not in known and value not in (None, [], {}, ""):
            raise ConfigError(f"{place}.{key}: it would be lost, since no request sends it; leave it out")
