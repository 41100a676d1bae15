"""JSON pointers (RFC 6901), as far as a world needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

from returns.result import Failure, Result

from toolreel_core._jsontext.canonical import Json


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
