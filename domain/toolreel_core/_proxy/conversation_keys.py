"""Keys by which a request is recognised as going on with a conversation, without help of the client.

A request goes on where another ended if its messages begin with those and the reply to them. Clients
change how messages are written: text next to calls is dropped, arguments are encoded again, ``null`` becomes
an empty text, reasoning is left out. None of that is part of a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from toolreel_core._jsontext import Json, Tree, as_tree, items_of, read, sorted_text


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
    return further(_beginning(caller), entries)


def further(key: Key, entries: Iterable[Json]) -> Key:
    """The key of what a key stands for, and then these messages.

    >>> first, second = {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ho."}
    >>> further(key_of([first]), [second]) == key_of([first, second])
    True
    """
    return _chain(key, entries)[-1]


def prefixes(entries: Sequence[Json], *, caller: str = "") -> Sequence[Key]:
    """The key of the messages until each of them."""
    return _chain(_beginning(caller), entries)[1:]


def openings(entries: Sequence[Json], *, caller: str = "") -> tuple[Key, ...]:
    """The keys of what a request may go on with, the longest first: up to each reply, and as a whole.

    It is the same as a whole if the client asks again, since it has got no reply.
    """
    keys = _chain(_beginning(caller), entries)
    ends = [at for at, entry in enumerate(entries) if as_tree(entry).get("role") == "assistant"]
    return (keys[-1], *(keys[at + 1] for at in reversed(ends)))


def _beginning(caller: str) -> Key:
    digest = sha256(caller.encode("utf-8", "replace")).hexdigest()
    return Key(digest, digest)


def _chain(key: Key, entries: Iterable[Json]) -> list[Key]:
    """The key, and then one for each further message."""
    exact, alike = map(bytes.fromhex, key)
    keys = [key]
    for entry in entries:
        tree = as_tree(entry)
        said = _text(
            {"role": "system" if tree.get("role") == "developer" else tree.get("role"), "said": _said(tree)}
        )
        exact = sha256(exact + said + _text(_ids(tree))).digest()
        alike = sha256(alike + said).digest()
        keys.append(Key(exact.hex(), alike.hex()))
    return keys


def _said(tree: Tree) -> Json:
    """Calls without their ids, or else text without blanks around it."""
    calls = [as_tree(as_tree(entry).get("function")) for entry in items_of(tree, "tool_calls")]
    if calls:
        return [[call.get("name"), _value(call.get("arguments"))] for call in calls]
    content = tree.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = items_of(tree, "content")
    texts = [as_tree(part).get("text") for part in parts]
    if all(isinstance(text, str) for text in texts):
        return "".join(map(str, texts)).strip()
    return parts


def _ids(tree: Tree) -> Json:
    return [tree.get("tool_call_id"), *(as_tree(entry).get("id") for entry in items_of(tree, "tool_calls"))]


def _value(arguments: Json) -> Json:
    return read(arguments).value_or(arguments) if isinstance(arguments, str) else arguments


def _text(value: Json) -> bytes:
    """The same text for the same value, whatever the order of its keys."""
    return sorted_text(value).encode()
