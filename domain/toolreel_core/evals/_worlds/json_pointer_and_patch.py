"""JSON pointers (RFC 6901), and patches of a tree: lists of operations, applied together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from returns.result import Failure, Result, Success

from toolreel_core._jsontext import Json


class Absent(Enum):
    """There is nothing at a place, not even ``null``."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT

Place: TypeAlias = "Json | Absent"
"""What stands at a place."""


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
    here: Place = tree
    for step in steps(pointer):
        here = _child(here, step)
    return None if isinstance(here, Absent) else here


def edited(
    tree: Place, path: Sequence[str], change: Callable[[Place], Result[Place, str]]
) -> Result[Place, str]:
    """A tree in which one place is changed; objects on the way to it are made where there are none.

    :param change: from what stands there to what shall stand there, or to why that cannot be
    """
    if not path:
        return change(tree)
    step, rest = path[0], path[1:]
    holder: Place = {} if isinstance(tree, Absent) else tree
    if isinstance(holder, str) or not isinstance(holder, Mapping | Sequence):
        return Failure(f"there is no place {step!r} inside of a value that is no object and no list")
    if isinstance(holder, Sequence) and _index(holder, step) is None:
        return Failure(f"the list has no index {step!r}")
    return edited(_child(holder, step), rest, change).map(lambda child: _with(holder, step, child))


def _child(holder: Place, step: str) -> Place:
    if isinstance(holder, Mapping):
        return holder.get(step, ABSENT)
    if isinstance(holder, str) or not isinstance(holder, Sequence):
        return ABSENT
    index = _index(holder, step)
    return ABSENT if index is None or index == len(holder) else holder[index]


def _index(items: Sequence[Json], step: str) -> int | None:
    """The index that a step means; the one past the end is where the next item goes."""
    if step == "-":
        return len(items)
    fits = step.isascii() and step.isdigit() and len(step) < len("10000") and int(step) <= len(items)
    return int(step) if fits else None


def _with(holder: Mapping[str, Json] | Sequence[Json], step: str, child: Place) -> Json:
    gone = isinstance(child, Absent)
    if isinstance(holder, Mapping):
        kept = {key: value for key, value in holder.items() if key != step or not gone}
        return kept if isinstance(child, Absent) else {**kept, step: child}
    index = _index(holder, step) or 0
    return [*holder[:index], *([] if isinstance(child, Absent) else [child]), *holder[index + 1 :]]


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
    change = partial(_changed_value, cast("Operation", name), operation)
    whole: Place = tree
    found = edited(whole, steps(path), change).alt(lambda why: f"{place}: {why}")
    return found.map(lambda place: None if isinstance(place, Absent) else place)


def _changed_value(name: Operation, operation: Mapping[str, Json], old: Place) -> Result[Place, str]:
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
