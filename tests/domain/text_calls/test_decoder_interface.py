from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json, canonical
from toolreel_core._text_calls import TextCall, text_call


def test_a_call_has_canonical_arguments() -> None:
    assert text_call("ping", {"a": "\ud800"}, "hermes_json", 7) == TextCall(
        "ping", canonical({"a": "\ufffd"}), "", "hermes_json", "7"
    )


def deep(levels: int) -> Json:
    tree: Json = 1
    for _ in range(levels):
        tree = [tree]
    return tree


@pytest.mark.parametrize(
    ("name", "value"),
    [("", 1), ("a", float("inf")), ("a", deep(70)), ("a", deep(50_000)), ("a", 10**5000)],
    ids=range(5),
)
def test_what_cannot_be_sent_to_a_tool_is_no_call(name: str, value: Json) -> None:
    assert text_call(name, {"a": value}, "hermes_json") is None
