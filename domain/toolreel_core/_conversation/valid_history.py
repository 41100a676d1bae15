"""The valid history that a provider gets: a projection of the stored one, message by message.

One invalid message makes a provider reject every later request: a call without a result or a result without
its call (MoonshotAI/kimi-code#1053), a repeated id (zeph#6501), an empty assistant message (DeepSeek,
Mistral), a name with a dot. The stored history never changes. The projection has every call answered once,
ids that are unique in the conversation, valid names and no empty message, plus what the provider's settings
require. A valid history is sent unchanged, so projecting twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import NamedTuple, assert_never

from pyrsistent import PMap, pmap

from toolreel_core._conversation.content_parts import (
    FROM_TOOLS,
    Image,
    Part,
    Text,
    labelled_result_parts,
    parts_for_provider,
    parts_text,
)
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._jsontext import NOTHING, as_tree, canonical, parse
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._settings import KEPT_FIELDS, KEPT_IN, IdStyle, Provider
from toolreel_core._tools import failed_envelope, outward_name, result_unknown

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NATIVE: Mapping[IdStyle, re.Pattern[str]] = {
    "keep": lazy_pattern(r"(?s).+"),  # any id but an empty one
    # OpenAI refuses ids of more than 40 characters, Anthropic's models other characters.
    "openai": lazy_pattern(r"[A-Za-z0-9_-]{1,40}"),
    # As Kimi K2 makes and expects it: the name and a counter.
    "kimi": lazy_pattern(r"functions\.[\w.-]+:\d+", re.ASCII),
    # Mistral's: exactly nine letters and digits (pydantic/pydantic-ai#9096).
    "alnum9": lazy_pattern(r"[A-Za-z0-9]{9}"),
}
"""The ids that each style has."""


def unused_call_id(requested: str, name: str, calls: int, used_ids: Mapping[str, int], style: IdStyle) -> str:
    """The id under which a call goes out: the wanted one, or the first in the style that is still free.

    :param calls: how many calls were sent before
    """
    if requested not in used_ids and _NATIVE[style].fullmatch(requested):
        return requested
    before = used_ids.get(requested, 0) + 1
    made = (_generated_call_id(requested, name, calls + number, before + number, style) for number in count())
    return next(form for form in made if form not in used_ids)


def _generated_call_id(requested: str, name: str, call: int, number: int, style: IdStyle) -> str:
    match style:
        case "keep":
            return f"{requested or 'call'}_{number}"
        case "openai":
            return f"call_{_hashed_id(requested, number, 24)}"  # as long as OpenAI's own
        case "kimi":
            return f"functions.{name}:{call}"
        case "alnum9":
            return _hashed_id(requested, number, 9)
        case _:
            assert_never(style)


def _hashed_id(requested: str, number: int, length: int) -> str:
    value = int.from_bytes(sha256(f"{number}:{requested}".encode("utf-8", "replace")).digest(), "big")
    letters = []
    for _ in range(length):
        value, letter = divmod(value, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)


_NO_IDS: PMap[str, int] = pmap()
_ANY = Provider()
_ONE_WAITING = (0,)
"""What waits after a single call; all states share it."""
_BRIDGE = AssistantMessage("Understood.")
"""What stands between a tool result and a user message where that is not allowed (zed#31736)."""


class Outgoing(NamedTuple):
    message: Message
    quirks: tuple[str, ...] = ()
    """Names of the provider settings that changed it."""
    opens: bool = True
    """Of a result: whether it is the first of its turn."""
    closes: bool = True
    """Of a result: whether it is the last of its turn."""


@dataclass(frozen=True, slots=True)
class Projection:
    """The progress of a projection: what the next message depends on."""

    provider: Provider = _ANY
    used_ids: PMap[str, int] = _NO_IDS
    """The ids that have gone out, each with how many forms of it there are so far."""
    called: tuple[SentCall, ...] = ()
    """Calls of the latest assistant message, as they are stored."""
    sent: tuple[SentCall, ...] = ()
    waiting: tuple[int, ...] = ()
    """Places of those that have no result yet."""
    calls: int = 0
    after_result: bool = False
    """The latest message that went out is a tool result."""
    moved: tuple[Part, ...] = ()
    """Parts that this provider refuses in results; a user message with them follows the last result."""

    def of(self, message: Message, *, fresh: bool = True) -> tuple[Projection, tuple[Outgoing, ...]]:
        """Project one more message, to itself or to nothing; it is ``fresh`` after the last user message.

        :param fresh: whether it belongs to the current turn, that is, comes after the last user message
        """
        if isinstance(message, AssistantMessage):
            return self._add_assistant(message, fresh=fresh)
        if isinstance(message, ToolMessage):
            return self._add_result(message)
        bridge = self._bridge_message(after_result=self.after_result or bool(self.waiting and not self.moved))
        out = Outgoing(message)
        if isinstance(message, UserMessage) and message.parts:
            parts, settings = parts_for_provider(message.parts, self.provider)
            if settings:
                out = Outgoing(replace(message, content=parts_text(parts), parts=parts), settings)
        after = replace(self, waiting=(), after_result=False, moved=())
        return after, (*self.results_for_unanswered_calls(), *bridge, out)

    def results_for_unanswered_calls(self) -> tuple[Outgoing, ...]:
        """A result for each unanswered call, which says that the result is unknown."""
        unknown = list[Outgoing]()
        for number, place in enumerate(self.waiting):
            name = self.sent[place].name
            result = ToolMessage(self.called[place].id, failed_envelope(name, result_unknown(name)).text())
            unknown.append(self._result_as_sent(place, result, before=number))
        if not self.moved:
            return tuple(unknown)
        # Parts that results may not have follow them in a user message.
        parts, settings = parts_for_provider((Text(FROM_TOOLS), *self.moved), self.provider)
        message = Outgoing(UserMessage(parts_text(parts), parts), ("images_in_tool_results", *settings))
        return (*unknown, *self._bridge_message(after_result=True), message)

    def is_late(self, result: ToolMessage) -> bool:
        """Whether the call of a result was sent and does not wait for it any more."""
        waiting = [self.called[place].id for place in self.waiting]
        return result.call_id in self.used_ids and result.call_id not in waiting

    def answered(self) -> Projection:
        return replace(self, waiting=(), after_result=not self.moved, moved=())

    def _bridge_message(self, *, after_result: bool) -> tuple[Outgoing, ...]:
        bridged = self.provider.assistant_after_tool and after_result
        return (Outgoing(_BRIDGE, ("assistant_after_tool",)),) if bridged else ()

    def _add_assistant(
        self, message: AssistantMessage, *, fresh: bool
    ) -> tuple[Projection, tuple[Outgoing, ...]]:
        # Items that go back in this form, such as tools of the server at work, are something, too. They are
        # searched as text, without parsing: a match elsewhere only keeps an empty message.
        key = KEPT_IN[self.provider.wire_form]
        items = key and message.extras != NOTHING and f'"{key}":' in message.extras
        empty = not message.content.strip() and not message.calls and not items
        if empty and self.provider.drop_empty_assistant:
            return self, ()
        provider, used_ids, sent = self.provider, self.used_ids, list[SentCall]()
        for number, call in enumerate(message.calls, self.calls):
            name = outward_name(call.name)
            sent_id = unused_call_id(call.id, name, number, used_ids, provider.id_style)
            used_ids = used_ids.set(call.id, (used_ids.get(call.id, 0)) + 1)
            if sent_id == call.id and name == call.name:
                sent.append(call)
            else:
                used_ids = used_ids if sent_id in used_ids else used_ids.set(sent_id, 1)
                sent.append(SentCall(sent_id, name, call.arguments, call.extras))
        calls, extras, settings = tuple(sent), message.extras, list[str]()
        # The same object where nothing has changed: `same` below compares identities.
        calls = message.calls if calls == message.calls else calls
        waiting = _ONE_WAITING if len(calls) == 1 else tuple(range(len(calls)))
        after = Projection(provider, used_ids, message.calls, calls, waiting, calls=self.calls + len(calls))
        if provider.id_style != "keep" and [call.id for call in calls] != [call.id for call in message.calls]:
            settings.append("id_style")
        if not key and extras != NOTHING and any(kept in extras for kept in KEPT_FIELDS):
            # What a reply in another form had; chat completions would send it.
            own = {name: value for name, value in as_tree(parse(extras)).items() if name not in KEPT_FIELDS}
            extras = canonical(own) if own else NOTHING
        replays = provider.reasoning_replay == "verbatim" or (
            provider.reasoning_replay == "current_turn" and fresh
        )
        if not replays and (extras != NOTHING or any(call.extras != NOTHING for call in calls)):
            calls, extras = tuple(replace(call, extras=NOTHING) for call in calls), NOTHING
            settings.append("reasoning_replay")
        same = calls is message.calls and extras is message.extras
        out = Outgoing(message if same else AssistantMessage(message.content, calls, extras), tuple(settings))
        return after, (*self.results_for_unanswered_calls(), out) if self.waiting else (out,)

    def _add_result(self, message: ToolMessage) -> tuple[Projection, tuple[Outgoing, ...]]:
        """Send a result; parts that it may not have follow the last result of the turn."""
        place = next((each for each in self.waiting if self.called[each].id == message.call_id), None)
        if place is None:
            return self, ()
        rest = tuple([other for other in self.waiting if other != place])
        if not message.parts and not self.moved:
            return replace(self, waiting=rest, after_result=True), (self._result_as_sent(place, message),)
        images = self.provider.images_in_tool_results == "yes" and self.provider.takes("images")
        stays = [each for each in message.parts if images and isinstance(each, Image)]
        moves = [each for each in message.parts if each not in stays]
        call = self.sent[place]
        following = (*self.moved, *labelled_result_parts(call.id, call.name, moves))
        result = self._result_as_sent(place, replace(message, parts=tuple(stays)))
        after = replace(self, waiting=rest, after_result=True, moved=following)
        return (
            (after, (result,))
            if rest
            else (after.answered(), (result, *after.results_for_unanswered_calls()))
        )

    def _result_as_sent(self, place: int, message: ToolMessage, *, before: int = 0) -> Outgoing:
        """A result as it goes out, behind some that were still waiting.

        :param before: how many of those that are still waiting go out before it
        """
        call, waiting = self.sent[place], len(self.waiting) - before
        opens, closes = waiting == len(self.sent), waiting == 1
        name = call.name if self.provider.tool_result_name else ""
        same = (call.id, name) == (message.call_id, message.name)
        sent = message if same else ToolMessage(call.id, message.content, name, message.parts)
        return Outgoing(sent, ("tool_result_name",) if name else (), opens, closes)


def _order_for_provider(
    messages: Sequence[Message], provider: Provider
) -> tuple[Sequence[Message], tuple[str, ...]]:
    """The messages in an order that the provider accepts, and the settings that changed the first."""
    # Qwen's and other templates take one system message, and only as the first (pydantic/pydantic-ai#5812).
    messages = _with_results_behind_calls(messages)
    systems = [message for message in messages if isinstance(message, SystemMessage)]
    if not provider.single_leading_system or not systems or systems == [messages[0]]:
        return messages, ()
    joined = SystemMessage("\n\n".join(system.content for system in systems))
    others = [message for message in messages if not isinstance(message, SystemMessage)]
    return (joined, *others), ("single_leading_system",)


def _with_results_behind_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages with each result behind its call, where a provider demands it, however late it came."""
    in_order: list[list[Message]] = []
    called: dict[str, list[Message]] = {}
    """The message with the latest call of each id, and the results behind it."""
    for message in messages:
        if isinstance(message, ToolMessage) and message.call_id in called:
            called[message.call_id].append(message)
            continue
        in_order.append([message])
        if isinstance(message, AssistantMessage):
            called |= dict.fromkeys([call.id for call in message.calls], in_order[-1])
    return [message for group in in_order for message in group]


def project_each_message(
    messages: Sequence[Message], provider: Provider
) -> Iterator[tuple[Message, Projection, tuple[Outgoing, ...]]]:
    """Each message in an order that the provider accepts, with the projection after it and what goes out."""
    in_order, settings = _order_for_provider(messages, provider)
    projection = Projection(provider)
    users = [place for place, message in enumerate(in_order) if isinstance(message, UserMessage)]
    for place, message in enumerate(in_order):
        projection, sent = projection.of(message, fresh=not users or place > users[-1])
        if settings and place == 0:
            sent = (sent[0]._replace(quirks=settings),)
        yield message, projection, sent


def project_history(messages: Iterable[Message], provider: Provider = _ANY) -> list[Outgoing]:
    """What goes out for a whole history, in order."""
    at, outgoing = Projection(provider), list[Outgoing]()
    for _, projection, sent in project_each_message(tuple(messages), provider):
        at = projection
        outgoing += sent
    return [*outgoing, *at.results_for_unanswered_calls()]
