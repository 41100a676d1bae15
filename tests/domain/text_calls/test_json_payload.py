from __future__ import annotations

import re

import pytest

from tests.domain.text_calls.asking import OFFERED, source
from toolreel_core._jsontext import Json
from toolreel_core._text_calls import (
    Block,
    Broken,
    Calls,
    Reading,
    arguments,
    arguments_of,
    bare_calls,
    closers,
    enveloped,
    marked_calls,
    wrapped_calls,
)

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


BLOCK = Block(("hermes_json",), re.compile("<t>"), closers("</t>"))
PING_payload = '{"name": "ping", "arguments": {}}'


def words(reading: Reading) -> str:
    match reading:
        case Calls(calls, end, broken):
            return f"{' '.join(call.name for call in calls)} {end} {' '.join(broken)}".strip()
        case Broken(why, end):
            return f"{why} {end}"
        case _:
            return "text"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"{PING_payload}</t>", "ping 37"),
        (f"```json\n{PING_payload}\n```\n</t>", "ping 50"),
        (f"{{{PING_payload}}}</t>", "ping 39"),
        (f"[{PING_payload}, {PING_payload}]</t>", "ping ping 74"),
        (f"{PING_payload}\n{PING_payload};{PING_payload}", "ping ping ping 101"),
        (f"{PING_payload}}}]}}</t>", "ping 40"),
        (f"{PING_payload} and so on", "ping 33"),
        (f"{PING_payload} {{1}}", "ping 37 malformed"),
        (f'{PING_payload} {{"a": 1}}</t>', "ping 33"),
        (f'{PING_payload} {{"a": 1', "ping 41 truncated"),
        (f"[{PING_payload}, {{}}]</t>", "ping 43 malformed"),
        ('{"name": }</t> x', "malformed 14"),
        ('{"name": } <t>', "malformed 11"),
        ('{"name": } x', "malformed 12"),
        ('{"name": 7}</t>', "malformed 15"),
        ('{"text": "</t>", "x": } </t>', "malformed 28"),
        ('{"text": "cut</t><t>{"name": 1}</t>', "malformed 17"),
        ('{"name": "x</t> and so on', "malformed 15"),
        ('{"name": "x', "truncated 11"),
        ("[0]", "text"),
        ("[]", "text"),
        ("word", "text"),
        ("", "text"),
    ],
)
def test_envelopes_are_read_up_to_their_closing_tag(text: str, read: str) -> None:
    assert words(enveloped(source(text), 0, BLOCK)) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", "truncated 0"),
        ("word", "text"),
        ('{"name": "x</t> and', "truncated 19"),
        (PING_payload, "ping 33"),
    ],
)
def test_envelopes_of_a_text_that_was_cut_are_whole_or_none(text: str, read: str) -> None:
    assert words(enveloped(source(text, cut=True), 0, BLOCK)) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"a": 1}</t>', "f 12"),
        ('"{\\"a\\": 1}"</t>', "f 16"),
        ("</t>", "f 4"),
        ("null</t>", "f 8"),
        ("[1]</t>", "malformed 7"),
        ("soon</t>", "malformed 8"),
        ('{"a": 1e999}</t>', "malformed 16"),
        ('{"a": 1', "truncated 7"),
    ],
)
def test_arguments_are_an_object_or_nothing(text: str, read: str) -> None:
    assert words(arguments(source(text), 0, "f", BLOCK)) == read


def test_a_call_without_a_name_is_none() -> None:
    assert words(arguments(source("</t>"), 0, "", BLOCK)) == "text"
