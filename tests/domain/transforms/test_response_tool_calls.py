from __future__ import annotations

from typing import Any

import pytest

from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._replies import Reply, normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core._transforms import (
    Change,
    arguments_blank_to_empty_object,
    arguments_json_string_if_hash,
    content_tool_call_tags_to_tool_calls,
    function_call_to_tool_calls,
    tool_calls_object_to_array,
)

TRANSFORMS = [
    arguments_json_string_if_hash,
    content_tool_call_tags_to_tool_calls,
    function_call_to_tool_calls,
    tool_calls_object_to_array,
]
CALL: Tree = {"id": "a", "type": "function", "function": {"name": "add", "arguments": '{"n":1}'}}
TAG = '<tool_call>{"name": "add", "arguments": {"n": 1}}</tool_call>'


def body(*messages: Json, finish: str = "stop") -> Tree:
    return {"id": "x", "choices": [{"message": message, "finish_reason": finish} for message in messages]}


def choice_of(response: Any) -> Any:  # noqa: ANN401 - a parsed tree
    return response["choices"][0]


def message_of(response: Tree) -> Any:  # noqa: ANN401 - a parsed tree
    return choice_of(response)["message"]


def read(response: Tree, turn: int) -> Reply:
    tools = ToolSurface((ToolDefinition.of("add"),))
    return normalize_reply(canonical(response), tools=tools, config=LoopConfig(), turn=turn)


@pytest.mark.parametrize("change", TRANSFORMS)
@pytest.mark.parametrize(
    "response",
    [
        {},
        {"choices": None},
        {"choices": "text"},
        {"choices": [None, 3, {}, {"message": None}, {"message": {}}]},
        {"error": {"code": 502}},
        body({"role": "assistant", "content": "Hello."}),
        body({"role": "assistant", "content": None, "tool_calls": [CALL]}),
        body({"content": [{"type": "text", "text": TAG}]}),
        body({"tool_calls": [None, {"function": None}], "function_call": "add"}),
    ],
)
def test_a_body_with_nothing_to_do_is_given_back_itself(change: Change, response: Tree) -> None:
    assert change(response) is response


def test_a_legacy_call_becomes_the_one_entry_of_tool_calls_without_an_id() -> None:
    legacy: Tree = {"name": "add", "arguments": "{}"}
    moved = function_call_to_tool_calls(body({"content": None, "function_call": legacy, "tool_calls": None}))
    assert message_of(moved) == {"content": None, "tool_calls": [{"type": "function", "function": legacy}]}


def test_calls_that_are_moved_get_an_id_of_their_own_in_each_turn() -> None:
    moved = function_call_to_tool_calls(body({"function_call": {"name": "add", "arguments": "{}"}}))
    assert [read(moved, turn).calls[0].id for turn in (1, 2)] == ["call_1_0", "call_2_0"]


@pytest.mark.parametrize("calls", [[CALL], CALL])
def test_a_legacy_call_beside_calls_of_today_stays(calls: Json) -> None:
    response = body({"function_call": {"name": "add"}, "tool_calls": calls})
    assert function_call_to_tool_calls(response) is response


def test_a_single_call_becomes_a_list_of_one_and_none_an_empty_list() -> None:
    assert message_of(tool_calls_object_to_array(body({"tool_calls": CALL}))) == {"tool_calls": [CALL]}
    assert message_of(tool_calls_object_to_array(body({"tool_calls": {}}))) == {"tool_calls": []}


def test_calls_under_their_numbers_become_a_list_in_that_order() -> None:
    other: Tree = {**CALL, "id": "b"}
    response = body({"tool_calls": {"10": other, "2": CALL}})
    assert message_of(tool_calls_object_to_array(response)) == {"tool_calls": [CALL, other]}


def test_arguments_that_are_an_object_become_its_text() -> None:
    given: Tree = {"id": "a", "type": "function", "function": {"name": "add", "arguments": {"n": 1}}}
    assert message_of(arguments_json_string_if_hash(body({"tool_calls": [None, given, CALL]}))) == {
        "tool_calls": [None, CALL, CALL]
    }


