from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values
from toolreel_core._jsontext import ArgumentRepairs, Json, JsonText, canonical
from toolreel_core._replies import (
    ArgumentError,
    CallEntry,
    CallsRead,
    EntriesFound,
    ToolCall,
    WarningCode,
    calls_in,
    entries_in,
    identified,
    meant_name,
    unbundled,
)

KNOWN_NAMES = ("stock_lookup", "ping", "files.read", "multi-part")


@pytest.mark.parametrize("name", KNOWN_NAMES)
def test_the_name_of_a_tool_is_taken_as_it_is(name: str) -> None:
    assert meant_name(name, KNOWN_NAMES) == (name, ())


@pytest.mark.parametrize(
    "given_name",
    [
        " stock_lookup\n",
        "functions.stock_lookup",
        "default_api.stock_lookup",
        "default_api:stock_lookup",
        "tool:stock_lookup",
        "stock.lookup",
        "functions.stock.lookup",
        "functions.stock_lookup:0",
        "stock_lookup<|channel|>commentary",
        "stock_lookup <|",
        "stock_lookup<\uff5ctool▁sep\uff5c>",
        "functions.stock_lookup<|channel|>json",
        "stock_lookup</arg_value>",
        "stock_lookupstock_lookup",
    ],
)
def test_what_leaked_into_a_name_is_taken_off_where_a_tool_is_left(given_name: str) -> None:
    assert meant_name(given_name, KNOWN_NAMES) == ("stock_lookup", ("NAME_NORMALIZED",))


@pytest.mark.parametrize(
    "given_name",
    [
        "Ping",
        "stock-lookup",
        "stocklookup",
        "multi_part",
        "functions.unknown",
        "functions_ping",
        "my.ping",
        "ping:0",
        "stock_lookup<arg_key>part</arg_key>",
        "files_read",
        "functions.",
        "nothingnothing",
        "pingpingping",
        "<|channel|>ping",
    ],
)
def test_nothing_is_guessed(given_name: str) -> None:
    assert meant_name(given_name, KNOWN_NAMES) == (given_name, ("NAME_UNKNOWN",))


def test_an_unknown_name_loses_what_no_name_can_have() -> None:
    assert meant_name(" nothing<|channel|>", KNOWN_NAMES) == ("nothing", ("NAME_NORMALIZED", "NAME_UNKNOWN"))


def test_a_name_that_is_all_leaked_tokens_stays_a_name() -> None:
    assert meant_name("<|tool_call_begin|>ping", KNOWN_NAMES) == (
        "<|tool_call_begin|>ping",
        ("NAME_UNKNOWN",),
    )


def test_a_tool_whose_name_looks_spoilt_keeps_it() -> None:
    assert meant_name("functions.ping", ["ping", "functions.ping"]) == ("functions.ping", ())


@given(st.text(min_size=1))
def test_a_name_is_a_tools_or_said_to_be_unknown(name: str) -> None:
    meant, codes = meant_name(name, KNOWN_NAMES)
    assert (meant in KNOWN_NAMES) != ("NAME_UNKNOWN" in codes)
    assert (meant != name) == ("NAME_NORMALIZED" in codes)


@pytest.mark.parametrize("name", ["Ping", " ping", "functions.ping", "nothing"])
def test_a_name_that_is_not_mended_is_a_tools_or_unknown(name: str) -> None:
    assert meant_name(name, KNOWN_NAMES, exact=True) == (name, ("NAME_UNKNOWN",))
    assert meant_name("ping", KNOWN_NAMES, exact=True) == ("ping", ())


@pytest.mark.parametrize("identity", ["call_a", "functions.add:0", "aB3dE6gH9", "0", " x "])
def test_a_usable_id_is_never_touched(identity: str) -> None:
    assert identified([identity], turn=1) == [(identity, ())]


@pytest.mark.parametrize(
    ("native", "identity", "code"),
    [
        (None, "call_3_0", "CALL_ID_MISSING"),
        ("", "call_3_0", "CALL_ID_MISSING"),
        (" \n", "call_3_0", "CALL_ID_MISSING"),
        (0, "0", "CALL_ID_NOT_STRING"),
        (7, "7", "CALL_ID_NOT_STRING"),
        (True, "call_3_0", "CALL_ID_NOT_STRING"),
        (1.5, "call_3_0", "CALL_ID_NOT_STRING"),
        (["call_a"], "call_3_0", "CALL_ID_NOT_STRING"),
        ({"id": "call_a"}, "call_3_0", "CALL_ID_NOT_STRING"),
    ],
)
def test_every_call_gets_an_id_that_is_text(native: Json, identity: str, code: str) -> None:
    assert identified([native], turn=3) == [(identity, (code,))]


@pytest.mark.parametrize(
    ("natives", "identities"),
    [
        (["x", "x", "x"], ["x", "call_3_1", "call_3_2"]),
        ([None, "call_3_0"], ["call_3_1", "call_3_0"]),
        (["call_3_1", None], ["call_3_1", "call_3_2"]),
        ([None, None], ["call_3_0", "call_3_1"]),
        (["7", 7], ["7", "call_3_1"]),
    ],
)
def test_two_calls_never_share_an_id(natives: list[Json], identities: list[str]) -> None:
    assert [identity for identity, _ in identified(natives, turn=3)] == identities


