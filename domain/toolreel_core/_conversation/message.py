"""Messages of a conversation, and how each is written on the wire.

A message is encoded once, when it joins the :class:`~toolreel_core._conversation.transcript.Transcript`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias, assert_never, cast

from toolreel_core._conversation.content_parts import Media, Part, Text, shown_parts, text_of, wire_part
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, canonical, merged, parse


def brief_repr(value: Any, *optional: str) -> str:  # noqa: ANN401 - any dataclass
    """The usual ``repr``, without these fields where they are empty; ``False`` is not.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Said:
    ...     text: str
    ...     parts: tuple = ()
    >>> brief_repr(Said("hi"), "parts")
    "Said(text='hi')"
    """
    given = [(item.name, getattr(value, item.name)) for item in fields(value) if item.repr]
    shown = [
        f"{name}={content!r}"
        for name, content in given
        if content or content is False or name not in optional
    ]
    return f"{type(value).__qualname__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Instructions to the model."""

    content: str

    def __post_init__(self) -> None:
        _check_text("content", self.content, 'write "\\n\\n".join(texts) for several texts')


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the user."""

    content: str
    """Its text; where there are :attr:`parts`, all text in them."""
    parts: tuple[Part, ...] = ()
    """The whole message in order, if it has more than text; see :func:`user_message`."""
    name: str = ""
    """Who of several users says it; empty where that is not told."""

    def __post_init__(self) -> None:
        _check_text(
            "content", self.content, "write user_message([...]) for texts with images, audio and files"
        )
        if self.parts and self.content != text_of(self.parts):
            raise ConfigError("content: it differs from the text of the parts; write user_message(parts)")

    def __repr__(self) -> str:
        """Without parts and name where there are none."""
        return brief_repr(self, "parts", "name")


@dataclass(frozen=True, slots=True)
class SentCall:
    """A tool call as it is in the history that goes out."""

    id: str
    """Pairs the call with its :class:`ToolMessage`."""
    name: str
    arguments: str
    """Text of a JSON object; the model's own text, byte for byte, wherever that is one."""
    extras: JsonText = NOTHING
    """Fields of the provider's own that have to go back with the call, such as a thought signature: a JSON
    object that is merged into the call's entry."""

    def __post_init__(self) -> None:
        _check_text("id", self.id, "write SentCall(id, name, arguments)")
        _check_text("name", self.name, "write SentCall(id, name, arguments)")
        _check_text("arguments", self.arguments, "write json.dumps(arguments)")
        if self.extras is not NOTHING:
            _check_extras(self.extras)


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A message of the model: text, or tool calls without text."""

    content: str
    calls: tuple[SentCall, ...] = ()
    extras: JsonText = NOTHING
    """Fields of the provider's own that have to go back with the message, such as ``reasoning_content``:
    a JSON object that is merged into the message."""

    def __post_init__(self) -> None:
        _check_text("content", self.content, 'write "" for a message that has calls alone')
        calls: object = self.calls
        if not isinstance(calls, tuple) or not all(isinstance(call, SentCall) for call in calls):
            raise ConfigError("calls: expected a tuple of SentCall; write (SentCall(id, name, arguments),)")
        if self.extras is not NOTHING:
            _check_extras(self.extras)


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call."""

    call_id: str
    content: str
    """The text of an :class:`~toolreel_core._tools.results.Envelope`."""
    name: str = ""
    """The tool's outward name, for providers that want it told."""
    parts: tuple[Media, ...] = ()
    """What the tool gave besides text; the content mentions each by its label."""

    def __post_init__(self) -> None:
        _check_text("call_id", self.call_id, "write the id of the call that it answers")
        _check_text("content", self.content, "write json.dumps(result)")

    def __repr__(self) -> str:
        """Without parts where there are none."""
        return brief_repr(self, "parts")


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage
"""A message of a conversation."""


def wire(message: Message) -> JsonText:
    """The canonical JSON text of a message in the chat-completions form.

    >>> wire(UserMessage("hello"))
    '{"role":"user","content":"hello"}'
    """
    return canonical(wire_tree(message))


def wire_tree(message: Message) -> Tree:
    """The wire form of a message as a parsed tree."""
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.content}
        case UserMessage():
            parts = [*map(wire_part, message.parts)]
            by: Tree = {"name": message.name} if message.name else {}
            return {"role": "user", **by, "content": parts or message.content}
        case AssistantMessage():
            tree: dict[str, Json] = {"role": "assistant", "content": message.content}
            if message.calls:
                functions = [(one, {"name": one.name, "arguments": one.arguments}) for one in message.calls]
                tree["tool_calls"] = [
                    _with_extras({"id": one.id, "type": "function", "function": function}, one.extras)
                    for one, function in functions
                ]
            return _with_extras(tree, message.extras)
        case ToolMessage():
            named = {"name": message.name} if message.name else {}
            media = [*map(wire_part, message.parts)]
            content = [wire_part(Text(message.content)), *media] if media else message.content
            return {"role": "tool", "tool_call_id": message.call_id, **named, "content": content}
        case _:
            assert_never(message)


def parts_of(message: Message) -> tuple[Part, ...]:
    """The parts of a message that has more than text."""
    return message.parts if isinstance(message, UserMessage | ToolMessage) else ()


def shown_content(message: Message) -> str:
    """The content of a message as people read it, with a label for each part that is no text.

    Of a tool's result, the content mentions its parts.
    """
    if isinstance(message, UserMessage) and message.parts:
        return shown_parts(message.parts)
    return message.content


def _check_text(place: str, given: object, instead: str) -> None:
    if not isinstance(given, str):
        raise ConfigError(f"{place}: expected a text, got {type(given).__name__}; {instead}")


def _check_extras(extras: JsonText) -> None:
    """Checks the first character only: canonical JSON text has no leading space."""
    if not extras.startswith("{"):
        raise ConfigError(f"extras: expected a JSON object, got {extras}")


def _with_extras(tree: Tree, extras: JsonText) -> Tree:
    return tree if extras == NOTHING else merged(tree, cast("Tree", parse(extras)))
