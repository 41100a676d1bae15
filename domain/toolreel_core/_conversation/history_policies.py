"""History policies: named pure functions that drop old turns or shorten their messages.

A history policy works on turns, never on single messages, so that a call keeps its result.
The stored history does not change; a policy returns what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, TypeAlias, TypeVar

from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._conversation.summary import is_question, is_summary
from toolreel_core._internal import Registry
from toolreel_core._jsontext import canonical, either, parse, read, sound
from toolreel_core._tools import Envelope, envelope_of


@dataclass(frozen=True, slots=True)
class Turn:
    """Messages that stay or go together: one that is no result, and the results of its calls."""

    messages: tuple[Message, ...]
    """In order; at least one."""
    pinned: bool = False
    """It has to stay: a system message, what the user said first, or the summary of earlier turns."""

    @property
    def head(self) -> Message:
        """The message that makes it a turn."""
        return self.messages[0]


Cost: TypeAlias = Callable[[Message], int]
"""What a message takes of the model's window, in tokens."""

HistoryPolicy: TypeAlias = Callable[[tuple[Turn, ...], int, Cost], tuple[Turn, ...]]
"""From the turns of a history, oldest first, and the tokens that are too many, to the turns that go out.

It keeps their order and every pinned one, and does no more than is asked for. Where it cannot save as
much, it saves what it can."""

_Policy = TypeVar("_Policy", bound=HistoryPolicy)

_POLICIES: Final[Registry[HistoryPolicy]] = Registry("history policy")
_SMALL: Final = 200
"""UTF-8 bytes of a result that is not worth shortening."""
_NOTHING: Final = canonical({})


