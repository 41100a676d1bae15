"""Messages as people write them: a text, messages, or objects in the chat-completions form, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from toolreel_core._conversation.content_parts import (
    Part,
    Text,
    media_parts,
    parse_part,
    parts_text,
    wire_part,
)
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    wire_tree,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Json, JsonText, as_list, json_text

MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message, or one in the chat-completions form such as ``{"role": "user", "content": "Hello."}``."""

Said: TypeAlias = str | Part | Sequence[str | Part]
"""What the user says at once: a text, or texts, images, audio and files in order."""

Messages: TypeAlias = str | Part | MessageLike | Iterable[MessageLike | Part | str]
"""A text, which the user says; a message; or several of either.

Images, audio and files are one message of the user with the texts next to them."""

_EXPECTED = (
    "messages: expected a text, or a list of messages such as UserMessage('Hello.') or "
    '{"role": "user", "content": "Hello."}'
)
_SAID = "expected what the user says: a text, or a list of texts, Image, Audio and File"
_ROLES = ("system", "developer", "user", "assistant", "tool")
_SENT: Mapping[str, tuple[str, ...]] = {
    "system": ("role", "content"),
    "developer": ("role", "content"),
    "user": ("role", "content", "name"),
    "tool": ("role", "content", "tool_call_id", "name"),
}
"""The keys of a message by its role; those of an assistant are the provider's to choose."""


def messages_from_input(given: object) -> tuple[Message, ...]:
    """The messages of a conversation, whichever way it is written; an error names the place."""
    if isinstance(given, (str, Mapping, Part, Message)):
        return tuple(_read_messages([("messages", given)]))
    if isinstance(given, Iterable) and not isinstance(given, bytes | bytearray):
        return tuple(_read_messages((f"messages[{number}]", each) for number, each in enumerate(given)))
    raise ConfigError(f"{_EXPECTED}, got {type(given).__name__}")


def _read_messages(placed: Iterable[tuple[str, object]]) -> Iterator[Message]:
    """The messages; texts and other parts that follow each other are one, texts alone are one each."""
    pending: list[str | Part] = []
    for place, given in placed:
        part = _message_part(given, place)
        if part is not None:
            pending.append(part)
            continue
        yield from _user_messages(pending)
        pending = []
        if isinstance(given, Mapping):
            yield parse_chat_message(given, place)
        elif isinstance(given, Message):
            yield given
        else:
            raise ConfigError(f"{_EXPECTED}, got {type(given).__name__}{_wrong_input_hint(given)}")
    yield from _user_messages(pending)


def _message_part(given: object, place: str) -> str | Part | None:
    if isinstance(given, str) or isinstance(given, Part):  # noqa: SIM101 - pyright narrows no tuple with a union
        return given
    if isinstance(given, Mapping) and "role" not in given and isinstance(given.get("type"), str):
        return parse_part(given, place)
    return None


def _user_messages(given: Sequence[str | Part]) -> Iterable[UserMessage]:
    texts = [each for each in given if isinstance(each, str)]
    return map(UserMessage, texts) if len(texts) == len(given) else (user_message(given),)


def user_message(said: object) -> UserMessage:
    """A message of the user from a text, or from texts and other parts in order.

    >>> user_message(["What is ", "this?"])
    UserMessage(content='What is this?')

    :raises ConfigError: if it is neither
    """
    if isinstance(said, (str, Part)):
        said = (said,)
    if not isinstance(said, Iterable) or isinstance(said, (Mapping, bytes, bytearray)):
        raise ConfigError(f"content: {_SAID}, got {type(said).__name__}")
    parts: list[Part] = []
    for number, each in enumerate(said):
        one = _message_part(each, f"content[{number}]")
        if one is None:
            raise ConfigError(
                f"content[{number}]: {_SAID}, got {type(each).__name__}{_wrong_input_hint(each)}"
            )
        parts.append(Text(one) if isinstance(one, str) else one)
    # One that has only text is that of a plain text, whatever its pieces were.
    return UserMessage(parts_text(parts), tuple(parts) if media_parts(parts) else ())


def _wrong_input_hint(given: object) -> str:
    if isinstance(given, bytes):
        return "; for bytes write Image.from_bytes(data), Audio.from_bytes(data) or File.from_bytes(data)"
    return "; for a file write attach(path)" if hasattr(given, "__fspath__") else ""