def test_a_repeated_id_is_reported_with_the_later_call() -> None:
    assert [codes for _, codes in identified(["7", 7], turn=1)] == [
        (),
        ("CALL_ID_NOT_STRING", "CALL_ID_DUPLICATE"),
    ]


@given(st.lists(json_values | st.sampled_from(["call_1_0", "call_1_1", "call_1_2", None])))
def test_ids_are_unique_and_the_same_every_time(natives: list[Json]) -> None:
    found = [identity for identity, _ in identified(natives, turn=1)]
    assert len(set(found)) == len(natives)
    assert found == [identity for identity, _ in identified(natives, turn=1)]


ADD: Json = {"id": "call_a", "type": "function", "function": {"name": "add", "arguments": "{}"}}
PING: Json = {"id": "call_b", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
ADDING = CallEntry("call_a", "add", "{}")
PINGING = CallEntry("call_b", "ping", "{}")


def listed(*entries: Json) -> EntriesFound:
    return entries_in({"tool_calls": list(entries)})


def marked(entry: CallEntry, *codes: WarningCode) -> CallEntry:
    return entry._replace(codes=codes)


def test_a_list_of_calls_is_taken_as_it_is() -> None:
    assert listed(ADD, PING) == EntriesFound((ADDING, PINGING))


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


def test_a_single_object_stands_for_a_list_of_one() -> None:
    assert entries_in({"tool_calls": ADD}).entries == (marked(ADDING, "TOOL_CALLS_NOT_LIST"),)


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


def test_what_must_go_back_is_kept_with_its_call() -> None:
    function: Json = {"name": "add", "arguments": "{}", "provider_specific_fields": {"a": 1}}
    (entry,) = listed({"function": function, "thought_signature": "s"}).entries
    assert entry.carry == JsonText(
        '{"thought_signature":"s","function":{"provider_specific_fields":{"a":1}}}'
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


def test_a_legacy_call_without_a_name_is_passed_over_like_any_other() -> None:
    assert entries_in({"function_call": {"arguments": "{}"}}) == EntriesFound(
        codes=("LEGACY_FUNCTION_CALL", "CALL_WITHOUT_NAME"), oddities=("CALL_WITHOUT_NAME",)
    )


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


USES: Json = {
    "tool_uses": [
        {"recipient_name": "functions.add", "parameters": {"a": 1}},
        {"recipient_name": "ping", "parameters": "{}"},
    ]
}
CARRY = JsonText('{"signature":"s"}')


def singles(entry: CallEntry, *known: str) -> tuple[CallEntry, ...]:
    return unbundled(entry, known, max_depth=64)


def bundle(arguments: Json, name: str = "multi_tool_use.parallel", identity: Json = "call_a") -> CallEntry:
    return CallEntry(identity, name, arguments, carry=CARRY)


@pytest.mark.parametrize(
    "name",
    [
        "multi_tool_use.parallel",
        " multi_tool_use.parallel",
        "multi_tool_use_parallel",
        "functions.multi_tool_use.parallel",
        "multi_tool_use.parallel<|channel|>commentary",
    ],
)
@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (canonical(USES), ()),
        (USES, ("ARGUMENTS_NOT_STRING",)),
        (canonical(canonical(USES)), ("ARGUMENTS_DOUBLE_ENCODED",)),
        (f"```json\n{canonical(USES)}\n```", ("ARGUMENTS_FENCED",)),
        (f"{canonical(USES)[:-1]},}}", ("ARGUMENTS_REPAIRED",)),
    ],
)
def test_each_call_of_a_bundle_gets_the_id_with_its_number(
    name: str, arguments: Json, codes: tuple[WarningCode, ...]
) -> None:
    first, second = singles(bundle(arguments, name))
    expanded: tuple[WarningCode, ...] = ("MULTI_TOOL_USE_EXPANDED", *codes)
    assert first == CallEntry("call_a_0", "functions.add", '{"a":1}', carry=CARRY, codes=expanded)
    assert second == CallEntry("call_a_1", "ping", "{}", codes=expanded)


def test_calls_of_a_bundle_whose_id_is_a_number_have_it_as_text() -> None:
    first, _ = singles(bundle(USES, identity=7))
    assert first.id == "7_0"
    assert "CALL_ID_NOT_STRING" in first.codes


@pytest.mark.parametrize("identity", [None, "", " ", {}])
def test_calls_of_a_bundle_without_an_id_have_none(identity: Json) -> None:
    assert [entry.id for entry in singles(bundle(USES, identity=identity))] == [None, None]


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        "",
        "{",
        '{"tool_uses": [{"recipient_name": "pi',
        {},
        {"tool_uses": []},
        {"tool_uses": "ping"},
        {"tool_uses": 7},
        {"tool_uses": [{"recipient_name": "ping"}, 7]},
        {"tool_uses": [{"recipient_name": " "}]},
        {"tool_uses": [{"parameters": {}}]},
    ],
)
def test_a_bundle_that_cannot_be_read_whole_is_left_as_it_is(arguments: Json) -> None:
    entry = bundle(arguments)
    assert singles(entry) == (entry,)


def test_no_other_call_is_a_bundle() -> None:
    for entry in (bundle(USES, "ping"), bundle(USES, "functions.ping")):
        assert singles(entry) == (entry,)


def test_a_tool_may_have_that_name() -> None:
    entry = bundle(USES)
    assert singles(entry, "multi_tool_use.parallel") == (entry,)


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
