from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.samples import complaint
from toolreel_core._config_checks import PlaceError, Table
from toolreel_core._errors import ConfigError

TABLE = Table.of({"number": 3, "on": True, "inner": {"x": 1}, "names": ["a", "b", "a"]}, "preset", "mine")


def test_what_is_there_is_read_and_what_is_not_has_a_default() -> None:
    assert TABLE.names("names") == ("a", "b")
    assert TABLE.switch("on", default=False)
    assert (TABLE.amount("number"), TABLE.amount("other"), TABLE.amount("other", 1.5)) == (3.0, None, 1.5)
    assert TABLE.whole("other", 1, 5) == 5
    assert TABLE.table("other").values == {}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda: TABLE.whole("number", 4, 4), "number: expected a whole number of at least 4, got 3"),
        (lambda: TABLE.whole("on"), "on: expected a whole number of at least 0, got True"),
        (lambda: TABLE.amount("on"), "on: expected a number of at least 0, got True"),
        (lambda: TABLE.switch("number", default=True), "number: expected true or false, got 3"),
        (lambda: TABLE.choice("other", ("yes", "no")), "other: expected one of yes, no, got None"),
    ],
)
def test_what_cannot_be_used_is_refused_at_its_place(read: Callable[[], object], text: str) -> None:
    assert complaint(PlaceError, read) == f"preset.mine.{text}"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda: Table.of({"n": [""]}).names("n"), "n: expected a list of texts, got ['']"),
        (
            lambda: Table.of({"d": "2026-13-01"}).day("d"),
            "d: expected a day such as 2026-11-22, got '2026-13-01'",
        ),
        (lambda: Table.of({1: 2}, "a"), "a: expected texts as keys, got 1"),
    ],
)
def test_an_odd_value_is_refused(read: Callable[[], object], text: str) -> None:
    assert complaint(PlaceError, read) == text


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("number: too many", "preset.mine.number: too many"),
        ("there is no key: at all", "preset.mine: there is no key: at all"),
    ],
)
def test_the_complaint_of_a_check_is_put_at_the_key_that_it_names(said: str, told: str) -> None:
    def check(_: Mapping[str, object]) -> object:
        raise ConfigError(said)

    assert complaint(PlaceError, lambda: TABLE.checked(check)) == told
