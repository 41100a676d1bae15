from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json, JsonText, Tree, parse
from toolreel_core.evals import Answer, Desk

DESK = Desk((Answer.of("capital", {"of": "Norway"}, {"city": "Oslo"}),), ("book",))


@pytest.mark.parametrize("arguments", [{"of": "Norway"}, {"of": " NORWAY ", "more": 1}])
def test_a_question_is_answered_from_the_table(arguments: Tree) -> None:
    assert DESK.call("capital", arguments) == (DESK, '{"city":"Oslo"}')


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("capital", {"of": "Mars"}), ("capital", {}), ("capital", {"of": 7}), ("other", {"of": "Norway"})],
)
def test_what_is_not_in_the_table_is_not_found(name: str, arguments: Tree) -> None:
    after, text = DESK.call(name, arguments)
    assert after == DESK
    assert '"NOT_FOUND"' in text


def test_orders_are_noted_in_order() -> None:
    first, text = DESK.call("book", {"day": 1})
    second, _ = first.call("book", {"day": 2})
    assert parse(JsonText(text)) == {
        "ok": True,
        "tool_name": "book",
        "data": {"noted": 1},
        "warnings": [],
        "errors": [],
    }
    contents: Json = [{"tool": "book", "arguments": {"day": 1}}, {"tool": "book", "arguments": {"day": 2}}]
    assert second.contents() == {"orders": contents}
    assert DESK.contents() == {"orders": []}


def test_an_answer_to_anything_is_an_answer() -> None:
    assert Answer.of("now", {}, {}).fits("now", {"zone": "UTC"})
    assert Answer.of("add", {"a": 1}, {}).fits("add", {"a": 1})
    assert not Answer.of("add", {"a": 1}, {}).fits("add", {"a": True})


def test_what_a_real_tool_did_is_noted_unless_it_failed() -> None:
    noted = DESK.told("book", {"day": 1}, "noted by a server")
    assert noted == DESK.call("book", {"day": 1})[0]
    assert DESK.told("book", {"day": 1}, '{"ok":false}') == DESK
    assert DESK.told("look", {"day": 1}, "{}") == DESK
