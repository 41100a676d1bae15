"""Messages as people write them: a text, messages, or objects in the chat-completions form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core._jsontext.tree_access import json_text

MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message, or one in the chat-completions form such as ``{"role": "user", "content": "Hello."}``."""

Messages: TypeAlias = str | MessageLike | Iterable[MessageLike | str]
"""A text, which the user says; a message; or several of either."""

_EXPECTED: Final = (
    "messages: expected a text, or a list of messages such as UserMessage('Hello.') or "
    '{"role": "user", "content": "Hello."}'
)
_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_SENT: Final[Mapping[str, tuple[str, ...]]] = {
    "system": ("role", "content"),
    "developer": ("role", "content"),
    "user": ("role", "content"),
    "tool": ("role", "content", "tool_call_id", "name"),
}
"""The keys of a message by its role; those of an assistant are the provider's to choose."""


def messages_of(given: object) -> tuple[Message, ...]:
    """The messages of a conversation, whichever way it is written.

    >>> messages_of({"role": "user", "content": "Hello."})
    (UserMessage(content='Hello.'),)

    :raises ConfigError: if one is no message; names its place
    """
    if isinstance(given, (str, Mapping, Message)):
        return (_message(given, "messages"),)
    if isinstance(given, Iterable):
        return tuple([_message(each, f"messages[{number}]") for number, each in enumerate(given)])
    raise ConfigError(f"{_EXPECTED}, got {type(given).__name__}")


def _message(given: object, place: str) -> Message:
    match given:
        case str():
            return UserMessage(given)
        case Mapping():
            return message_in(given, place)
        case _ if isinstance(given, Message):
            return given
        case _:
            raise ConfigError(f"{_EXPECTED}, got {type(given).__name__}")


def message_in(tree: Mapping[str, Any], place: str) -> Message:
    """The message that an object in the chat-completions form stands for.

    :param place: where it stands, for errors
    :raises ConfigError: if it is none, or has something that no message can hold, such as a picture
    """
    role = tree.get("role")
    if role not in _ROLES:
        raise ConfigError(f"{place}.role: expected one of {', '.join(_ROLES)}, got {role!r}")
    if role == "assistant":
        return AssistantMessage(_text(tree, place), (*_calls(tree, place),), _extras(tree, place))
    for key, value in tree.items():
        if key not in _SENT[role] and value is not None:
            raise ConfigError(f"{place}.{key}: a {role} message has no such key; leave it out")
    if role == "user":
        return UserMessage(_text(tree, place))
    if role == "tool":
        name = tree.get("name")
        return ToolMessage(_call_id(tree, place), _text(tree, place), name if isinstance(name, str) else "")
    return SystemMessage(_text(tree, place))


def _text(tree: Mapping[str, Any], place: str) -> str:
    content = tree.get("content")
    if content is None and tree["role"] in {"assistant", "tool"}:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join([_part(part, f"{place}.content[{number}]") for number, part in enumerate(content)])
    raise ConfigError(f"{place}.content: expected a text, got {type(content).__name__}")


def _part(part: object, place: str) -> str:
    text = part.get("text") if isinstance(part, Mapping) else None
    if isinstance(text, str):
        return text
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    raise ConfigError(f'{place}: expected {{"type": "text", "text": "..."}}, got {kind!r}')


def _call_id(tree: Mapping[str, Any], place: str) -> str:
    id_ = tree.get("tool_call_id")
    if not isinstance(id_, str):
        raise ConfigError(f"{place}.tool_call_id: expected the id of the call that it answers, got {id_!r}")
    return id_


def _calls(tree: Mapping[str, Any], place: str) -> Iterator[SentCall]:
    calls: Iterable[Any] = tree.get("tool_calls") or ()
    for number, call in enumerate(calls):
        match call:
            case {"id": str() as id_, "function": {"name": str() as name, "arguments": arguments}}:
                text = arguments if isinstance(arguments, str) else canonical(arguments)
                further = {key: value for key, value in call.items() if key not in {"id", "type", "function"}}
                yield SentCall(id_, name, text, _kept(further, place))
            case _:
                raise ConfigError(
                    f"{place}.tool_calls[{number}]: expected an id and a function with name and arguments"
                )


def _extras(tree: Mapping[str, Any], place: str) -> JsonText:
    return _kept({key: tree[key] for key in tree if key not in {"role", "content", "tool_calls"}}, place)


def _kept(further: Mapping[str, Any], place: str) -> JsonText:
    """The provider's own fields; SDKs write those that are not there as null or empty."""
    return json_text({key: value for key, value in further.items() if value not in (None, [], {}, "")}, place)
