"""What a model thought, for clients that send the history back without it.

Some upstreams refuse calls without the reasoning or the signatures that came with them, and most clients know
nothing of these fields. So they are kept with the key of the conversation until there, and put back where the
same words come again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from toolreel_core._client_requests import ClientRequest
from toolreel_core._conversation import message_in
from toolreel_core._jsontext import Json, Tree, as_tree, finite, items_of
from toolreel_core._proxy.conversation_keys import Key, further, key_of, prefixes
from toolreel_core._settings import Provider

RESTORED: Final = "reasoning_restored"
"""Name of the repair of a history without what the model had thought."""

_TEXTS: Final = ("reasoning_content", "reasoning")
_DETAILS: Final = "reasoning_details"
_SIGNED: Final = "extra_content"


@dataclass(frozen=True, slots=True)
class Thoughts:
    """The fields of one message of the model that clients drop."""

    message: Tree
    calls: tuple[Tree, ...] = ()
    """The fields of each of its calls."""


class Kept(NamedTuple):
    """Thoughts, and when to put them back."""

    key: Key
    thoughts: Thoughts


Find = Callable[[Key], Thoughts | None]
"""Finds what was thought in the last message of a conversation, by its key."""


def wants_thoughts(provider: Provider) -> bool:
    """Whether a provider refuses messages without what the model had thought."""
    return bool(_fields(provider)) or provider.signature_channel == "extra_content"


def kept(request: ClientRequest, said: Json, provider: Provider, *, caller: str = "") -> Kept | None:
    """What a reply says that this provider wants back; ``None`` if it is nothing.

    :param said: the message that the client gets
    """
    message = as_tree(said)
    fields = {key: message[key] for key in _fields(provider) if message.get(key)}
    calls = tuple([_signed(call, provider) for call in items_of(message, "tool_calls")])
    if not fields and not any(calls):
        return None
    key = further(key_of(request.entries, caller=caller), [said])
    return Kept(key, Thoughts(as_tree(finite(fields)), calls))


def restored(
    request: ClientRequest, provider: Provider, find: Find, *, caller: str = ""
) -> tuple[ClientRequest, bool]:
    """The request with what its client has left out, and whether it left out something.

    What a client did send is never changed.
    """
    if request.messages is None or not wants_thoughts(provider):
        return request, False
    entries, messages = [*request.entries], [*request.messages]
    changed = False
    for at, key in enumerate(prefixes(entries, caller=caller)):
        entry = as_tree(entries[at])
        thoughts = find(key) if entry.get("role") == "assistant" else None
        whole = entry if thoughts is None else _with(entry, thoughts)
        if whole != entry:
            entries[at], messages[at] = whole, message_in(whole, f"messages[{at}]")
            changed = True
    tree = {**request.tree, "messages": entries}
    return (replace(request, tree=tree, messages=tuple(messages)), True) if changed else (request, False)


def _fields(provider: Provider) -> Sequence[str]:
    """The fields of a message that have to come back."""
    texts = _TEXTS if provider.reasoning_required_on != "none" else ()
    # OpenRouter signs in it for the provider behind it, and gives it to nobody who does not want it back.
    signed = provider.signature_channel == "reasoning_details" or provider.name == "openrouter"
    return (*texts, *((_DETAILS,) if signed else ()))


def _signed(call: Json, provider: Provider) -> Tree:
    value = as_tree(call).get(_SIGNED) if provider.signature_channel == "extra_content" else None
    return as_tree(finite({_SIGNED: value})) if value else {}


def _with(entry: Tree, thoughts: Thoughts) -> Tree:
    has_text = any(entry.get(key) for key in _TEXTS)
    added = {
        key: value
        for key, value in thoughts.message.items()
        if not entry.get(key) and not (has_text and key in _TEXTS)
    }
    calls = items_of(entry, "tool_calls")
    whole = [_signed_again(call, each) for call, each in zip(calls, thoughts.calls, strict=False)]
    return {**entry, **added, **({"tool_calls": whole} if whole else {})}


def _signed_again(call: Json, fields: Tree) -> Json:
    tree = as_tree(call)
    return {**tree, **{key: value for key, value in fields.items() if not tree.get(key)}}