def parse_chat_message(tree: Mapping[str, Any], place: str) -> Message:
    """The message that an object in the chat-completions form stands for; ``place`` is for errors."""
    role = tree.get("role")
    if role not in _ROLES:
        raise ConfigError(f"{place}.role: expected one of {', '.join(_ROLES)}, got {role!r}")
    content = tree.get("content")
    given = "" if content is None and role in {"assistant", "tool"} else content
    parts = () if isinstance(given, str) else _read_parts(given, place)
    text, media = given if isinstance(given, str) else parts_text(parts), media_parts(parts)
    if media and role not in {"user", "tool"}:
        raise ConfigError(f"{place}.content: expected text alone, got {media[0].label}")
    if role == "assistant":
        calls = [_read_call(call, n, place) for n, call in enumerate(as_list(tree.get("tool_calls") or []))]
        own = {key: tree[key] for key in tree if key not in {"role", "content", "tool_calls"}}
        return AssistantMessage(text, tuple(calls), _provider_fields(own, place))
    for key, value in tree.items():
        if key not in _SENT[role] and value is not None:
            raise ConfigError(f"{place}.{key}: a {role} message has no such key; leave it out")
    name = tree.get("name") or ""
    if not isinstance(name, str):
        raise ConfigError(f"{place}.name: expected a text, got {type(name).__name__}")
    if role == "user":
        return UserMessage(text, parts if media else (), name)
    if role == "tool":
        id_ = tree.get("tool_call_id")
        if not isinstance(id_, str):
            expected = "expected the id of the call that it answers"
            raise ConfigError(f"{place}.tool_call_id: {expected}, got {id_!r}")
        return ToolMessage(id_, text, name, media)
    return SystemMessage(text)


def _read_parts(content: object, place: str) -> tuple[Part, ...]:
    if not isinstance(content, Sequence):
        raise ConfigError(f"{place}.content: expected a text, got {type(content).__name__}")
    parts = list[Part]()
    for number, each in enumerate(content):
        part = Text(each) if isinstance(each, str) else each
        parts.append(part if isinstance(part, Part) else parse_part(part, f"{place}.content[{number}]"))
    return tuple(parts)


def _read_call(call: Any, number: int, place: str) -> SentCall:  # noqa: ANN401 - JSON of any kind
    match call:
        case {"id": str() as id_, "function": {"name": str() as name, "arguments": arguments}}:
            at = f"{place}.tool_calls[{number}].function.arguments"
            text = arguments if isinstance(arguments, str) else json_text(arguments, at)
            own = {key: value for key, value in call.items() if key not in {"id", "type", "function"}}
            return SentCall(id_, name, text, _provider_fields(own, place))
        case _:
            raise ConfigError(
                f"{place}.tool_calls[{number}]: expected an id and a function with name and arguments"
            )


def _provider_fields(further: Mapping[str, Any], place: str) -> JsonText:
    """The provider's own fields; SDKs write those that are not there as null or empty."""
    given = {key: value for key, value in further.items() if value not in (None, [], {}, "")}
    return json_text(given, place) if given else NOTHING


# Conversations as lists of dicts in OpenAI's form, both ways, so that nothing is lost without a word.


def messages_to(messages: Iterable[Message]) -> list[dict[str, Json]]:
    """Messages as dicts in OpenAI's form, as requests send them.

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

    :raises ConfigError: if one is not a message, or has a field that would be lost; names its place
    """
    if isinstance(dicts, Mapping) or not isinstance(dicts, Iterable):
        raise ConfigError(f"messages: expected a list of dicts, got {type(dicts).__name__}")
    messages = list[Message]()
    for number, tree in enumerate(dicts):
        place = f"messages[{number}]"
        given: object = tree
        if not isinstance(given, Mapping):
            expected = 'a dict such as {"role": "user", "content": "Hello."}'
            raise ConfigError(f"{place}: expected {expected}, got {type(given).__name__}")
        messages.append(parse_chat_message(tree, place))
        sent, content = {**wire_tree(messages[-1])}, tree.get("content")
        if isinstance(content, Sequence) and not isinstance(content, str):
            # One by one, since several texts are sent as one.
            sent["content"] = [*map(wire_part, _read_parts(content, place))]
        _check_nothing_lost(tree, sent, place)
    return tuple(messages)


def _check_nothing_lost(given: Any, sent: Any, place: str) -> None:  # noqa: ANN401 - JSON of any kind
    """Refuse what a dict has and no request would send."""
    if isinstance(given, Mapping) and isinstance(sent, Mapping):
        for key, value in given.items():
            if value in (None, [], {}, ""):
                continue
            if key not in sent or (key == "type" and value != sent[key]):
                raise ConfigError(f"{place}.{key}: it would be lost, since no request sends it; leave it out")
            _check_nothing_lost(value, sent[key], f"{place}.{key}")
    elif isinstance(given, Sequence) and isinstance(sent, Sequence) and not isinstance(sent, str):
        for number, (item, one) in enumerate(zip(given, sent, strict=True)):
            _check_nothing_lost(item, one, f"{place}[{number}]")
