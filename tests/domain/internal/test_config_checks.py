from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal import (
    PlaceError,
    Table,
    changed,
    check_keys,
    check_settings,
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


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"heat": 29}, "a whole number of at least 30"),
        ({"minutes": 0}, "a whole number of at least 1, or nothing to turn it off"),
        ({"fan": 1}, "true or false"),
        ({"about": "a"}, "a list of names"),
        ({"way": "down"}, 'one of "", up'),
        ({"maker": None}, "a text"),
    ],
)
def test_each_setting_is_checked_by_its_annotation(wrong: dict[str, Any], expected: str) -> None:
    [(key, value)] = wrong.items()
    assert complaint(ConfigError, lambda: Oven(**wrong)) == f"{key}: expected {expected}, got {value!r}"


def test_a_list_of_names_is_kept_as_a_tuple() -> None:
    names: Any = ["a"]
    assert Oven(about=names).about == ("a",)


def test_changes_may_only_be_of_settings_that_exist() -> None:
    check_keys(Oven, {"heat": 1, "fan": 1})
    assert complaint(ConfigError, lambda: check_keys(Oven, {"heat": 1, "hea": 2})) == (
        "there is no setting 'hea'; did you mean 'heat'?"
    )


TABLE = Table.of(
    {
        "text": "t",
        "number": 3,
        "names": ["a", "b", "a"],
        "word": "yes",
        "day": "2026-11-22",
        "inner": {"x": {"y": 1}},
        "bad": [nan],
        "on": True,
    },
    "preset",
    "mine",
)


def test_what_is_there_is_read() -> None:
    assert TABLE.text("text") == "t"
    assert TABLE.whole("number") == 3
    assert TABLE.names("names") == ("a", "b")
    assert TABLE.choice("word", ("yes", "no")) == "yes"
    assert TABLE.day("day") == "2026-11-22"
    assert TABLE.whole("number", 1, 0) == 3
    assert TABLE.amount("number") == 3.0
    assert TABLE.switch("on", default=False)
    assert TABLE.table("inner").table("x").values == {"y": 1}
    assert TABLE.table("inner").json() == '{"x":{"y":1}}'


def test_what_is_not_there_has_a_default() -> None:
    assert TABLE.text("other", "default") == "default"
    assert TABLE.whole("other") == 0
    assert TABLE.names("other", ("c",)) == ("c",)
    assert TABLE.day("other") == ""
    assert TABLE.whole("other", 1, 5) == 5
    assert (TABLE.amount("other"), TABLE.amount("other", 1.5)) == (None, 1.5)
    assert not TABLE.switch("other", default=False)
    assert TABLE.table("other").values == {}


def test_the_tables_in_a_table_know_their_place() -> None:
    [(name, inner)] = TABLE.table("inner").tables()
    assert (name, inner.place) == ("x", ("preset", "mine", "inner", "x"))


def test_only_keys_that_are_known_may_be_there() -> None:
    assert TABLE.table("inner").only("x", "y") == TABLE.table("inner")


READINGS: Mapping[str, tuple[Callable[[], object], str]] = {
    "a whole number": (
        lambda: TABLE.whole("number", 4, 4),
        "preset.mine.number: expected a whole number of at least 4, got 3",
    ),
    "an amount": (lambda: TABLE.amount("on"), "preset.mine.on: expected a number of at least 0, got True"),
    "a switch": (
        lambda: TABLE.switch("number", default=True),
        "preset.mine.number: expected true or false, got 3",
    ),
    "a key": (
        lambda: TABLE.table("inner").only("xx"),
        "preset.mine.inner: there is no key 'x'; did you mean 'xx'?",
    ),
    "a text": (lambda: TABLE.text("number"), "preset.mine.number: expected a text, got 3"),
    "a number": (
        lambda: TABLE.whole("text"),
        "preset.mine.text: expected a whole number of at least 0, got 't'",
    ),
    "a switch for a number": (
        lambda: Table.of({"n": True}).whole("n"),
        "n: expected a whole number of at least 0, got True",
    ),
    "a negative number": (
        lambda: Table.of({"n": -1}).whole("n"),
        "n: expected a whole number of at least 0, got -1",
    ),
    "a list": (lambda: TABLE.names("text"), "preset.mine.text: expected a list of texts, got 't'"),
    "a list of numbers": (lambda: Table.of({"n": [1]}).names("n"), "n: expected a list of texts, got [1]"),
    "an empty name": (lambda: Table.of({"n": [""]}).names("n"), "n: expected a list of texts, got ['']"),
    "a word": (
        lambda: TABLE.choice("text", ("yes", "no")),
        "preset.mine.text: expected one of yes, no, got 't'",
    ),
    "no word at all": (
        lambda: TABLE.choice("other", ("yes", "no")),
        "preset.mine.other: expected one of yes, no, got None",
    ),
    "a day": (
        lambda: TABLE.day("text"),
        "preset.mine.text: expected a day such as 2026-11-22, got 't'",
    ),
    "a month": (
        lambda: Table.of({"d": "2026-13-01"}).day("d"),
        "d: expected a day such as 2026-11-22, got '2026-13-01'",
    ),
    "a table": (lambda: TABLE.table("number"), "preset.mine.number: expected a table, got 3"),
    "a list of tables": (lambda: Table.of([{}]), "expected a table, got [{}]"),
    "keys that are no texts": (lambda: Table.of({1: 2}, "a"), "a: expected texts as keys, got 1"),
    "what JSON has not": (TABLE.json, "preset.mine.bad: expected what JSON can hold, got [nan]"),
    "an object": (
        lambda: Table.of({"o": TABLE.only}).json(),
        f"o: expected what JSON can hold, got {TABLE.only!r}",
    ),
}


@pytest.mark.parametrize("reading", READINGS)
def test_what_cannot_be_used_is_refused_at_its_place(reading: str) -> None:
    act, text = READINGS[reading]
    assert complaint(PlaceError, act) == text


def test_a_place_is_written_as_in_toml() -> None:
    table = Table.of({"text": 1}, "model", "z-ai/glm-4.7")
    assert complaint(ConfigError, lambda: table.text("text")).startswith('model."z-ai/glm-4.7".text: ')


def refusing(text: str) -> Callable[[Mapping[str, object]], object]:
    def check(_: Mapping[str, object]) -> object:
        raise ConfigError(text)

    return check


def test_the_complaint_of_a_check_is_put_at_the_key_that_it_names() -> None:
    assert complaint(PlaceError, lambda: TABLE.checked(refusing("number: too many"))) == (
        "preset.mine.number: too many"
    )
    assert complaint(PlaceError, lambda: TABLE.checked(refusing("there is no key: at all"))) == (
        "preset.mine: there is no key: at all"
    )


def test_a_check_that_has_no_complaint_changes_nothing() -> None:
    assert TABLE.checked(lambda values: values) is TABLE


def test_a_complaint_can_be_taken_apart() -> None:
    error = TABLE.complaint("no", "inner", "x")
    assert (error.place, error.what) == (("preset", "mine", "inner", "x"), "no")
