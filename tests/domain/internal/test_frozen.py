from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Generic, TypeVar

import pytest

from toolreel_core._internal.frozen import maker


@dataclass(frozen=True, slots=True)
class Shelf:
    name: str
    pins: int = 0
    notes: tuple[str, ...] = field(default_factory=tuple)


_Held = TypeVar("_Held")


@dataclass(frozen=True, slots=True)
class Box(Generic[_Held]):
    held: _Held


@dataclass(frozen=True, slots=True)
class Sorted:
    pins: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "pins", tuple(sorted(self.pins)))


@dataclass(frozen=True, slots=True)
class Counted:
    pins: tuple[int, ...]
    count: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", len(self.pins))


def test_what_is_made_is_what_the_class_makes() -> None:
    made = maker(Shelf)("north", 3)
    assert type(made) is Shelf
    assert made == Shelf("north", 3)
    assert hash(made) == hash(Shelf("north", 3))
    assert repr(made) == repr(Shelf("north", 3))
    assert replace(made, pins=4) == Shelf("north", 4)


def test_fields_that_are_not_given_have_their_defaults() -> None:
    assert maker(Shelf)("north") == Shelf("north")


def test_a_class_of_values_of_any_kind_is_made_too() -> None:
    made: Box[int] = maker(Box)(3)
    assert type(made) is Box
    assert made == Box(3)


def test_what_is_made_is_frozen() -> None:
    made = maker(Shelf)("north")
    with pytest.raises(FrozenInstanceError):
        setattr(made, "pins", 3)  # noqa: B010 - a type checker would refuse the assignment


def test_what_a_class_has_to_do_at_the_end_is_done() -> None:
    assert maker(Sorted)((3, 1)) == Sorted((1, 3))
    assert maker(Counted)((3, 1)).count == 2
