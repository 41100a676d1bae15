"""Messages of the past, read back from the texts that they were written in.

A message that has gone out as it is stored need not be held twice, as a value and as a text: its text says
all that there is to know of it. So a history is a row of texts, which is in nearly every run the very row
that goes out, and a value is made of a text when somebody looks at it.
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

__all__ = ["Quotable", "StoredMessages", "memo", "wire_is_memo"]

_MESSAGE_FIELDS: Final = frozenset({"role", "content", "tool_calls"})
_CALL_FIELDS: Final = frozenset({"id", "type", "function"})


@dataclass(frozen=True, slots=True, repr=False)
class StoredMessages(Sequence[Message]):
    """Messages in order; each is made when it is looked at, so going through them is better than picking.

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
        """Those in whose own words one of these stands, and maybe others; most of the others are not read.

        What stands in a text stands in its JSON form too, in the form that it has there itself.
        """
        inside = [quote(word)[1:-1].encode("utf-8", "surrogatepass") for word in words]
        return map(_message, self.memos.values_with(*inside))


@dataclass(frozen=True, slots=True)
class Quotable(Sequence[str]):
    """What a model may quote of a history: what users and tools have said in it."""

    history: StoredMessages

    def among(self, *words: str) -> Iterator[str]:
        """Some of it, and among it all in which one of the words stands."""
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
    """Whether the wire form of a message says all of it.

    A provider's own fields are merged into it, so that they could stand where the message's own would.
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
    r"""The text that a message is read back from: its wire form if that says all of it, else its parts.

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
