from __future__ import annotations

from math import inf, nan

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal import PlaceError, Table
from toolreel_core.evals import inside, number, share

TABLE = Table.of({"half": 0.5, "two": 2, "yes": True, "text": "0.5", "endless": inf, "none": nan}, "gate")


def test_a_number_inside_is_given_back() -> None:
    assert inside("alpha", 0.05) == 0.05
    assert share(TABLE, "half") == 0.5
    assert number(TABLE, "two") == 2


@pytest.mark.parametrize("value", [0, 1, 95, -0.1, nan])
def test_a_level_is_between_0_and_1(value: float) -> None:
    told = complaint(ConfigError, lambda: inside("alpha", value))
    assert told == f"alpha: expected a number between 0 and 1, got {value!r}"


def test_what_is_not_there_has_its_default() -> None:
    assert number(TABLE, "limit", 3) == 3
    assert share(TABLE, "alpha", 0.05) == 0.05
    assert complaint(PlaceError, lambda: number(TABLE, "limit")) == "gate.limit: expected a number, got None"


@pytest.mark.parametrize("key", ["yes", "text", "endless", "none"])
def test_what_is_no_number_is_named_at_its_place(key: str) -> None:
    told = complaint(PlaceError, lambda: share(TABLE, key))
    assert told == f"gate.{key}: expected a number, got {TABLE.values[key]!r}"


def test_a_share_that_is_none_is_named_at_its_place() -> None:
    told = complaint(PlaceError, lambda: share(TABLE, "two"))
    assert told == "gate.two: expected a number between 0 and 1, got 2"