def turns(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The turns of a history.

    >>> [len(turn.messages) for turn in turns([UserMessage("hi"), AssistantMessage("hello")])]
    [1, 1]
    """
    grouped: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolMessage) and grouped:
            grouped[-1].append(message)
        else:
            grouped.append([message])
    first = next((at for at, group in enumerate(grouped) if isinstance(group[0], UserMessage)), None)
    return tuple(
        Turn(tuple(group), at == first or isinstance(group[0], SystemMessage) or is_summary(group[0]))
        for at, group in enumerate(grouped)
    )


def register_history_policy(name: str) -> Callable[[_Policy], _Policy]:
    """Give a history policy a name; used as a decorator.

    :raises ConfigError: if the name is taken, or is none
    """

    def register(policy: _Policy) -> _Policy:
        _POLICIES.add(name, policy)
        return policy

    return register


def history_policy(name: str) -> HistoryPolicy:
    """The history policy of that name.

    :raises ConfigError: if there is none; it names the nearest
    """
    return _POLICIES[name]


def history_policies() -> tuple[str, ...]:
    """The names of all history policies."""
    return tuple(_POLICIES)


def reduced(
    messages: Iterable[Message], names: Iterable[str], excess: int, cost: Cost
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The history after these policies, one after the other, until the excess is gone.

    No message is measured twice, whatever the number of policies.

    :param excess: the tokens that are too many
    :return: the messages that go out, and the names of the policies that changed something
    :raises ConfigError: if there is no policy of one of the names
    """
    policies = [(name, history_policy(name)) for name in names]
    measured, kept, applied = cache(cost), turns(messages), list[str]()
    allowed = _cost(kept, measured) - excess
    for name, policy in policies:
        remaining = _cost(kept, measured) - allowed
        if remaining <= 0:
            break
        before, kept = kept, policy(kept, remaining, measured)
        if kept != before:
            applied.append(name)
    return tuple(message for turn in kept for message in turn.messages), tuple(applied)


@register_history_policy("shorten_old_tool_results")
def shorten_old_tool_results(history: tuple[Turn, ...], excess: int, cost: Cost) -> tuple[Turn, ...]:
    """The history without the data of old tool results, oldest first; the newest turn and small ones stay.

    The model may call the tool again.
    """
    newest, kept = _newest(history), list[Turn]()
    for turn in history[:newest]:
        names = _names(turn)
        messages: list[Message] = []
        for message in turn.messages:
            short = _shortened(message, names) if excess > 0 else message
            saved = 0 if short is message else cost(message) - cost(short)
            messages.append(short if saved > 0 else message)
            excess -= max(saved, 0)
        kept.append(replace(turn, messages=tuple(messages)))
    return (*kept, *history[newest:])


@register_history_policy("drop_old_tool_turns")
def drop_old_tool_turns(history: tuple[Turn, ...], excess: int, cost: Cost) -> tuple[Turn, ...]:
    """The history without old turns that called tools, oldest first, except the newest turn."""
    newest, kept = _newest(history), list[Turn]()
    for turn in history[:newest]:
        if excess > 0 and _has_calls(turn):
            excess -= _cost((turn,), cost)
        else:
            kept.append(turn)
    return (*kept, *history[newest:])


@register_history_policy("keep_newest_turns")
def keep_newest_turns(history: tuple[Turn, ...], excess: int, cost: Cost) -> tuple[Turn, ...]:
    """The history without its oldest turns, but for pinned ones, the newest one and what that answers.

    Where a question goes, its answers go with it, even if less would do: they would read as answers to
    another question.
    """
    dropped = _oldest(history, excess, cost)
    return tuple(turn for at, turn in enumerate(history) if at not in dropped)


SUMMARIZE: Final = "summarize_old_turns"
"""The name of the policy that takes a request to the model."""


@register_history_policy(SUMMARIZE)
def summarize_old_turns(history: tuple[Turn, ...], excess: int, cost: Cost) -> tuple[Turn, ...]:
    """The history as it is: a summary is made by the model, which the loop asks for it."""
    del excess, cost
    return history


@dataclass(frozen=True, slots=True)
class Parted:
    """A history, parted into what a summary may stand for and what stays as it is."""

    before: tuple[Turn, ...]
    """What stays, up to the first of the old turns."""
    old: tuple[Turn, ...]
    """The old turns, with the earlier summary, if there is one."""
    after: tuple[Turn, ...]
    """The rest of what stays."""


def parted(history: tuple[Turn, ...], excess: int, cost: Cost) -> Parted:
    """The history, parted at what :func:`keep_newest_turns` would drop, and the earlier summary."""
    loose = tuple(replace(turn, pinned=turn.pinned and not is_summary(turn.head)) for turn in history)
    dropped = _oldest(loose, excess, cost)
    first = min(dropped, default=len(history))
    return Parted(
        history[:first],
        tuple(turn for at, turn in enumerate(history) if at in dropped),
        tuple(turn for at, turn in enumerate(history) if at > first and at not in dropped),
    )


def _oldest(history: tuple[Turn, ...], excess: int, cost: Cost) -> frozenset[int]:
    """The places of the oldest turns, until the excess is gone; see :func:`keep_newest_turns`."""
    newest, places, orphaned = _newest(history), list[int](), False
    question = max(
        (at for at, turn in enumerate(history[: newest + 1]) if is_question(turn.head)), default=newest
    )
    for at, turn in enumerate(history):
        orphaned = orphaned and not is_question(turn.head)
        stays = turn.pinned or at == question or at >= newest
        if not stays and (excess > 0 or orphaned):
            excess -= _cost((turn,), cost)
            orphaned = orphaned or is_question(turn.head)
            places.append(at)
    return frozenset(places)


def _newest(history: tuple[Turn, ...]) -> int:
    """Where the newest turn begins; what is said to the model on top of its results belongs to them."""
    answers = [at for at, turn in enumerate(history) if not is_question(turn.head)]
    if answers and _has_calls(history[answers[-1]]):
        return answers[-1]
    return max(len(history) - 1, 0)


def _cost(history: tuple[Turn, ...], cost: Cost) -> int:
    return sum(cost(message) for turn in history for message in turn.messages)


def _has_calls(turn: Turn) -> bool:
    return isinstance(turn.head, AssistantMessage) and bool(turn.head.calls)


def _names(turn: Turn) -> dict[str, str]:
    """The names of the tools that were called, by the ids of the calls."""
    calls = turn.head.calls if isinstance(turn.head, AssistantMessage) else ()
    return {call.id: call.name for call in calls}


def _shortened(message: Message, names: Mapping[str, str]) -> Message:
    """A tool result without its data; anything else, and a result with nothing to leave out, as it is."""
    if not isinstance(message, ToolMessage):
        return message
    if not message.parts and len(message.content.encode("utf-8", "replace")) <= _SMALL:
        return message
    result = _result(message.content, names.get(message.call_id, ""))
    if not message.parts and result.data == _NOTHING:
        return message
    left_out = len(result.data.encode("utf-8", "replace"))
    called = f"call {result.tool_name} again" if result.tool_name else "make the call again"
    lost = "".join(f"{part.label} and " for part in message.parts)
    gone = f"{lost}{left_out} bytes of this older result were left out to save room."
    warning = f"{gone} If you need them, {called}."
    return replace(message, content=replace(result, data=_NOTHING, warnings=(warning,)).text(), parts=())


def _result(content: str, name: str) -> Envelope:
    """A result that may come from elsewhere: plain text is the data of one that went well."""
    text = either(read(content).map(canonical).alt(lambda _: canonical(sound(content))))
    tree = parse(text)
    own = tree.get("tool_name") if isinstance(tree, Mapping) else None
    return envelope_of(own if isinstance(own, str) else name, text, limit=len(text.encode()))
