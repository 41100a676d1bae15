from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Annotated, Literal

import pytest

from tests.samples import complaint
from toolreel_core import LoopConfig, Provider
from toolreel_core._config_checks import Natural, PlaceError, Table, check_choice, read_setting
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import JsonText


@dataclass(frozen=True)
class Inner:
    x: int


TABLE = Table.of({"number": 3, "on": True, "inner": {"x": 1}, "names": ["a", "b"]}, "preset", "mine")


@pytest.mark.parametrize(
    ("hint", "value", "read"),
    [
        (str | None, None, None),
        (Natural, 0, 0),
        (Annotated[int, 2], 2, 2),
        (float, 3, 3.0),
        (Literal["a", "b"], "b", "b"),
        (tuple[str, ...], ["a", "b"], ("a", "b")),
        (tuple[tuple[str, tuple[str, ...]], ...], {"a": ["b"]}, (("a", ("b",)),)),
        (Mapping[str, str], {"a": "b"}, {"a": "b"}),
        (JsonText, {"a": 1}, '{"a":1}'),
        (Inner | None, {"x": 2}, Inner(2)),
        (PurePath | None, PurePath("a"), PurePath("a")),
    ],
)
def test_a_value_is_read_as_its_annotation_says(hint: object, value: object, read: object) -> None:
    assert read_setting(hint, value) == read
    assert Table.of({"key": value}).value("key", hint) == read


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (int, 0, "expected a whole number of at least 1, got 0"),
        (Natural, True, "expected a whole number of at least 0, got True"),
        (float, float("inf"), "expected a number of at least 0, got inf"),
        (float, 10**400, f"expected a number of at least 0, got {10**400}"),
        (bool, 3, "expected true or false, got 3"),
        (Literal["", "no"] | None, "x", "expected one of \"\", no or nothing, got 'x'"),
        (tuple[str, ...], "a", "expected a list of texts, got 'a'"),
        (Mapping[str, str], 3, "expected a table, got 3"),
        (Inner, {"x": 0}, "x: expected a whole number of at least 1, got 0"),
        (Inner, {}, "x: is missing"),
        (Inner, {"y": 1}, "there is no key 'y'; there are: x"),
        (Mapping[str, str], {"a": 3}, "a: expected a text, got 3"),
    ],
)
def test_another_value_is_refused_with_what_is_expected(hint: object, value: object, text: str) -> None:
    assert complaint(ConfigError, lambda: read_setting(hint, value)) == text
    said = complaint(PlaceError, lambda: Table.of({"at": value}, "preset").value("at", hint))
    assert said.replace("preset.at.", "").replace("preset.at: ", "") == text


@pytest.mark.parametrize("kind", [LoopConfig, Provider])
def test_a_default_is_what_its_setting_reads(kind: type[LoopConfig | Provider]) -> None:
    # It is not checked when settings are made.
    defaults = {each.name: each.default for each in fields(kind)}
    assert repr(Table.of(defaults).build(kind)) == repr(kind())


def test_a_word_is_one_of_a_few() -> None:
    check_choice("mode", "once", ("once", ""))
    said = complaint(ConfigError, lambda: check_choice("mode", "twice", ("once", "")))
    assert said == "mode: expected one of once, \"\", got 'twice'"


def test_keys_of_a_table_have_to_be_texts() -> None:
    assert complaint(PlaceError, lambda: Table.of({1: 2}, "a")) == "a: expected texts as keys, got 1"


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

    assert complaint(PlaceError, lambda: TABLE.check_values(check)) == told
