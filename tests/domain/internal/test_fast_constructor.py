from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from toolreel_core._internal.fast_constructor import maker, maker_of_computed


@dataclass(frozen=True, slots=True)
class Shelf:
    name: str
    pins: int = 0


@dataclass(frozen=True, slots=True)
class Sorted:
    pins: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "pins", tuple(sorted(self.pins)))


def test_what_is_made_is_what_the_class_makes() -> None:
    made = maker(Shelf)("north", 3)
    assert type(made) is Shelf
    assert made == Shelf("north", 3)
    assert hash(made) == hash(Shelf("north", 3))
    assert repr(made) == repr(Shelf("north", 3))
    assert replace(made, pins=4) == Shelf("north", 4)


def test_every_field_is_given() -> None:
    with pytest.raises(TypeError, match="pins"):
        maker(Shelf)("north")


def test_what_is_made_is_frozen() -> None:
    made = maker(Shelf)("north", 3)
    with pytest.raises(FrozenInstanceError):
        setattr(made, "pins", 3)  # noqa: B010 - a type checker would refuse the assignment


def test_a_class_that_computes_its_fields_is_refused() -> None:
    assert Sorted((3, 1)).pins == (1, 3)
    with pytest.raises(TypeError, match="Sorted has a __post_init__"):
        maker(Sorted)


@dataclass(frozen=True, slots=True)
class Counted:
    pins: tuple[int, ...]
    number: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", len(self.pins))


def test_what_is_computed_may_be_passed() -> None:
    assert maker_of_computed(Counted)((3, 1), 2) == Counted((3, 1))
