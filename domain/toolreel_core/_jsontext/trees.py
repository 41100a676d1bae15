"""Parsed JSON objects: safe access to those of unknown shape, and deep merging."""

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


def in_order(numbered: Mapping[str, Json]) -> dict[str, Json]:
    """An object with only numeric keys, sorted by number; empty for any other object.

    >>> in_order({"10": "b", "2": "a"}), in_order({"id": "a"})
    ({'2': 'a', '10': 'b'}, {})
    """
    if not all(key.isdecimal() and key.isascii() for key in numbered):
        return {}
    return {key: numbered[key] for key in sorted(numbered, key=_number)}


def _number(key: str) -> tuple[int, str]:
    """A key that sorts like the number, without converting digits of unlimited length."""
    digits = key.lstrip("0")
    return len(digits), digits


def merged(base: Tree, patch: Tree) -> Tree:
    """The object with a patch applied: objects are merged deeply, lists and all else are replaced.

    >>> merged({"a": {"x": 1, "y": [1, 2]}, "b": 1}, {"c": 3, "a": {"y": []}})
    {'a': {'x': 1, 'y': []}, 'b': 1, 'c': 3}
    """
    tree = dict(base)
    for key, value in patch.items():
        old = tree.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            tree[key] = merged(old, value)
        else:
            tree[key] = value
    return tree
