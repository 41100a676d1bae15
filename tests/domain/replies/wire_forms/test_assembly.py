from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json
from toolreel_core._replies.wire_forms.assembly import Assembly, number_in


def test_a_value_that_begins_again_loses_its_pieces() -> None:
    at = Assembly().begin(1, {"text": "a"}).begin(0, {}).add(1, "text", "b").add(0, "text", "c")
    assert [*at.values()] == [{"text": "c"}, {"text": "ab"}]
    assert [*at.begin(1, {"text": 3}).add(1, "text", "d").values()] == [{"text": "c"}, {"text": "d"}]


def test_pieces_of_a_value_that_was_not_begun_name_its_type() -> None:
    assert [*Assembly().add(0, "text", "a", of="text").add(1, "text", "b").values()] == [
        {"type": "text", "text": "a"},
        {"text": "b"},
    ]


@pytest.mark.parametrize(
    ("given", "number"), [(2, 2), ("2", 2), (True, 7), ("x", 7), (None, 7), ("9" * 12, 7), (1.5, 7)]
)
def test_a_place_is_a_number_however_it_is_sent(given: Json, number: int) -> None:
    assert number_in({"index": given}, "index", 7) == number
