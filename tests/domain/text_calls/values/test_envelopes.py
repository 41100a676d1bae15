from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import OFFERED
from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.values.envelopes import arguments_of, bare_calls, marked_calls, wrapped_calls

PING: Json = {"name": "ping", "arguments": {}}


def marked(tree: Json) -> list[str]:
    calls = marked_calls(tree, OFFERED, "hermes_json")
    return [f"{call.id}:{call.name}{call.arguments}" if call else "?" for call in calls]


def bare(tree: Json) -> list[str] | None:
    calls = bare_calls(tree, OFFERED, "llama_json")
    return None if calls is None else [f"{call.name}{call.arguments}" for call in calls]


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("{'a': 1}", {"a": 1}),
        (None, {}),
        ("", {}),
        ("null", {}),
        ("  ", {}),
        ("soon", None),
        ('"{}"', None),
        ('{"a": 1} or so', None),
        ([1], None),
        (7, None),
        (False, None),
    ],
)
def test_arguments_come_as_an_object_as_text_of_one_or_not_at_all(raw: Json, arguments: Json) -> None:
    assert arguments_of(raw) == arguments


@pytest.mark.parametrize(
    ("tree", "calls"),
    [
        (PING, [":ping{}"]),
        ({"tool": "ping", "input": {"a": 1}, "id": "x"}, ['x:ping{"a":1}']),
        ({"tool_name": "ping", "parameters": None, "tool_call_id": 0}, ["0:ping{}"]),
        ({"recipient_name": "functions.ping", "args": ""}, [":ping{}"]),
        ({"name": "ping"}, [":ping{}"]),
        ({"name": "stock_lookup", "part": "x"}, [':stock_lookup{"part":"x"}']),
        ({"name": "stock_lookup", "other": "x"}, ["?"]),
        ({"name": "pong", "other": "x"}, ["?"]),
        ({"type": "function", "id": "a", "function": PING}, ["a:ping{}"]),
        ({"tool_calls": [{"id": "a", "function": PING}, {"function": PING}]}, ["a:ping{}", ":ping{}"]),
        ({"tool_calls": [[PING]]}, ["?"]),
        ({"tool_calls": "soon"}, ["?"]),
        ({"name": 7}, ["?"]),
        ({"name": "ping", "arguments": 7}, ["?"]),
        ([PING, {"name": ""}, 7], [":ping{}", "?", "?"]),
        ("ping", ["?"]),
    ],
)
def test_an_envelope_behind_an_opener_may_have_many_shapes(tree: Json, calls: list[str]) -> None:
    assert marked(tree) == calls


@pytest.mark.parametrize(
    ("tree", "calls"),
    [
        (PING, ["ping{}"]),
        ([PING, PING], ["ping{}", "ping{}"]),
        ({"tool_calls": [PING], "type": "function"}, ["ping{}"]),
        ({"type": "function", "name": "ping", "parameters": {}}, ["ping{}"]),
        ({"type": "tool", "name": "ping", "parameters": {}}, None),
        ({"name": "pong", "arguments": {}}, None),
        ({"name": "ping", "arguments": {}, "version": 1}, None),
        ({"name": "ping", "tool": "ping", "arguments": {}}, None),
        ({"name": "ping"}, None),
        ({"name": "ping", "arguments": 7}, None),
        ({"tool_calls": [PING], "version": 1}, None),
        ({"tool_calls": [{"name": "pong"}]}, None),
        ([PING, 7], None),
        ([], None),
        ("ping", None),
    ],
)
def test_an_envelope_that_stands_alone_is_strict(tree: Json, calls: list[str] | None) -> None:
    assert bare(tree) == calls


def test_a_wrapper_holds_calls_and_has_no_name() -> None:
    assert wrapped_calls({"function": {"name": "ping"}}) == [{"name": "ping"}]
    assert wrapped_calls({"name": "ping", "function": {}}) is None
    assert wrapped_calls({"function": 7, "tool_calls": []}) == []
    assert wrapped_calls({}) is None


def test_a_single_call_has_the_id_that_stands_beside_it() -> None:
    def ids(tree: Json) -> list[str]:
        return [call.id for call in bare_calls(tree, OFFERED, "json_envelope") or ()]

    inner: dict[str, Json] = {"name": "ping", "arguments": {}}
    assert ids({"tool_calls": [{"id": "x", "type": "function", "function": inner}]}) == ["x"]
    assert ids({"id": "x", "function": {**inner, "id": "y"}}) == ["y"]
    assert ids({"id": "x", "tool_calls": [inner, inner]}) == ["", ""]
