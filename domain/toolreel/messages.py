"""Messages of a conversation, and how each is written on the wire.

A message is encoded once, when it joins the :class:`~toolreel.transcript.Transcript`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from toolreel.jsontext import Json, JsonText, canonical

__all__ = ["AssistantMessage", "Message", "SentCall", "SystemMessage", "ToolMessage", "UserMessage", "wire"]


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Instructions that stand above the conversation."""

    content: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user said."""

    content: str


@dataclass(frozen=True, slots=True)
class SentCall:
    """A tool call as it stands in the history that goes out."""

    id: str
    """Pairs the call with its :class:`ToolMessage`."""
    name: str
    arguments: str
    """Text of a JSON object; the model's own text, byte for byte, wherever that is one."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model said: text, or tool calls with the text stripped."""

    content: str
    calls: tuple[SentCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call."""

    call_id: str
    content: str
    """The text of an :class:`~toolreel.envelope.Envelope`."""


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def wire(message: Message) -> JsonText:
    """The canonical JSON text of a message in the chat-completions form.

    >>> wire(UserMessage("hello"))
    '{"role":"user","content":"hello"}'
    """
    return canonical(_tree(message))


def _tree(message: Message) -> Mapping[str, Json]:
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.content}
        case UserMessage():
            return {"role": "user", "content": message.content}
        case AssistantMessage():
            return {"role": "assistant", "content": message.content} | _calls(message.calls)
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
        case _:
            assert_never(message)


def _calls(calls: tuple[SentCall, ...]) -> dict[str, Json]:
    if not calls:
        return {}
    return {
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    }
