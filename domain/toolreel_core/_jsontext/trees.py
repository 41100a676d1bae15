"""Safe access to parsed JSON of unknown shape, from remote servers or users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolreel_core._jsontext.canonical import Json, Tree


def as_tree(value: Json) -> Tree:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, Mapping) else {}


def items_of(tree: Tree, key: str) -> Sequence[Json]:
    """The list under a key; empty if there is none.

    >>> items_of({"a": [1], "b": "text"}, "a"), items_of({"a": [1], "b": "text"}, "b")
    ([1], ())
    """
    value = tree.get(key)
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def tree_at(tree: Tree, *path: str) -> Tree:
    """The object at the end of a path of keys; empty if there is none.

    >>> tree_at({"a": {"b": {"c": 1}}}, "a", "b"), tree_at({"a": {"b": 3}}, "a", "b")
    ({'c': 1}, {})
    """
    for key in path:
        tree = as_tree(tree.get(key))
    return tree


def calls_of(message: Tree) -> Sequence[Json]:
    """The tool calls of an assistant message; empty for any other message."""
    return items_of(message, "tool_calls") if message.get("role") == "assistant" else ()


def is_blank(value: Json) -> bool:
    """Whether a value is null or blank text."""
    return value is None or (isinstance(value, str) and not value.strip())
