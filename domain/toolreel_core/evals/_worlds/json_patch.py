"""Patches of a tree: lists of operations, all of which are done or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from returns.result import Failure, Result, Success

from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._worlds.json_pointer import Absent, Place, edited, steps

Operation: TypeAlias = Literal["set", "delete", "append", "insert"]
"""``append`` and ``insert`` are for lists, and make one of one item where there is nothing."""

_OPERATIONS: Final = get_args(Operation)


def patched(tree: Json, operations: Sequence[Json], *, under: str) -> Result[Json, str]:
    """The tree after all operations, or why one of them could not be done.

    >>> patched({"draft": {}}, [{"op": "set", "path": "/draft/a", "value": 1}], under="/draft/").unwrap()
    {'draft': {'a': 1}}

    :param under: how the path of each must begin
    """
    done: Result[Json, str] = Success(tree)
    for number, operation in enumerate(operations):
        done = done.bind(partial(_applied, number=number, operation=operation, under=under))
    return done


def _applied(tree: Json, *, number: int, operation: Json, under: str) -> Result[Json, str]:
    place = f"ops[{number}]"
    if not isinstance(operation, Mapping):
        return Failure(f"{place}: expected an object with op and path")
    name, path = operation.get("op"), operation.get("path")
    if name not in _OPERATIONS:
        return Failure(f"{place}: there is no op {name!r}; use one of {', '.join(_OPERATIONS)}")
    if not isinstance(path, str) or not path.startswith(under):
        return Failure(f"{place}: path must begin with {under}, got {path!r}")
    change = partial(_changed, cast("Operation", name), operation)
    whole: Place = tree
    found = edited(whole, steps(path), change).alt(lambda why: f"{place}: {why}")
    return found.map(lambda place: None if isinstance(place, Absent) else place)


def _changed(name: Operation, operation: Mapping[str, Json], old: Place) -> Result[Place, str]:
    value = operation.get("value")
    match name:
        case "set":
            return Success(value)
        case "delete":
            return Success(Absent.ABSENT)
        case "append":
            return _items(old).map(lambda items: [*items, value])
        case "insert":
            return _items(old).bind(lambda items: _inserted(items, operation.get("index"), value))
        case _:
            assert_never(name)


def _items(old: Place) -> Result[Sequence[Json], str]:
    if isinstance(old, Absent):
        return Success(())
    if isinstance(old, str) or not isinstance(old, Sequence):
        return Failure("only a list can be added to")
    return Success(old)


def _inserted(items: Sequence[Json], index: Json, value: Json) -> Result[Place, str]:
    if not items:
        return Success([value])
    if type(index) is not int or not 0 <= index <= len(items):
        return Failure(f"index must be a whole number from 0 to {len(items)}, got {index!r}")
    return Success([*items[:index], value, *items[index:]])
