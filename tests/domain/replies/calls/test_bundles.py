from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._replies import CallEntry, WarningCode, unbundled

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
