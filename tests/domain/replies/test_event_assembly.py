from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._replies import MessageEvents, number_in


def test_another_value_at_an_index_has_a_place_of_its_own() -> None:
    first = MessageEvents().open_value({"type": "text"}, 0)
    assert first.open_value({"type": "text"}, 0).latest == 0
    closed, _ = first.add_event({"type": "content_block_stop", "index": 0})
    assert closed.open_value({"type": "text"}, 0).latest == 1
    assert (
        first.open_value({"type": "call", "id": "a"}, 0).open_value({"type": "call", "id": "b"}, 0).latest
        == 2
    )
    # The place 1 is taken by then, whatever the index 1 means.
    assert closed.open_value({"type": "text"}, 0).open_value({"type": "text"}, 1).latest == 2
    assert first.open_value({}, None).latest == 1


def test_an_id_wins_over_an_index() -> None:
    at = MessageEvents().open_value({"id": "a"}, 0, ("a",)).open_value({"id": "b"}, 0, ("b",))
    assert at.open_value({"id": "a", "name": "ping"}, 3, ("a",)).find_place(3) == 0
    assert (at.find_place(0), at.find_place(0, ("a",)), at.find_place(None, ("c",)), at.find_place(7)) == (
        1,
        0,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("given", "number"),
    [(2, 2), ("2", 2), (True, None), ("x", None), (None, None), ("9" * 12, None), (1.5, None)],
)
def test_a_place_is_a_number_however_it_is_sent(given: Json, number: int | None) -> None:
    assert number_in({"index": given}, "index") == number
