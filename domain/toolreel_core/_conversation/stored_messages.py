"""Stored messages, parsed from their JSON texts when they are accessed.

A message that is sent as it is stored does not have to be held twice, as a value and as a text. So a history
holds texts only (in nearly every run, the same rope that is sent), and builds a value on access.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast, overload

from toolreel_core._conversation.blocks import Rope
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    wire,
)
from toolreel_core._jsontext.canonical import NOTHING, Json, JsonText, Tree, canonical, parse, quote

_MESSAGE_FIELDS: Final = frozenset({"role", "content", "tool_calls"})
_CALL_FIELDS: Final = frozenset({"id", "type", "function"})


@dataclass(frozen=True, slots=True, repr=False)
class StoredMessages(Sequence[Message]):
    """Messages in order, each parsed on access: iterate instead of indexing.

    >>> StoredMessages(Rope().append(memo(UserMessage("hi")).encode()))
    StoredMessages([UserMessage(content='hi')])
    """

    memos: Rope
    """The :func:`memo` of each."""

    def __len__(self) -> int:
        return self.memos.count

    def __iter__(self) -> Iterator[Message]:
        return map(_message, self.memos.values())

    def __reversed__(self) -> Iterator[Message]:
        return map(_message, self.memos.values_from_the_end())

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return tuple(self)[index]
        before = range(len(self))[index]
        behind = len(self) - 1 - before
        nearer = islice(reversed(self), behind, None) if behind < before else islice(self, before, None)
        return next(nearer)

    def __repr__(self) -> str:
        return f"StoredMessages({[*self]})"

    def mentioning(self, *words: str) -> Iterator[Message]:
        """The messages that contain one of the words, and possibly others; most others are not parsed.

        The words are searched in the JSON text, so they are escaped as JSON first.
        """
        inside = [quote(word)[1:-1].encode("utf-8", "surrogatepass") for word in words]
        return map(_message, self.memos.values_with(*inside))


@dataclass(frozen=True, slots=True)
class Quotable(Sequence[str]):
    """The texts of a history that a model may quote: those of users and tools."""

    history: StoredMessages

    def among(self, *words: str) -> Iterator[str]:
        """A subset of the texts, including all that contain one of the words."""
        return _quotable_texts(self.history.mentioning(*words))

    def __iter__(self) -> Iterator[str]:
        return _quotable_texts(self.history)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return tuple(iter(self))[index]


def _quotable_texts(messages: Iterable[Message]) -> Iterator[str]:
    return (message.content for message in messages if isinstance(message, ToolMessage | UserMessage))


def wire_is_memo(message: Message) -> bool:
    """Whether a message can be restored from its wire form.

    Provider fields are merged into the wire form, so one with the name of a standard field would replace it.
    """
    if not isinstance(message, AssistantMessage):
        return True
    signed = [call for call in message.calls if call.extras is not NOTHING]
    if not signed and message.extras is NOTHING:
        return True
    return _no_overlap(message.extras, _MESSAGE_FIELDS) and all(
        _no_overlap(call.extras, _CALL_FIELDS) for call in signed
    )


def memo(message: Message) -> JsonText:
    r"""The text that restores a message: its wire form if possible, else a list of its parts.

    >>> memo(UserMessage("hi"))
    '{"role":"user","content":"hi"}'
    >>> memo(AssistantMessage("hi", extras=canonical({"content": None})))
    '["hi",[],"{\\"content\\":null}"]'
    """
    if not isinstance(message, AssistantMessage) or wire_is_memo(message):
        return wire(message)
    calls = [[call.id, call.name, call.arguments, call.extras] for call in message.calls]
    return canonical([message.content, calls, message.extras])


def _no_overlap(extras: JsonText, own_fields: Set[str]) -> bool:
    return own_fields.isdisjoint(cast("Tree", parse(extras)))


def _message(value: Json) -> Message:
    """The message with this memo."""
    tree = cast("Any", value)
    if isinstance(tree, list):
        return _from_parts(*tree)
    match tree["role"]:
        case "tool":
            return ToolMessage(tree["tool_call_id"], tree["content"], tree.get("name", ""))
        case "user":
            return UserMessage(tree["content"])
        case "system":
            return SystemMessage(tree["content"])
        case _:
            calls = tuple([_call(call) for call in tree.get("tool_calls", ())])
            return AssistantMessage(tree["content"], calls, _extras(tree, _MESSAGE_FIELDS))


def _from_parts(content: str, calls: Sequence[tuple[str, str, str, str]], extras: str) -> AssistantMessage:
    sent = [
        SentCall(id_, name, arguments, JsonText(own_fields)) for id_, name, arguments, own_fields in calls
    ]
    return AssistantMessage(content, tuple(sent), JsonText(extras))


def _call(tree: Mapping[str, Any]) -> SentCall:
    function = tree["function"]
    return SentCall(tree["id"], function["name"], function["arguments"], _extras(tree, _CALL_FIELDS))


def _extras(tree: Mapping[str, Json], own_fields: Set[str]) -> JsonText:
    """The fields that are the provider's own."""
    if tree.keys() <= own_fields:
        return NOTHING
    return canonical({key: value for key, value in tree.items() if key not in own_fields})