@pytest.mark.parametrize("arguments", ["", "{", None, [1], 3])
def test_arguments_that_are_no_object_stay(arguments: Json) -> None:
    response = body({"tool_calls": [{"function": {"name": "add", "arguments": arguments}}]})
    assert arguments_json_string_if_hash(response) is response


def test_every_choice_is_looked_at() -> None:
    response = tool_calls_object_to_array(body({"tool_calls": []}, {"tool_calls": CALL}))
    assert response == body({"tool_calls": []}, {"tool_calls": [CALL]})


def test_a_call_in_tags_becomes_a_call_that_says_where_it_came_from() -> None:
    moved = content_tool_call_tags_to_tool_calls(body({"role": "assistant", "content": f"Sure.{TAG}"}))
    entry: Tree = {"type": "function", "function": {"name": "add", "arguments": '{"n":1}'}}
    assert moved == body(
        {
            "role": "assistant",
            "content": "Sure.",
            "tool_calls": [{**entry, "provenance": "text:hermes_json"}],
        },
        finish="tool_calls",
    )
    assert [(call.name, call.arguments) for call in read(moved, 1).calls] == [("add", '{"n":1}')]


def test_text_that_is_nothing_but_a_call_leaves_null_and_its_reasoning() -> None:
    moved = content_tool_call_tags_to_tool_calls(body({"content": f"<think>Add it.</think>{TAG}"}))
    message = message_of(moved)
    assert (message["content"], message["reasoning_content"]) == (None, "Add it.")


def test_reasoning_that_is_there_already_is_kept() -> None:
    said: Tree = {"content": f"<think>Add it.</think>{TAG}", "reasoning_content": "Really."}
    message = message_of(content_tool_call_tags_to_tool_calls(body(said)))
    assert message["reasoning_content"] == "Really."


def test_a_reason_other_than_stop_is_left_as_it_came() -> None:
    moved = content_tool_call_tags_to_tool_calls(body({"content": TAG}, finish="length"))
    assert choice_of(moved)["finish_reason"] == "length"


def test_without_a_reason_calls_are_found_as_well() -> None:
    moved = content_tool_call_tags_to_tool_calls({"choices": [{"message": {"content": TAG}}]})
    assert "finish_reason" not in choice_of(moved)
    assert message_of(moved)["content"] is None


@pytest.mark.parametrize(
    "said",
    [
        {"content": TAG, "tool_calls": [CALL]},
        {"content": TAG, "tool_calls": CALL},
        {"content": TAG, "function_call": {"name": "add", "arguments": "{}"}},
        {"content": f"Write it like this:\n```\n{TAG}\n```"},
        {"content": "<tool_call>add</tool_call>"},
        {"content": "<think>Perhaps later.</think>Hello."},
    ],
)
def test_a_quotation_a_bare_name_and_text_beside_structured_calls_stay_text(said: Tree) -> None:
    response = body(said)
    assert content_tool_call_tags_to_tool_calls(response) is response


@pytest.mark.parametrize("arguments", ["", " \n", None, "null", " null "])
def test_arguments_that_say_nothing_become_an_empty_object(arguments: Json) -> None:
    call: Tree = {"id": "a", "function": {"name": "ping", "arguments": arguments}}
    assert arguments_blank_to_empty_object(call) == {
        "id": "a",
        "function": {"name": "ping", "arguments": "{}"},
    }


def test_missing_arguments_become_an_empty_object() -> None:
    assert arguments_blank_to_empty_object({"function": {"name": "ping"}}) == {
        "function": {"name": "ping", "arguments": "{}"}
    }


@pytest.mark.parametrize("arguments", ["{}", "{", '"null"', "nul", {}, {"a": 1}, [], 0, False])
def test_other_arguments_stay(arguments: Json) -> None:
    call: Tree = {"function": {"name": "ping", "arguments": arguments}}
    assert arguments_blank_to_empty_object(call) is call


@pytest.mark.parametrize("call", [{}, {"function": None}, {"function": "ping"}, {"function": {}}])
def test_what_calls_no_function_stays(call: Tree) -> None:
    assert arguments_blank_to_empty_object(call) is call
