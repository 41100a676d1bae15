"""JSON pointers (RFC 6901): what stands at a place of a tree, and the tree with another value there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolreel_core._jsontext import Json


def steps(pointer: str) -> tuple[str, ...]:
    """The keys and indices that a pointer goes through.

    >>> steps("/draft/a~1b/0")
    ('draft', 'a/b', '0')
    """
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def at(tree: Json, pointer: str) -> Json:
    """What a pointer points to; ``None`` where there is nothing.

    >>> at({"draft": {"list": [1, 2]}}, "/draft/list/1"), at({}, "/draft")
    (2, None)
    """
    for step in steps(pointer):
        if isinstance(tree, Mapping):
            tree = tree.get(step)
        else:
            items = tree if isinstance(tree, list | tuple) else ()
            index = _index(items, step)
            tree = items[index] if index is not None and index < len(items) else None
    return tree


def with_value(tree: Json, path: Sequence[str], value: Json) -> Json:
    """A tree in which a value stands at a place; objects on the way to it are made where there are none.

    A place inside of a text or a number, or beyond the end of a list, cannot be: the tree stays as it is.

    >>> with_value({"a": [1]}, ("a", "-"), 2), with_value({"a": 1}, ("a", "b"), 2)
    ({'a': [1, 2]}, {'a': 1})
    """
    if not path:
        return value
    step, *rest = path
    if isinstance(tree, Mapping):
        return {**tree, step: with_value(tree.get(step, {}), rest, value)}
    if not isinstance(tree, list | tuple) or (index := _index(tree, step)) is None:
        return tree
    child = tree[index] if index < len(tree) else {}
    return [*tree[:index], with_value(child, rest, value), *tree[index + 1 :]]


def _index(items: Sequence[Json], step: str) -> int | None:
    """The index that a step means; the one past the end is where the next item goes."""
    if step == "-":
        return len(items)
    fits = step.isascii() and step.isdigit() and len(step) < len("10000") and int(step) <= len(items)
    return int(step) if fits else None
