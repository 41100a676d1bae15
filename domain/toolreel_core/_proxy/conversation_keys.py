"""Conversations of clients: how one is recognised, and what the model thought in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, NamedTuple

from toolreel_core._client_requests import ClientRequest
from toolreel_core._conversation import message_in
from toolreel_core._jsontext import Json, Tree, as_tree, finite, items_of, read, sorted_text
from toolreel_core._settings import Provider

# Keys by which a request is recognised as going on with a conversation, without help of the client.
#
# A request goes on where another ended if its messages begin with those and the reply to them. Clients change
# how messages are written: text next to calls is dropped, arguments are encoded again, ``null`` becomes an
# empty text, reasoning is left out. None of that is part of a key.


class Key(NamedTuple):
    """What has been said until some message."""

    exact: str
    """With the ids of calls, which tell two conversations with the same words apart."""
    alike: str
    """Without ids, for clients that make their own."""


def key_of(entries: Iterable[Json], *, caller: str = "") -> Key:
    """The key of messages.

    >>> said, heard = (
    ...     {"role": "assistant", "content": "Hi."},
    ...     {"role": "assistant", "content": [{"text": "Hi."}]},
    ... )
    >>> key_of([said]) == key_of([heard])
    True

    :param caller: who sends them; those of different callers are never the same
    """
    return key_after(_first_key(caller), entries)


def key_after(key: Key, entries: Iterable[Json]) -> Key:
    """The key of what a key stands for, and then these messages.

    >>> first, second = {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ho."}
    >>> key_after(key_of([first]), [second]) == key_of([first, second])
    True
    """
    return _keys_after_each(key, entries)[-1]


def keys_after_each(entries: Sequence[Json], *, caller: str = "") -> Sequence[Key]:
    """The key of the messages until each of them."""
    return _keys_after_each(_first_key(caller), entries)[1:]


def continuation_keys(entries: Sequence[Json], *, caller: str = "") -> tuple[Key, ...]:
    """The keys of what a request may go on with, the longest first: up to each reply, and as a whole.

    It is the same as a whole if the client asks again, since it has got no reply.
    """
    keys = _keys_after_each(_first_key(caller), entries)
    ends = [at for at, entry in enumerate(entries) if as_tree(entry).get("role") == "assistant"]
    return (keys[-1], *(keys[at + 1] for at in reversed(ends)))


def _first_key(caller: str) -> Key:
    digest = sha256(caller.encode("utf-8", "replace")).hexdigest()
    return Key(digest, digest)


def _keys_after_each(key: Key, entries: Iterable[Json]) -> list[Key]:
    """The key, and then one for each further message."""
    exact, alike = map(bytes.fromhex, key)
    keys = [key]
    for entry in entries:
        tree = as_tree(entry)
        said = _sorted_bytes(
            {
                "role": "system" if tree.get("role") == "developer" else tree.get("role"),
                "said": _calls_or_text(tree),
            }
        )
        exact = sha256(exact + said + _sorted_bytes(_call_ids(tree))).digest()
        alike = sha256(alike + said).digest()
        keys.append(Key(exact.hex(), alike.hex()))
    return keys


def _calls_or_text(tree: Tree) -> Json:
    """Calls without their ids, or else text without blanks around it."""
    calls = [as_tree(as_tree(entry).get("function")) for entry in items_of(tree, "tool_calls")]
    if calls:
        return [[call.get("name"), _parsed_arguments(call.get("arguments"))] for call in calls]
    content = tree.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = items_of(tree, "content")
    texts = [as_tree(part).get("text") for part in parts]
    if all(isinstance(text, str) for text in texts):
        return "".join(map(str, texts)).strip()
    return parts


def _call_ids(tree: Tree) -> Json:
    return [tree.get("tool_call_id"), *(as_tree(entry).get("id") for entry in items_of(tree, "tool_calls"))]


def _parsed_arguments(arguments: Json) -> Json:
    return read(arguments).value_or(arguments) if isinstance(arguments, str) else arguments


def _sorted_bytes(value: Json) -> bytes:
    """The same text for the same value, whatever the order of its keys."""
    return sorted_text(value).encode()


# What a model thought, for clients that send the history back without it.
#
# Some upstreams refuse calls without the reasoning or the signatures that came with them, and most clients
# know nothing of these fields. So they are kept with the key of the conversation until there, and put back
# where the same words come again.


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


Find = Callable[[Key], Thoughts | None]
"""Finds what was thought in the last message of a conversation, by its key."""


def wants_thoughts(provider: Provider) -> bool:
    """Whether a provider refuses messages without what the model had thought."""
    return bool(_fields_to_return(provider)) or provider.signature_channel == "extra_content"


def thoughts_to_return(
    request: ClientRequest, said: Json, provider: Provider, *, caller: str = ""
) -> tuple[Key, Thoughts] | None:
    """What a reply says that this provider wants back, and after what; ``None`` if it is nothing.

    :param said: the message that the client gets
    """
    message = as_tree(said)
    fields = {key: message[key] for key in _fields_to_return(provider) if message.get(key)}
    calls = tuple([_signature_fields(call, provider) for call in items_of(message, "tool_calls")])
    if not fields and not any(calls):
        return None
    key = key_after(key_of(request.entries, caller=caller), [said])
    return key, Thoughts(as_tree(finite(fields)), calls)


def with_thoughts(
    request: ClientRequest, provider: Provider, find: Find, *, caller: str = ""
) -> tuple[ClientRequest, bool]:
    """The request with what its client has left out, and whether it left out something.

    What a client did send is never changed.
    """
    if request.messages is None or not wants_thoughts(provider):
        return request, False
    entries, messages = [*request.entries], [*request.messages]
    changed = False
    for at, key in enumerate(keys_after_each(entries, caller=caller)):
        entry = as_tree(entries[at])
        thoughts = find(key) if entry.get("role") == "assistant" else None
        whole = entry if thoughts is None else _with_thoughts(entry, thoughts)
        if whole != entry:
            entries[at], messages[at] = whole, message_in(whole, f"messages[{at}]")
            changed = True
    tree = {**request.tree, "messages": entries}
    return (replace(request, tree=tree, messages=tuple(messages)), True) if changed else (request, False)


def _fields_to_return(provider: Provider) -> Sequence[str]:
    """The fields of a message that have to come back."""
    texts = _TEXTS if provider.reasoning_required_on != "none" else ()
    # OpenRouter signs in it for the provider behind it, and gives it to nobody who does not want it back.
    signed = provider.signature_channel == "reasoning_details" or provider.name == "openrouter"
    return (*texts, *((_DETAILS,) if signed else ()))


def _signature_fields(call: Json, provider: Provider) -> Tree:
    value = as_tree(call).get(_SIGNED) if provider.signature_channel == "extra_content" else None
    return as_tree(finite({_SIGNED: value})) if value else {}


def _with_thoughts(entry: Tree, thoughts: Thoughts) -> Tree:
    has_text = any(entry.get(key) for key in _TEXTS)
    added = {
        key: value
        for key, value in thoughts.message.items()
        if not entry.get(key) and not (has_text and key in _TEXTS)
    }
    calls = items_of(entry, "tool_calls")
    whole = [_with_signature(call, each) for call, each in zip(calls, thoughts.calls, strict=False)]
    return {**entry, **added, **({"tool_calls": whole} if whole else {})}


def _with_signature(call: Json, fields: Tree) -> Json:
    tree = as_tree(call)
    return {**tree, **{key: value for key, value in fields.items() if not tree.get(key)}}
