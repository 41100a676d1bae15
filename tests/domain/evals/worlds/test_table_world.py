from __future__ import annotations

from typing import Any

import pytest

from toolreel_core._internal import PlaceError, Table
from toolreel_core._jsontext import Json, canonical, parse
from toolreel_core.evals import TableWorld, alike, at, has_arguments, rows_of


def world(
    answers: list[dict[str, Any]], state: dict[str, Any] | None = None, *, effect: bool = False
) -> TableWorld:
    rows = rows_of(Table.of({"answers": answers}, "tool", "t"), "t", effect=effect)
    return TableWorld(rows, ("t",) if effect else (), canonical(state or {}))


def told(here: TableWorld, **arguments: Json) -> Json:
    return parse(here.call("t", arguments)[1])


def code(here: TableWorld, **arguments: Json) -> Json:
    return at(told(here, **arguments), "/errors/0/code")


def test_the_first_row_that_fits_answers() -> None:
    here = world(
        [
            {"when": {"city": "Oslo", "days": 2}, "then": {"c": 4}},
            {"when": {"city": "Oslo"}, "then": "$arguments/city"},
            {"then": [{"for": "$arguments/days"}, 1.5, None]},
        ]
    )
    assert told(here, city=" oslo ", days=2.0) == {"c": 4}
    assert told(here, city="OSLO") == "OSLO"
    assert told(here, days=[1]) == [{"for": [1]}, 1.5, None]
    assert told(here) == [{"for": None}, 1.5, None]


def test_a_result_may_be_json_text_since_toml_has_no_null() -> None:
    assert told(world([{"json": '{"a": [null, 1.0]}'}])) == {"a": [None, 1.0]}


def test_without_a_row_a_tool_that_reads_knows_nothing_and_one_with_an_effect_works() -> None:
    assert code(world([{"when": {"a": 1}, "then": 2}]), a=2) == "NOT_FOUND"
    here, output = world([], effect=True).call("t", {"a": 1})
    assert '"noted":1' in output
    here, output = here.call("t", {"a": 2})
    assert '"noted":2' in output
    assert here.contents() == {
        "orders": [{"tool": "t", "arguments": {"a": 1}}, {"tool": "t", "arguments": {"a": 2}}],
        "state": {},
    }


def test_an_error_has_no_effect_and_a_row_answers_as_often_as_it_says() -> None:
    here = world(
        [{"times": 1, "error": {"code": "TIMEOUT", "message": "Try again."}}, {"then": {"ok": 1}}],
        effect=True,
    )
    here, first = here.call("t", {})
    assert '"code":"TIMEOUT","message":"Try again."' in first
    assert here.contents() == {"orders": [], "state": {}}
    here, second = here.call("t", {})
    assert second == '{"ok":1}'
    assert at(here.contents(), "/orders/0/tool") == "t"


def test_the_state_is_read_and_set() -> None:
    state = {"stock": {"a/b": 3}, "name": "x"}
    here = world(
        [
            {"when": {"do": "read"}, "read": "/stock/$sku"},
            {"when": {"do": "set"}, "set": {"/stock/$sku": "$arguments/n", "/name/deeper": 1}},
            {"then": {}},
        ],
        state,
        effect=True,
    )
    assert told(here, do="read", sku="a/b") == 3
    assert code(here, do="read", sku=7) == "NOT_FOUND"
    after, output = here.call("t", {"do": "set", "sku": "c", "n": 9})
    assert '"noted":1' in output
    assert parse(after.state) == {"stock": {"a/b": 3, "c": 9}, "name": "x"}
    assert told(after, do="read", sku="c") == 9


def test_values_are_alike_whatever_their_form() -> None:
    assert alike({"b": [" X ", 2.0], "a": 1}, {"a": 1, "b": ["x", 2]})
    assert not alike(True, 1)
    assert not alike(0.5, 0)
    assert has_arguments({"a": None}, {"a": None})
    assert not has_arguments({}, {"a": None})
    assert has_arguments({}, "nothing")


@pytest.mark.parametrize(
    ("answer", "effect", "said"),
    [
        ({"than": 1}, False, "did you mean 'then'"),
        ({}, False, r"tool.t.answers.1: says no result"),
        ({"then": 1, "read": "/a"}, False, "has then and read"),
        ({"then": 1, "set": {"/a": 1}}, False, "write effect = true"),
        ({"set": {"a": 1}}, True, "expected a place in \\[world\\]"),
        ({"read": "a"}, False, "expected a place in \\[world\\]"),
        ({"error": {"message": "no"}}, False, "write a code"),
        ({"json": "{"}, False, "tool.t.answers.1.json: not JSON: "),
        ({"then": {1, 2}}, False, "expected what JSON can hold|Object of type set"),
    ],
)
def test_an_answer_that_says_nothing_usable_is_refused(
    answer: dict[str, Any], effect: bool, said: str
) -> None:
    with pytest.raises((PlaceError, TypeError), match=said):
        rows_of(Table.of({"answers": [answer]}, "tool", "t"), "t", effect=effect)


def test_answers_are_a_list() -> None:
    with pytest.raises(PlaceError, match=r"tool.t.answers: expected a list"):
        rows_of(Table.of({"answers": {}}, "tool", "t"), "t", effect=False)
