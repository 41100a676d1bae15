from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._replies import Assembly, number_in

HOMES = {"text": "content"}


def test_a_value_that_begins_again_loses_its_pieces() -> None:
    at = Assembly().open({"text": "a"}, 1).open({}, 0).add(1, "text", "b").add(0, "text", "c")
    assert [*at.values()] == [{"text": "c"}, {"text": "ab"}]
    assert [*at.open({"text": 3}, 1).add(1, "text", "d").values()] == [{"text": "c"}, {"text": "d"}]


def test_pieces_of_a_value_that_was_not_begun_name_its_type() -> None:
    assert [*Assembly().add(0, "text", "a", of="text").add(1, "text", "b").values()] == [
        {"type": "text", "text": "a"},
        {"text": "b"},
    ]


def test_another_value_at_an_index_has_a_place_of_its_own() -> None:
    first = Assembly().open({"type": "text"}, 0)
    assert first.open({"type": "text"}, 0).latest == 0
    assert first.close(0).open({"type": "text"}, 0).latest == 1
    assert first.close(None) == first
    assert first.open({"type": "call", "id": "a"}, 0).open({"type": "call", "id": "b"}, 0).latest == 2
    # The place 1 is taken by then, whatever the index 1 means.
    assert first.close(0).open({"type": "text"}, 0).open({"type": "text"}, 1).latest == 2
    assert first.open({}, None).latest == 1


def test_an_id_wins_over_an_index() -> None:
    at = Assembly().open({"id": "a"}, 0, ("a",)).open({"id": "b"}, 0, ("b",))
    assert at.open({"id": "a", "name": "ping"}, 3, ("a",)).place(3) == 0
    assert (at.place(0), at.place(0, ("a",)), at.place(None, ("c",)), at.place(7)) == (1, 0, None, None)


def test_a_whole_value_keeps_what_it_leaves_empty() -> None:
    at = Assembly().open({"name": "ping"}, 0).add(0, "text", "a")
    assert [*at.merged(0, {"name": "", "content": "b"}, HOMES).values()] == [{"name": "ping", "content": "b"}]
    assert [*at.merged(0, {"content": "", "done": True}, HOMES).values()] == [
        {"name": "ping", "content": "", "done": True, "text": "a"}
    ]


def test_parts_stand_in_their_order() -> None:
    at = Assembly().add(0, "text", "c", part=1).add(0, "text", "a").add(0, "text", "ab", whole=True)
    assert [*at.values()] == [{"text": "abc"}]
    assert (at.has(0, "text", 1), at.has(0, "text", 2)) == (True, False)


@pytest.mark.parametrize(
    ("given", "number"),
    [(2, 2), ("2", 2), (True, None), ("x", None), (None, None), ("9" * 12, None), (1.5, None)],
)
def test_a_place_is_a_number_however_it_is_sent(given: Json, number: int | None) -> None:
    assert number_in({"index": given}, "index") == number
