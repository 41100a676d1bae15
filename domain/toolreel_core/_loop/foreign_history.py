"""A conversation that goes on at another endpoint: what of it is bound to the one before, and what is sent.

A signature is valid for the provider that made it, and reasoning is nobody else's, so neither is ever sent to
another one. The stored history keeps both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from toolreel_core._conversation import AssistantMessage, Message, SentCall, Transcript, project
from toolreel_core._jsontext import NOTHING, Json, JsonText, parse
from toolreel_core._plan import Plan
from toolreel_core._protocol import State

_SIGNED: Final = "signature"
_ENCRYPTED: Final = "encrypted_content"
"""Keys of what only its provider can read; the second is that of reasoning in Responses."""

_REDACTED = frozenset({"reasoning.encrypted", "redacted_thinking"})
"""Kinds of reasoning that only its provider can read."""


class Bare(NamedTuple):
    """What goes to another endpoint."""

    messages: tuple[Message, ...]
    dropped: int
    """Messages that lost fields of the provider before."""


def bound_messages(state: State) -> int:
    """How many messages of the next request have what must come back to the present endpoint."""
    provider = state.present.provider
    demanded = provider.reasoning_required_on != "none"
    sent = project(state.messages.outgoing, provider)
    return sum(any(demanded or is_signed(parse(text)) for text in extras_of(message)) for message in sent)


def extras_of(message: Message) -> tuple[JsonText, ...]:
    """The texts of a message's provider fields, and of those of its calls; none where there are none."""
    if not isinstance(message, AssistantMessage):
        return ()
    texts = (message.extras, *(call.extras for call in message.calls))
    return tuple(text for text in texts if text != NOTHING)


def is_signed(tree: Json) -> bool:
    """Whether there is a signature, or reasoning that only its provider can read, anywhere in a tree.

    >>> is_signed({"extra_content": {"google": {"thought_signature": "c2ln"}}})
    True
    >>> is_signed({"responses_items": [{"type": "reasoning", "encrypted_content": "c2ln"}]})
    True
    >>> is_signed({"reasoning_content": "The user wants a sum.", "signature": None})
    False
    """
    if isinstance(tree, Mapping):
        named = any(value and _SIGNED in key for key, value in tree.items()) or tree.get(_ENCRYPTED)
        return bool(named) or tree.get("type") in _REDACTED or any(map(is_signed, tree.values()))
    return isinstance(tree, Sequence) and not isinstance(tree, str) and any(map(is_signed, tree))


def moved(state: State, after: Plan) -> tuple[Transcript, int]:
    """The conversation as another endpoint gets it, and how many messages lost fields of the one before."""
    stored, sent = tuple(state.messages.messages), tuple(state.messages.outgoing)
    opening = state.present.opening
    # That of another endpoint may tell the form of the answer in words.
    if after.opening != opening and sent[: len(opening)] == opening:
        sent = (*after.opening, *sent[len(opening) :])
    bare = without_extras(sent)
    kept = None if bare.messages == stored else bare.messages
    return Transcript.of(stored, after.form, kept=kept), bare.dropped


def without_extras(messages: Iterable[Message]) -> Bare:
    """The messages without the fields of a provider."""
    out, dropped = list[Message](), 0
    for message in messages:
        if not isinstance(message, AssistantMessage) or not extras_of(message):
            out.append(message)
            continue
        calls = tuple(SentCall(call.id, call.name, call.arguments) for call in message.calls)
        out.append(replace(message, calls=calls, extras=NOTHING))
        dropped += 1
    return Bare(tuple(out), dropped)
