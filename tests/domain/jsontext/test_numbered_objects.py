from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json
from toolreel_core._jsontext.numbered_objects import in_order


def test_numbered_values_come_in_the_order_of_their_numbers() -> None:
    numbered: dict[str, Json] = {"10": "c", "002": "b", "1": "a", "9" * 5000: "d"}
    assert [*in_order(numbered).values()] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "other", [{}, {"id": 1}, {"0": 1, "id": 2}, {"-1": 1}, {"1.5": 1}, {"\u0661": 1}, {"": 1}]
)
def test_any_other_object_is_no_list(other: dict[str, Json]) -> None:
    assert in_order(other) == {}
