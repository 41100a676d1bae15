from __future__ import annotations

import pytest

from toolreel_core._jsontext import Tree
from toolreel_core.evals import Answer, Desk

DESK = Desk((Answer.of("capital", {"of": "Norway"}, {"city": "Oslo"}),), ("book",))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("capital", {"of": "Mars"}), ("capital", {}), ("capital", {"of": 7}), ("other", {"of": "Norway"})],
)
def test_what_is_not_in_the_table_is_not_found(name: str, arguments: Tree) -> None:
    after, text = DESK.call(name, arguments)
    assert after == DESK
    assert '"NOT_FOUND"' in text


def test_an_answer_to_anything_is_an_answer() -> None:
    assert Answer.of("now", {}, {}).fits("now", {"zone": "UTC"})
    assert Answer.of("add", {"a": 1}, {}).fits("add", {"a": 1})
    assert not Answer.of("add", {"a": 1}, {}).fits("add", {"a": True})


def test_what_a_real_tool_did_is_noted_unless_it_failed() -> None:
    noted = DESK.told("book", {"day": 1}, "noted by a server")
    assert noted == DESK.call("book", {"day": 1})[0]
    assert DESK.told("book", {"day": 1}, '{"ok":false}') == DESK
    assert DESK.told("look", {"day": 1}, "{}") == DESK
