from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal.setting_checks import (
    changed,
    check_choice,
    check_count,
    check_keys,
    check_settings,
    check_switch,
    check_text,
    named,
)


@dataclass(frozen=True, slots=True)
class Oven:
    """Settings as others have them."""

    heat: int = 180
    fan: bool = False
    about: tuple[str, ...] = ()
    minutes: int | None = None
    way: Literal["", "up"] = ""
    maker: str = ""
    price: float = 0.5

    def __post_init__(self) -> None:
        check_settings(self, {"heat": 30})


def test_only_what_differs_is_a_change() -> None:
    assert changed(Oven()) == {}
    assert changed(Oven(heat=200, about=("a",))) == {"heat": 200, "about": ("a",)}


def test_each_setting_is_checked_by_its_annotation() -> None:
    assert Oven(about=["a"]).about == ("a",)  # type: ignore[arg-type]
    for wrong, expected in [
        ({"heat": 29}, "a whole number of at least 30"),
        ({"minutes": 0}, "a whole number of at least 1, or nothing to turn it off"),
        ({"fan": 1}, "true or false"),
        ({"about": "a"}, "a list of names"),
        ({"way": "down"}, 'one of "", up'),
        ({"maker": None}, "a text"),
    ]:
        [(key, value)] = wrong.items()
        assert complaint(ConfigError, lambda wrong=wrong: Oven(**wrong)) == (  # type: ignore[misc]
            f"{key}: expected {expected}, got {value!r}"
        )


def test_changes_may_only_be_of_settings_that_exist() -> None:
    check_keys(Oven, {"heat": 1, "fan": 1})
    assert complaint(ConfigError, lambda: check_keys(Oven, {"heat": 1, "hea": 2})) == (
        "there is no setting 'hea'; did you mean 'heat'?"
    )


@pytest.mark.parametrize("value", [2, 3, 10**30])
@pytest.mark.parametrize("optional", [True, False])
def test_a_count_may_be_any_whole_number_that_is_not_too_small(value: int, optional: bool) -> None:
    check_count("n", value, 2, optional=optional)


@pytest.mark.parametrize("value", [1, -3, 2.0, "2", True, float("nan"), [2]])
def test_a_count_is_refused_with_its_least_and_with_how_to_turn_it_off(value: object) -> None:
    assert complaint(ConfigError, lambda: check_count("n", value, 2, optional=False)) == (
        f"n: expected a whole number of at least 2, got {value!r}"
    )
    assert complaint(ConfigError, lambda: check_count("n", value, 2, optional=True)) == (
        f"n: expected a whole number of at least 2, or nothing to turn it off, got {value!r}"
    )


def test_nothing_turns_off_only_what_can_be_off() -> None:
    check_count("n", None, 2, optional=True)
    assert complaint(ConfigError, lambda: check_count("n", None, 2, optional=False)) == (
        "n: expected a whole number of at least 2, got None"
    )


@pytest.mark.parametrize("value", ["down", None, ["up"]])
def test_a_choice_is_one_of_its_words(value: object) -> None:
    check_choice("way", "", ("", "up"))
    assert complaint(ConfigError, lambda: check_choice("way", value, ("", "up"))) == (
        f'way: expected one of "", up, got {value!r}'
    )


@pytest.mark.parametrize(
    ("check", "right", "wrong", "why"),
    [
        (check_switch, True, 1, "k: expected true or false, got 1"),
        (check_switch, False, None, "k: expected true or false, got None"),
        (check_text, "", b"", "k: expected a text, got b''"),
        (check_text, "é", None, "k: expected a text, got None"),
    ],
)
def test_a_switch_and_a_text_are_told_from_what_only_looks_like_them(
    check: Callable[[str, object], None], right: object, wrong: object, why: str
) -> None:
    check("k", right)
    assert complaint(ConfigError, lambda: check("k", wrong)) == why


@pytest.mark.parametrize("names", [[], ["b", "a"], ("b", "a", "b")])
def test_a_list_of_names_keeps_its_order(names: list[str] | tuple[str, ...]) -> None:
    assert named("k", names) == tuple(names)


@pytest.mark.parametrize("value", ["ab", None, 3, ["a", 3], b"ab", {"a": 1}, {"a"}, frozenset({"a"})])
def test_names_without_an_order_or_that_are_none_are_refused(value: object) -> None:
    assert complaint(ConfigError, lambda: named("k", value)) == (
        f"k: expected a list of names, got {value!r}"
    )
