from __future__ import annotations

import pytest

from toolreel.arguments import ArgumentError
from toolreel.calls import CallsRead, ToolCall, read_calls
from toolreel.jsontext import Json, JsonText

MANY = ["call_a", "call_b", "call_c", "call_d"]


def entry(name: Json = "add", arguments: Json = '{"a":1}', **more: Json) -> dict[str, Json]:
    function: Json = {"name": name, "arguments": arguments}
    return {"id": "call_a", "type": "function", "function": function, **more}


def read(message: dict[str, Json]) -> CallsRead:
    return read_calls(message, turn=3, max_depth=64)


def read_entries(*entries: Json) -> CallsRead:
    return read({"tool_calls": list(entries)})


def test_a_canonical_call_is_taken_as_it_is() -> None:
    call = ToolCall("call_a", "add", JsonText('{"a":1}'), '{"a": 1}', "structured")
    assert read_entries(entry(arguments='{"a": 1}')) == CallsRead((call,), ())


def test_several_calls_keep_their_order() -> None:
    found = read_entries(*(entry(id=identity) for identity in MANY))
    assert [call.id for call in found.calls] == MANY
    assert found.warnings == ()


@pytest.mark.parametrize("message", [{}, {"tool_calls": None}, {"tool_calls": []}, {"tool_calls": 7}])
def test_a_message_without_calls_has_none(message: dict[str, Json]) -> None:
    assert read(message) == CallsRead((), ())


def test_a_single_object_stands_for_a_list_of_one() -> None:
    found = read({"tool_calls": entry()})
    assert [call.name for call in found.calls] == ["add"]
    assert found.warnings == ("TOOL_CALLS_NOT_LIST",)


def test_calls_as_text_are_passed_over_and_reported() -> None:
    assert read({"tool_calls": "[]"}) == CallsRead((), ("TOOL_CALLS_NOT_LIST",))


@pytest.mark.parametrize("junk", [None, "add", 3, [], {}, {"function": None}, {"function": "add"}])
def test_an_entry_that_is_no_call_is_passed_over_and_its_neighbours_stay(junk: Json) -> None:
    found = read_entries(junk, entry())
    assert [call.id for call in found.calls] == ["call_a"]
    assert found.warnings == ("CALL_ENTRY_INVALID",)


def test_a_legacy_call_is_read_where_there_is_no_other() -> None:
    legacy: Json = {"name": "add", "arguments": '{"a":1}'}
    found = read({"tool_calls": [], "function_call": legacy})
    assert found.calls == (ToolCall("call_3_0", "add", JsonText('{"a":1}'), '{"a":1}', "legacy"),)
    assert found.warnings == ("LEGACY_FUNCTION_CALL", "CALL_ID_MISSING")


def test_a_legacy_call_beside_structured_ones_is_a_repetition() -> None:
    found = read({"tool_calls": [entry()], "function_call": {"name": "add", "arguments": "{}"}})
    assert [call.provenance for call in found.calls] == ["structured"]


@pytest.mark.parametrize("name", [None, "", " \n", 7, ["add"], {"name": "add"}])
def test_a_call_without_a_name_is_no_call(name: Json) -> None:
    found = read_entries(entry(name=name), entry())
    assert [call.id for call in found.calls] == ["call_a"]
    assert found.warnings == ("CALL_WITHOUT_NAME",)


def test_blanks_around_a_name_are_taken_off_and_reported() -> None:
    found = read_entries(entry(name=" add\n"))
    assert found.calls[0].name == "add"
    assert found.warnings == ("NAME_NORMALIZED",)


@pytest.mark.parametrize(
    ("given", "identity", "warnings"),
    [
        ("functions.add:0", "functions.add:0", ()),
        (None, "call_3_0", ("CALL_ID_MISSING",)),
        ("", "call_3_0", ("CALL_ID_MISSING",)),
        (7, "7", ("CALL_ID_NOT_STRING",)),
        (True, "call_3_0", ("CALL_ID_NOT_STRING",)),
        (1.5, "call_3_0", ("CALL_ID_NOT_STRING",)),
        (["call_a"], "call_3_0", ("CALL_ID_NOT_STRING",)),
        ({"id": "call_a"}, "call_3_0", ("CALL_ID_NOT_STRING",)),
    ],
)
def test_every_call_gets_an_id_that_is_text(given: Json, identity: str, warnings: tuple[str, ...]) -> None:
    found = read_entries(entry(id=given))
    assert found.calls[0].id == identity
    assert found.warnings == warnings


def test_an_id_that_is_left_out_counts_as_missing() -> None:
    found = read_entries({"function": {"name": "add"}})
    assert found.calls[0].id == "call_3_0"
    assert found.warnings == ("CALL_ID_MISSING",)


@pytest.mark.parametrize(
    ("given", "identities"),
    [
        (["x", "x", "x"], ["x", "call_3_1", "call_3_2"]),
        ([None, "call_3_0"], ["call_3_0", "call_3_1"]),
        (["call_3_1", None], ["call_3_1", "call_3_2"]),
        (["7", 7], ["7", "call_3_1"]),
    ],
)
def test_two_calls_never_share_an_id(given: list[Json], identities: list[str]) -> None:
    assert [call.id for call in read_entries(*(entry(id=one) for one in given)).calls] == identities


def test_a_repeated_id_keeps_both_calls_and_is_reported() -> None:
    assert read_entries(entry(id="x"), entry(id="x")).warnings == ("CALL_ID_DUPLICATE",)
    assert read_entries(entry(id="7"), entry(id=7)).warnings == ("CALL_ID_NOT_STRING", "CALL_ID_DUPLICATE")


@pytest.mark.parametrize(
    ("arguments", "value", "original", "warnings"),
    [
        (None, "{}", "", ()),
        ("", "{}", "", ()),
        ("  ", "{}", "  ", ()),
        ("null", "{}", "null", ()),
        ({"a": 1}, '{"a":1}', '{"a":1}', ("ARGUMENTS_NOT_STRING",)),
        ([], ArgumentError("ARGUMENTS_NOT_OBJECT", "a list"), "[]", ("ARGUMENTS_NOT_STRING",)),
        ("[]", ArgumentError("ARGUMENTS_NOT_OBJECT", "a list"), "[]", ()),
    ],
)
def test_arguments_come_in_many_forms(
    arguments: Json, value: object, original: str, warnings: tuple[str, ...]
) -> None:
    found = read_entries(entry(arguments=arguments))
    assert (found.calls[0].arguments, found.calls[0].original) == (value, original)
    assert found.warnings == warnings


def test_arguments_that_were_left_out_are_empty() -> None:
    assert read_entries({"id": "x", "function": {"name": "add"}}).calls[0].arguments == "{}"


def test_arguments_nest_no_deeper_than_allowed() -> None:
    message: dict[str, Json] = {"tool_calls": [entry(arguments='{"a":{}}')]}
    assert read_calls(message, turn=1, max_depth=2).calls[0].arguments == '{"a":{}}'
    refused = read_calls(message, turn=1, max_depth=1).calls[0].arguments
    assert refused == ArgumentError("ARGUMENTS_TOO_DEEP", "deeper than 1 levels")


def test_the_same_repair_is_reported_once() -> None:
    assert read_entries(entry(id=None), entry(id=None)).warnings == ("CALL_ID_MISSING",)
