from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json, JsonText
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.fast_path_calls import ordinary_calls

KNOWN = frozenset({"add", "ping"})


def entry(arguments: Json = "{}", **changes: Json) -> dict[str, Json]:
    function: Json = {"name": "ping", "arguments": arguments}
    return {"id": "call_a", "type": "function", "function": function} | changes


def test_calls_are_read_in_order_with_their_arguments_in_canonical_form() -> None:
    other = entry('{"n": 1}', id="call_b", index=1, function={"name": "add", "arguments": '{"n": 1}'})
    assert ordinary_calls([entry(), other], KNOWN, 64) == (
        ToolCall("call_a", "ping", JsonText("{}"), "{}"),
        ToolCall("call_b", "add", JsonText('{"n":1}'), '{"n": 1}'),
    )


@pytest.mark.parametrize(
    "listed",
    [
        {"0": entry()},
        "[]",
        ["ping"],
        [entry(), entry()],
        [entry(), None],
        [entry(extra_content={})],
        [entry(id=None)],
        [entry(id=7)],
        [entry(id=" ")],
        [entry(function=None)],
        [entry(function={"name": "ping"})],
        [entry(function={"name": "ping", "arguments": "{}", "signature": "s"})],
        [entry(function={"name": "Ping", "arguments": "{}"})],
        [entry(function={"name": ["ping"], "arguments": "{}"})],
        [entry({})],
        [entry("")],
        [entry("[]")],
        [entry('{"n": 1,}')],
        [entry('{"n": 1, "n": 2}')],
        [entry('{"a</parameter>": 1}')],
        [entry('{"\\u003c|a|>": 1}')],
        [entry('{"arguments": {}}')],
        [entry('{"a": [[[1]]]}')],
    ],
)
def test_calls_of_which_one_is_not_ordinary_are_left_to_others(listed: Json) -> None:
    assert ordinary_calls(listed, KNOWN, 3) is None


def test_arguments_may_nest_as_deeply_as_is_allowed() -> None:
    assert ordinary_calls([entry('{"a": [[1]]}')], KNOWN, 3) is not None
