"""Changes to the body of a request that a preset or a caller makes.

What the loop itself decides cannot be changed that way: the model, the messages and the tools
come from the plan, and whether the answer is streamed is up to the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from toolreel_core._jsontext.canonical import Tree

RESERVED: Final = ("model", "messages", "tools", "tool_choice", "response_format")
"""Keys of a body that have an owner of their own, so a patch may not set them."""

_OWNED: Final = frozenset({*RESERVED, "stream"})


class Overrides(NamedTuple):
    """A patch, and what was taken out of it."""

    patch: Tree
    ignored: tuple[str, ...]
    """The keys that a patch may not set, in its order."""


def merged(base: Tree, patch: Tree) -> Tree:
    """The body that a patch makes of another: objects are merged, lists and all else replaced.

    >>> merged({"a": {"x": 1, "y": [1, 2]}, "b": 1}, {"c": 3, "a": {"y": []}})
    {'a': {'x': 1, 'y': []}, 'b': 1, 'c': 3}
    """
    body = dict(base)
    for key, value in patch.items():
        old = body.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            body[key] = merged(old, value)
        else:
            body[key] = value
    return body


def without_reserved(patch: Tree) -> Overrides:
    """A patch without the keys that are not its to set.

    >>> without_reserved({"top_k": 40, "tools": [], "stream": True})
    Overrides(patch={'top_k': 40}, ignored=('tools', 'stream'))
    """
    kept = {key: value for key, value in patch.items() if key not in _OWNED}
    return Overrides(kept, tuple(key for key in patch if key in _OWNED))
