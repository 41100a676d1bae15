from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.strategies import json_objects, json_values
from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import CallEntry, EntriesFound, WarningCode, entries_in

ADD: Json = {"id": "call_a", "type": "function", "function": {"name": "add", "arguments": "{}"}}
PING: Json = {"id": "call_b", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
ADDING = CallEntry("call_a", "add", "{}")
PINGING = CallEntry("call_b", "ping", "{}")


def listed(*entries: Json) -> EntriesFound:
    return entries_in({"tool_calls": list(entries)})


def marked(entry: CallEntry, *codes: WarningCode) -> CallEntry:
    return replace(entry, codes=codes)


@pytest.mark.parametrize("message", [{}, {"tool_calls": None}, {"tool_calls": []}, {"tool_calls": " "}])
def test_a_message_without_calls_has_none(message: dict[str, Json]) -> None:
    assert entries_in(message) == EntriesFound()


@pytest.mark.parametrize(
    "tool_calls",
    [
        {"0": ADD, "1": PING},
        {"10": PING, "2": ADD},
        {"002": PING, "1": ADD},
        {"9" * 5000: PING, "8": ADD},
        {"first": ADD, "second": PING},
        [[ADD, PING]],
        [[ADD], [[PING]]],
        [ADD, [PING]],
        canonical([ADD, PING]),
        canonical({"0": ADD, "1": PING}),
    ],
)
def test_calls_that_are_no_plain_list_are_read_in_order(tool_calls: Json) -> None:
    assert entries_in({"tool_calls": tool_calls}) == EntriesFound(
        (marked(ADDING, "TOOL_CALLS_NOT_LIST"), marked(PINGING, "TOOL_CALLS_NOT_LIST")),
        ("TOOL_CALLS_NOT_LIST",),
    )


@pytest.mark.parametrize("tool_calls", [7, False, {}, "{}", "[]"])
def test_what_holds_no_call_is_reported(tool_calls: Json) -> None:
    assert entries_in({"tool_calls": tool_calls}) == EntriesFound(codes=("TOOL_CALLS_NOT_LIST",))


@pytest.mark.parametrize("text", ["add(1)", '"add"', "7"])
def test_text_that_holds_no_calls_is_passed_over(text: str) -> None:
    assert entries_in({"tool_calls": text}).codes == ("TOOL_CALLS_NOT_LIST", "CALL_ENTRY_INVALID")


@pytest.mark.parametrize("junk", [None, "add", 3, True])
def test_an_entry_that_is_no_object_is_passed_over_and_its_neighbours_stay(junk: Json) -> None:
    assert listed(junk, ADD) == EntriesFound((ADDING,), ("CALL_ENTRY_INVALID",))


@pytest.mark.parametrize(
    "nameless",
    [
        {},
        {"id": "x"},
        {"function": None},
        {"function": {}},
        {"function": "add"},
        *({"function": {"name": name, "arguments": "{}"}} for name in (None, "", " \n", 7, ["add"])),
    ],
)
def test_a_call_without_a_name_is_passed_over(nameless: Json) -> None:
    assert listed(nameless, ADD) == EntriesFound((ADDING,), ("CALL_WITHOUT_NAME",), ("CALL_WITHOUT_NAME",))


@pytest.mark.parametrize(
    "custom",
    [
        {"id": "x", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
        {"id": "x", "custom": {"name": "shell", "input": "ls"}},
        {"id": "x", "type": "Custom", "name": "shell"},
    ],
)
def test_a_custom_call_is_passed_over(custom: Json) -> None:
    assert listed(custom).oddities == listed(custom).codes == ("UNSUPPORTED_CALL_TYPE",)


@pytest.mark.parametrize("kind", [None, "", "Function", "tool_use", "builtin_function", "custom", 7])
def test_the_type_of_a_call_with_a_function_does_not_matter(kind: Json) -> None:
    assert listed(
        {"id": "call_a", "type": kind, "function": {"name": "add", "arguments": "{}"}}
    ) == EntriesFound((ADDING,))


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "call_a", "name": "add", "arguments": "{}"},
        {"id": "call_a", "type": "tool_use", "name": "add", "input": "{}"},
        {"id": "call_a", "functionCall": {"name": "add", "args": "{}"}},
        {"id": "call_a", "function_call": {"name": "add", "arguments": "{}"}},
        {"id": "call_a", "function": {"name": "add"}, "arguments": "{}"},
        {"id": "call_a", "function": {"name": "add", "parameters": "{}"}},
        {"id": "call_a", "function": {"arguments": "{}"}, "name": "add"},
    ],
)
def test_name_and_arguments_are_found_where_they_stand(entry: Json) -> None:
    assert listed(entry).entries == (marked(ADDING, "MISSING_FUNCTION_WRAPPER"),)
    assert listed(entry).codes == ("MISSING_FUNCTION_WRAPPER",)


