"""What goes out of a history: a copy that every provider takes, made message by message.

Providers refuse a conversation for good over one bad message: a call without a result or a result
without its call (MoonshotAI/kimi-code#1053), an id that was used before (zeph#6501), an empty
assistant message (DeepSeek, Mistral), a name with a dot. The stored history stays as it was; the
copy has every call answered once, ids that are unique over the whole conversation, names that
fit, and no empty message. What is valid already goes out unchanged, so projecting twice changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, assert_never

from pyrsistent import PMap, pmap

from toolreel.envelope import failed
from toolreel.faults import result_unknown
from toolreel.messages import AssistantMessage, Message, SentCall, SystemMessage, ToolMessage, UserMessage
from toolreel.naming import outward_name

__all__ = ["OpenCall", "Projection", "project"]

_NO_IDS: Final[PMap[str, int]] = pmap()


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that went out and has no result yet."""

    id: str
    """As it is stored."""
    sent_id: str
    """As it goes out."""
    name: str


@dataclass(frozen=True, slots=True)
class Projection:
    """How far a history has been projected."""

    taken: PMap[str, int] = _NO_IDS
    """The ids that have gone out, each with how many forms of it there are so far."""
    waiting: tuple[OpenCall, ...] = ()
    """Calls of the latest assistant message that have no result yet."""

    def of(self, message: Message) -> tuple[Projection, tuple[Message, ...]]:
        """What goes out for one more message: itself, mended if need be, or nothing."""
        match message:
            case SystemMessage() | UserMessage():
                return replace(self, waiting=()), (*self.unanswered(), message)
            case AssistantMessage():
                return self._spoken(message)
            case ToolMessage():
                return self._answered(message)
            case _:
                assert_never(message)

    def unanswered(self) -> tuple[ToolMessage, ...]:
        """Results for the calls that have none, which say so."""
        return tuple(
            ToolMessage(call.sent_id, failed(call.name, result_unknown(call.name)).text())
            for call in self.waiting
        )

    def _spoken(self, message: AssistantMessage) -> tuple[Projection, tuple[Message, ...]]:
        if not message.content.strip() and not message.calls:
            return self, ()
        taken, opened = self.taken, list[OpenCall]()
        for call in message.calls:
            sent_id, taken = _free(call.id, taken)
            opened.append(OpenCall(call.id, sent_id, outward_name(call.name)))
        calls = tuple(
            SentCall(one.sent_id, one.name, call.arguments)
            for one, call in zip(opened, message.calls, strict=True)
        )
        return Projection(taken, tuple(opened)), (
            *self.unanswered(),
            AssistantMessage(message.content, calls),
        )

    def _answered(self, message: ToolMessage) -> tuple[Projection, tuple[Message, ...]]:
        for at, call in enumerate(self.waiting):
            if call.id == message.call_id:
                rest = (*self.waiting[:at], *self.waiting[at + 1 :])
                return replace(self, waiting=rest), (ToolMessage(call.sent_id, message.content),)
        return self, ()


def project(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The copy of a whole history that goes out.

    >>> project([UserMessage("hi"), AssistantMessage(""), ToolMessage("call_1", "{}")])
    (UserMessage(content='hi'),)
    """
    projection, sent = Projection(), list[Message]()
    for message in messages:
        projection, out = projection.of(message)
        sent += out
    return (*sent, *projection.unanswered())


def _free(wanted: str, taken: PMap[str, int]) -> tuple[str, PMap[str, int]]:
    """The id itself, or the first numbered form of it that has not gone out yet, which then has."""
    number = taken.get(wanted, 0) + 1
    found = wanted if number == 1 else f"{wanted}_{number}"
    while found in taken:
        number += 1
        found = f"{wanted}_{number}"
    return found, taken.set(wanted, number).set(found, taken.get(found, 1 if found != wanted else number))
