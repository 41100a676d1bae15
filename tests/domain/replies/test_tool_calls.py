from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import intended_tool_name, joined_calls, structured_calls_in_message
from toolreel_core._settings import LoopConfig


def test_a_tool_whose_name_looks_spoilt_keeps_it() -> None:
    assert intended_tool_name("functions.ping", ["ping", "functions.ping"]) == ("functions.ping", ())
    bundle: Json = {
        "id": "a",
        "function": {"name": "multi_tool_use.parallel", "arguments": {"tool_uses": []}},
    }
    calls, _ = structured_calls_in_message(
        {"tool_calls": [bundle]}, known=["multi_tool_use.parallel"], turn=1, config=LoopConfig()
    )
    assert [call.name for call in calls] == ["multi_tool_use.parallel"]


def piece(name: str = "", arguments: Json = None) -> dict[str, Any]:
    """A fragment of the first call."""
    return {"index": 0, "function": {"name": name, "arguments": arguments}}


def call(name: str, arguments: Json) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


def test_braces_in_a_text_end_nothing() -> None:
    for text in ('{"a":"}', '{"a":"\\"}', '{"a":"\\\\\\"}', '{"a":[{}', '{"a":"\\'):
        assert joined_calls([[piece("ping", text)], [piece("ping", '"}')]]) == [call("ping", text + '"}')]


OBJECTS = st.dictionaries(st.text(), st.text() | st.lists(st.dictionaries(st.text(), st.text())))


@given(OBJECTS, OBJECTS, st.data())
def test_two_calls_are_told_apart_wherever_their_arguments_are_cut(
    one: Json, other: Json, data: st.DataObject
) -> None:
    """By a server that repeats the name and gives neither id nor a new index."""
    fragments: list[Json] = []
    for arguments in (canonical(one), canonical(other)):
        cuts = sorted(data.draw(st.sets(st.integers(1, len(arguments) - 1), max_size=4)))
        bounds = zip([0, *cuts], [*cuts, len(arguments)], strict=True)
        fragments += [[piece("ping", arguments[start:stop])] for start, stop in bounds]
    assert joined_calls(fragments) == [call("ping", canonical(one)), call("ping", canonical(other))]


def test_equal_arguments_under_another_id_are_those_of_another_call() -> None:
    """By a server that numbers all calls 0, and sends the name of the second before its arguments."""
    first, second = {**piece("ping", "{}"), "id": "a"}, {**piece("ping", ""), "id": "b"}
    both: list[Json] = [{"id": "a", **call("ping", "{}")}, {"id": "b", **call("ping", "{}")}]
    for arguments in ({**piece(arguments="{}"), "id": "b"}, piece(arguments="{}")):
        called = [[first], [second], [arguments]]
        assert joined_calls(called) == both
        assert joined_calls([*called, [{**second, **piece("ping", "{}")}]]) == both, "sent again"


def test_calls_without_index_that_take_turns_are_told_apart_by_their_ids() -> None:
    deltas = [("a", "ping", "{"), ("b", "ping", "{}"), ("a", "", "}")]
    fragments: list[Json] = [[{"id": id_, **call(name, text)}] for id_, name, text in deltas]
    assert joined_calls(fragments) == [
        {"id": "a", **call("ping", "{}")},
        {"id": "b", **call("ping", "{}")},
    ]


def test_a_name_without_end_is_cut() -> None:
    assert joined_calls([[piece("name")], *([piece("nam")] for _ in range(2_000))]) == [
        call("name" + "nam" * 333, "")
    ]