def test_arguments_that_stand_nowhere_are_none() -> None:
    assert listed({"function": {"name": "add"}}).entries == (CallEntry(None, "add", None),)
    assert listed({"name": "add"}).entries == (
        CallEntry(None, "add", None, codes=("MISSING_FUNCTION_WRAPPER",)),
    )


def test_calls_outside_the_message_are_read_where_there_are_none_inside() -> None:
    assert entries_in({}, outside=[None, [ADD], [PING]]) == EntriesFound(
        (marked(ADDING, "TOOL_CALLS_MISPLACED"),), ("TOOL_CALLS_MISPLACED",)
    )
    assert entries_in({"tool_calls": [PING]}, outside=[[ADD]]) == EntriesFound((PINGING,))


PART: Json = {"type": "tool_use", "id": "call_a", "name": "add", "input": "{}"}


def test_calls_among_the_parts_of_the_content_need_no_wrapper() -> None:
    assert entries_in({}, parts=[PART, {"type": "tool_use"}]) == EntriesFound(
        (marked(ADDING, "CALLS_IN_CONTENT_PARTS"),),
        ("CALLS_IN_CONTENT_PARTS", "CALL_WITHOUT_NAME"),
        ("CALL_WITHOUT_NAME",),
    )


def test_calls_among_the_parts_are_a_repetition_of_structured_ones() -> None:
    assert entries_in({"tool_calls": [PING]}, parts=[PART]) == EntriesFound(
        (PINGING,), ("CALLS_IN_CONTENT_PARTS",)
    )


def test_a_legacy_call_counts_where_there_is_no_other() -> None:
    legacy: Json = {"name": "add", "arguments": "{}"}
    found = entries_in({"tool_calls": [], "function_call": legacy})
    assert found == EntriesFound(
        (CallEntry(None, "add", "{}", "legacy", codes=("LEGACY_FUNCTION_CALL",)),),
        ("LEGACY_FUNCTION_CALL",),
    )
    assert entries_in({"tool_calls": [PING], "function_call": legacy}).entries == (PINGING,)


@pytest.mark.parametrize("legacy", [None, {}, "add", 7, {"name": "", "arguments": None}])
def test_an_empty_legacy_call_is_none(legacy: Json) -> None:
    assert entries_in({"function_call": legacy}) == EntriesFound()


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "add", "function": {"name": None, "arguments": '{"a": 1}'}},
        {"name": "add", "function": {"name": " ", "arguments": '{"a": 1}'}},
        {"function": {"name": "add", "arguments": None}, "input": '{"a": 1}'},
        {"function": {"name": "add", "arguments": None, "parameters": '{"a": 1}'}},
    ],
)
def test_what_stands_in_its_place_and_says_nothing_is_looked_for_elsewhere(entry: Json) -> None:
    found = entries_in({"tool_calls": [entry]}).entries[0]
    assert (found.name, found.arguments) == ("add", '{"a": 1}')
    assert found.codes == ("MISSING_FUNCTION_WRAPPER",)


@pytest.mark.parametrize("call_id", ["call_1", None, ""])
def test_a_call_of_the_responses_api_has_its_id_as_call_id(call_id: Json) -> None:
    item: dict[str, Json] = {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": "ping"}
    (entry,) = entries_in({"tool_calls": [{**item, "arguments": "{}"}]}).entries
    assert entry.id == (call_id or "fc_1")


def test_an_id_may_stand_in_the_function() -> None:
    function: Json = {"id": "call_a", "name": "add", "arguments": "{}"}
    assert entries_in({"tool_calls": [{"function": function}]}).entries[0].id == "call_a"
    assert entries_in({"function_call": function}).entries[0].id == "call_a"


def test_numbered_entries_may_be_lists() -> None:
    found = entries_in({"tool_calls": {"1": [PING], "0": [[PING], PING]}})
    assert (found.entries, found.codes) == (
        (marked(PINGING, "TOOL_CALLS_NOT_LIST"),) * 3,
        ("TOOL_CALLS_NOT_LIST",),
    )


@given(json_objects, json_values)
def test_any_message_is_searched_without_an_exception(message: dict[str, Json], value: Json) -> None:
    for searched in (message, {"tool_calls": value}, {"function_call": value}):
        for entry in entries_in(searched, outside=[value], parts=[value]).entries:
            assert entry.name.strip()


def test_a_call_that_a_transform_has_read_from_text_is_known_as_such() -> None:
    function: Json = {"name": "ping", "arguments": "{}"}
    for told, known in (
        ("text:hermes_json", "text:hermes_json"),
        ("trusted", "structured"),
        (3, "structured"),
    ):
        calls: Json = [{"id": "a", "function": function, "provenance": told}]
        assert [entry.provenance for entry in entries_in({"tool_calls": calls}).entries] == [known]
