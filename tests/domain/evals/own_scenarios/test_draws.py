from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel_core._internal import PlaceError, Table
from toolreel_core.evals import drawn, draws_of


def values(tree: dict[str, Any], seed: str) -> dict[str, Any]:
    return dict(drawn(draws_of(Table.of(tree, "draw")), seed))


TREE = {
    "customer": ["Ada", "Bo", 7],
    "other": {"one_of": ["Ada", "Bo", 7], "unlike": "customer"},
    "pieces": {"from": 2, "to": 4},
    "spare": {"from": 2, "to": 4, "unlike": ["pieces"]},
    "sku": {"pattern": "A-##?"},
    "both": {"sum": ["pieces", "spare"]},
    "squares": {"product": ["pieces", "spare"]},
    "left": {"difference": ["squares", "both", "pieces"]},
}


@given(st.text())
def test_values_keep_to_their_draws_whatever_the_seed_is(seed: str) -> None:
    found = values(TREE, seed)
    assert found == values(TREE, seed)
    assert {found["customer"], found["other"]} < {"Ada", "Bo", 7}
    assert {found["pieces"], found["spare"]} < {2, 3, 4}
    assert found["customer"] != found["other"]
    assert found["pieces"] != found["spare"]
    head, tail = found["sku"][:2], found["sku"][2:]
    assert head == "A-"
    assert tail[:2].isdigit()
    assert tail[2].isupper()
    assert found["both"] == found["pieces"] + found["spare"]
    assert found["squares"] == found["pieces"] * found["spare"]
    assert found["left"] == found["squares"] - found["both"] - found["pieces"]


def test_where_every_value_is_taken_one_is_drawn_twice() -> None:
    assert values({"one": ["x"], "other": {"one_of": ["x"], "unlike": "one"}}, "1") == {
        "one": "x",
        "other": "x",
    }


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ({"a b": [1]}, r"letters, digits and _"),
        ({"a": 3}, r"draw.a: expected a draw, got 3; write a list of values"),
        ({"a": []}, r"draw.a: expected a list of at least one value"),
        ({"a": {"one_of": "x"}}, r"draw.a.one_of: expected a list"),
        ({"a": [{1}]}, r"draw.a: expected values that JSON can hold"),
        ({"a": {"from": 1}}, r"draw.a.to: expected a whole number"),
        ({"a": {"from": 3, "to": 2}}, r"draw.a.to: from 3 to 2 leaves no number"),
        ({"a": {"form": 3, "to": 2}}, r"did you mean 'from'"),
        ({"a": {"patern": "A-#"}}, r"draw.a: there is no key 'patern'; did you mean 'pattern'"),
        ({"a": {"from": 3, "to": 3}, "b": {"from": 3, "to": 3, "unlike": "a"}}, r"draw.b.to"),
        ({"a": {"sum": ["b"]}}, r"draw.a.sum: there is no draw 'b'; .* \(above this one\)"),
        ({"a": {"sum": []}}, r"draw.a.sum: name the numbers"),
        ({"a": ["x"], "b": {"sum": ["a"]}}, r"draw.b.sum: 'a' is not drawn as a number"),
    ],
)
def test_a_draw_that_is_none_is_refused_with_its_place(tree: dict[str, Any], told: str) -> None:
    with pytest.raises(PlaceError, match=told):
        draws_of(Table.of(tree, "draw"))


def test_fixed_numbers_and_lists_of_numbers_count_in_computed_ones() -> None:
    tree = {"size": [6, 12], "dozens": {"product": ["size", 12]}, "left": {"difference": [100, "size"]}}
    values = drawn(draws_of(Table.of(tree, "draw")), "1")
    size = values["size"]
    assert size in {6, 12}
    assert isinstance(size, int)
    assert (values["dozens"], values["left"]) == (12 * size, 100 - size)
    said = complaint(PlaceError, lambda: draws_of(Table.of({"a": {"sum": [1, 2]}}, "draw")))
    assert said == "draw.a.sum: name the numbers that were drawn before"
