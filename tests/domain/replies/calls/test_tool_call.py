from __future__ import annotations

from functools import partial

import pytest

from toolreel_core._jsontext import ArgumentRepairs, Json, JsonText, canonical
from toolreel_core._replies import ArgumentError, CallsRead, ToolCall, calls_in

KNOWN = ("add", "ping", "stock_lookup")


def entry(name: Json = "add", arguments: Json = '{"a":1}', **more: Json) -> dict[str, Json]:
    function: Json = {"name": name, "arguments": arguments}
    return {"id": "call_a", "type": "function", "function": function, **more}


def read(message: dict[str, Json], repairs: ArgumentRepairs = "safe") -> CallsRead:
    return calls_in(message, known=KNOWN, turn=3, max_depth=64, repairs=repairs)


def read_entries(*entries: Json) -> CallsRead:
    return read({"tool_calls": list(entries)})


def test_a_canonical_call_is_taken_as_it_is() -> None:
    call = ToolCall("call_a", "add", JsonText('{"a":1}'), '{"a": 1}', "structured")
    for repairs in ("strict", "safe", "lenient"):
        assert read({"tool_calls": [entry(arguments='{"a": 1}')]}, repairs) == CallsRead((call,))


def test_several_calls_keep_their_order() -> None:
    many = ["call_a", "call_b", "call_c", "call_d"]
    found = read_entries(*(entry(id=identity) for identity in many))
    assert [call.id for call in found.calls] == many
    assert found.warnings == ()


def test_a_message_without_calls_has_none() -> None:
    assert read({"content": "Hi."}) == CallsRead()


def test_a_legacy_call_is_read_by_its_own_rules() -> None:
    found = read({"function_call": {"name": "add", "arguments": '{"a":1}'}})
    assert found.calls == (ToolCall("call_3_0", "add", JsonText('{"a":1}'), '{"a":1}', "legacy"),)
    assert found.warnings == ("LEGACY_FUNCTION_CALL", "CALL_ID_MISSING")


def test_what_is_odd_about_ids_names_and_arguments_is_reported_once_each() -> None:
    spoilt = entry(name="functions.add", arguments={"a": 1}, id=None)
    found = read_entries(spoilt, spoilt)
    assert [(call.id, call.name, call.arguments) for call in found.calls] == [
        ("call_3_0", "add", '{"a":1}'),
        ("call_3_1", "add", '{"a":1}'),
    ]
    assert found.warnings == ("CALL_ID_MISSING", "NAME_NORMALIZED", "ARGUMENTS_NOT_STRING")


def test_entries_that_are_no_calls_say_why() -> None:
    found = read_entries({}, {"type": "custom"}, entry())
    assert found.oddities == ("CALL_WITHOUT_NAME", "UNSUPPORTED_CALL_TYPE")
    assert [call.id for call in found.calls] == ["call_a"]


def test_calls_stand_outside_and_among_parts_too() -> None:
    reader = partial(calls_in, {}, known=KNOWN, turn=1, max_depth=64)
    assert reader(outside=[[entry()]]).warnings == ("TOOL_CALLS_MISPLACED",)
    part: Json = {"type": "tool_use", "id": "x", "name": "ping", "input": {}}
    assert reader(parts=[part]).warnings == ("CALLS_IN_CONTENT_PARTS", "ARGUMENTS_NOT_STRING")


def test_arguments_nest_no_deeper_than_allowed() -> None:
    message: dict[str, Json] = {"tool_calls": [entry(arguments='{"a":{}}')]}
    reads = [calls_in(message, known=KNOWN, turn=1, max_depth=depth).calls[0].arguments for depth in (2, 1)]
    assert reads == ['{"a":{}}', ArgumentError("ARGUMENTS_INVALID_JSON", "nested deeper than 1 levels")]


def test_a_bundle_is_expanded_and_each_of_its_calls_read_by_itself() -> None:
    uses: Json = {
        "tool_uses": [
            {"recipient_name": "functions.add", "parameters": {"a": 1}},
            {"recipient_name": "nothing", "parameters": "{'b': 2}"},
        ]
    }
    bundle = entry("multi_tool_use.parallel", canonical(uses), id="call_a")
    found = read_entries(bundle, entry(id="call_a_1"))
    assert [(call.id, call.name, call.arguments) for call in found.calls] == [
        ("call_a_0", "add", '{"a":1}'),
        ("call_a_1", "nothing", '{"b":2}'),
        ("call_3_2", "add", '{"a":1}'),
    ]
    assert found.warnings == (
        "MULTI_TOOL_USE_EXPANDED",
        "NAME_NORMALIZED",
        "NAME_UNKNOWN",
        "ARGUMENTS_REPAIRED",
        "CALL_ID_DUPLICATE",
    )


def test_what_must_go_back_stays_with_its_call() -> None:
    first, second = read_entries(entry(signature="s"), entry(id="call_b")).calls
    assert (first.carry, second.carry) == ('{"signature":"s"}', "{}")


@pytest.mark.parametrize(
    "message",
    [
        {"function_call": {"name": "add", "arguments": "{}"}},
        {"tool_calls": entry()},
        {"tool_calls": [[entry()]]},
        {"tool_calls": [{"name": "add", "arguments": "{}"}]},
    ],
)
def test_strictly_only_calls_that_stand_where_they_belong_count(message: dict[str, Json]) -> None:
    found = read(message, "strict")
    assert found.calls == ()
    assert found.warnings
    assert read(message).calls


@pytest.mark.parametrize(
    "name", [" add", "functions.add", "stock.lookup", "nothing", "multi_tool_use.parallel"]
)
def test_strictly_a_name_is_what_it_says(name: str) -> None:
    found = read({"tool_calls": [entry(name=name)]}, "strict")
    assert [call.name for call in found.calls] == [name]
    assert found.warnings == ("NAME_UNKNOWN",)


@pytest.mark.parametrize(
    ("provenance", "expected"),
    [("structured", False), ("legacy", False), ("text:hermes_json", True), ("text:react", True)],
)
def test_only_what_stood_in_text_is_from_text(provenance: str, expected: bool) -> None:
    assert ToolCall("a", "ping", JsonText("{}"), "{}", provenance).from_text is expected
