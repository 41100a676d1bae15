"""Conversations of clients: how one is recognised, and what the model thought in it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from toolreel_core._client_requests import ClientRequest
from toolreel_core._conversation import REASONING, parse_chat_message
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical_without_non_finite,
    json_with_sorted_keys,
    list_at,
    parse,
    read_json,
)
from toolreel_core._settings import Provider

# Keys by which a request is recognised as going on with a conversation, without help of the client.
#
# A request goes on where another ended if its messages begin with those and the reply to them. Clients change
# how messages are written: text next to calls is dropped, arguments are encoded again, ``null`` becomes an
# empty text, reasoning is left out. None of that is part of a key.


class ConversationKey(NamedTuple):
    exact: str
    """With the ids of calls, which tell two conversations with the same words apart."""
    alike: str
    """Without ids, for clients that make their own."""


def initial_key_of_caller(caller: str) -> ConversationKey:
    """The key before the first message of a caller; those of different callers are never the same."""
    digest = sha256(caller.encode("utf-8", "replace")).hexdigest()
    return ConversationKey(digest, digest)


def keys_after_each_message(key: ConversationKey, entries: Iterable[Json]) -> list[ConversationKey]:
    """The key, and then one for each further message.

    >>> text, parts = {"role": "user", "content": "Hi."}, {"role": "user", "content": [{"text": "Hi."}]}
    >>> keys_after_each_message(initial_key_of_caller(""), [text]) == keys_after_each_message(
    ...     initial_key_of_caller(""), [parts]
    ... )
    True
    """
    exact, alike = map(bytes.fromhex, key)
    keys = [key]
    for entry in map(as_tree, entries):
        role = "system" if entry.get("role") == "developer" else entry.get("role")
        calls = [*map(as_tree, list_at(entry, "tool_calls"))]
        said: Json = [*map(_call_without_id, calls)] if calls else _text_or_parts(entry)
        # Recordings are named after this digest, so what it covers must not change.
        message = _json_bytes_with_sorted_keys({"role": role, "said": said})
        ids = _json_bytes_with_sorted_keys([entry.get("tool_call_id"), *(call.get("id") for call in calls)])
        exact, alike = sha256(exact + message + ids).digest(), sha256(alike + message).digest()
        keys.append(ConversationKey(exact.hex(), alike.hex()))
    return keys


def continuation_keys(entries: Sequence[Json], caller: str) -> tuple[ConversationKey, ...]:
    """The keys of what a request may go on with: as a whole, if it is asked again, or up to a reply."""
    keys = keys_after_each_message(initial_key_of_caller(caller), entries)
    ends = [at for at, entry in enumerate(entries) if as_tree(entry).get("role") == "assistant"]
    return (keys[-1], *(keys[at + 1] for at in reversed(ends)))


def _call_without_id(call: Tree) -> Json:
    function = as_tree(call.get("function"))
    arguments = function.get("arguments")
    parsed = read_json(arguments).value_or(arguments) if isinstance(arguments, str) else arguments
    return [function.get("name"), parsed]


def _text_or_parts(entry: Tree) -> Json:
    """The text without blanks around it, if all of the content is text."""
    content, parts = entry.get("content"), list_at(entry, "content")
    texts = [content] if isinstance(content, str) else [as_tree(part).get("text") for part in parts]
    if all(isinstance(text, str) for text in texts):
        return "".join(map(str, texts)).strip()
    return parts


def _json_bytes_with_sorted_keys(value: Json) -> bytes:
    return json_with_sorted_keys(value).encode()


RESTORED = "reasoning_restored"
"""Name of the repair of a history without what the model had thought."""

_DETAILS = "reasoning_details"
_SIGNED = "extra_content"
# Of all conversations of one proxy together.
_MOST_BYTES = 64 * 2**20
_BYTES_EACH = 1_000
"""Bytes that any message takes besides its thoughts."""


def wants_thoughts_back(provider: Provider) -> bool:
    return bool(_reasoning_fields_to_send_back(provider)) or provider.signature_channel == _SIGNED


class KeptThoughts:
    """What a model thought, for clients that send the history back without it.

    Some upstreams refuse calls without the reasoning or the signatures that came with them, and most clients
    know nothing of these fields. So they are kept with the key of the conversation until there, and put back
    where the same words come again.

    :param most: their size in bytes; those that were wanted least recently are forgotten first
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._fields: OrderedDict[str, JsonText] = OrderedDict()
        """The fields of a message, and of each of its calls, that clients drop."""

    def keep(self, request: ClientRequest, message: Json, provider: Provider, caller: str) -> None:
        """Keep what a reply, as the client gets it, says that this provider wants back."""
        entry = as_tree(message)
        fields = {key: entry[key] for key in _reasoning_fields_to_send_back(provider) if entry.get(key)}
        signatures = [as_tree(call).get(_SIGNED) for call in list_at(entry, "tool_calls")]
        if provider.signature_channel == _SIGNED and any(signatures):
            fields["tool_calls"] = [{_SIGNED: signature} for signature in signatures]
        if not fields:
            return
        text = canonical_without_non_finite(fields)
        # Under both, since some clients make ids of their own.
        for name in keys_after_each_message(initial_key_of_caller(caller), [*request.entries, message])[-1]:
            if name in self._fields:
                self._size -= _BYTES_EACH + len(self._fields.pop(name))
            self._fields[name] = text
            self._size += _BYTES_EACH + len(text)
        while self._size > self._most:
            self._size -= _BYTES_EACH + len(self._fields.popitem(last=False)[1])

    def restore(
        self, request: ClientRequest, provider: Provider, caller: str
    ) -> tuple[ClientRequest, tuple[str, ...]]:
        """The request with what its client has left out, and the name of the repair if it is one."""
        # What a client did send is never changed.
        if request.messages is None or not wants_thoughts_back(provider):
            return request, ()
        entries, messages = [*request.entries], [*request.messages]
        for at, key in enumerate(keys_after_each_message(initial_key_of_caller(caller), entries)[1:]):
            entry = as_tree(entries[at])
            name = next((name for name in key if name in self._fields), None)
            if name is None or entry.get("role") != "assistant":
                continue
            self._fields.move_to_end(name)
            whole = _with_thoughts(entry, as_tree(parse(self._fields[name])))
            if whole != entry:
                entries[at], messages[at] = whole, parse_chat_message(whole, f"messages[{at}]")
        if entries == [*request.entries]:
            return request, ()
        return replace(request, tree={**request.tree, "messages": entries}, messages=tuple(messages)), (
            RESTORED,
        )


def _reasoning_fields_to_send_back(provider: Provider) -> Sequence[str]:
    texts = REASONING if provider.reasoning_required_on != "none" else ()
    # OpenRouter signs in it for the provider behind it, and gives it to nobody who does not want it back.
    signed = provider.signature_channel == _DETAILS or provider.name == "openrouter"
    return (*texts, *((_DETAILS,) if signed else ()))


def _with_thoughts(entry: Tree, fields: Tree) -> Tree:
    reasoned = any(entry.get(key) for key in REASONING)
    added = {
        key: value
        for key, value in fields.items()
        if key != "tool_calls" and not entry.get(key) and not (reasoned and key in REASONING)
    }
    calls = [*map(as_tree, list_at(entry, "tool_calls"))]
    for number, signed in enumerate(map(as_tree, list_at(fields, "tool_calls")[: len(calls)])):
        if signed.get(_SIGNED) and not calls[number].get(_SIGNED):
            calls[number] = {**calls[number], **signed}
    return {**entry, **added, **({"tool_calls": calls} if calls else {})}
