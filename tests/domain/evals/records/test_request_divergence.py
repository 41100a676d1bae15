from __future__ import annotations

from typing import Any

import pytest

from tests.evals_values import worked
from toolreel_core import evals
from toolreel_core.evals import first_divergence

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "What is the status?"}
FINAL = {"role": "assistant", "content": "It is a draft."}


def request_content(body: dict[str, Any], *, conversation: bool = False) -> dict[str, Any]:
    return dict(evals.request_content(body, conversation=conversation))


def calling(name: str = "get", arguments: str = "{}", id: str = "c1", **more: object) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}], **more}


def result(text: str = "draft", id: str = "c1", **more: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text, **more}


def request(*messages: object, tools: tuple[str, ...] = ("get",), **options: object) -> dict[str, Any]:
    content = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
    return {"messages": [*messages], "tools": content, **options}


TOLD = {
    "type": "function",
    "function": {
        "name": "get",
        "description": "Get it.",
        "parameters": {"anyOf": [{"properties": {"path": {"description": "Where."}, "description": {}}}]},
    },
}


@pytest.mark.parametrize("row", worked("same request"))
def test_the_same_conversation_may_be_written_in_other_ways(row: list[dict[str, Any]]) -> None:
    assert request_content(row[0]) == request_content(request(SYSTEM, USER, calling(), result()))


def test_a_result_belongs_to_a_call_by_its_place() -> None:
    calls = [*calling(id="a")["tool_calls"], *calling("put", id="b")["tool_calls"]]
    two = {"role": "assistant", "tool_calls": calls}
    content = request_content(request(two, result("x", "b"), result("y", "a"), result("z", "strange")))
    assert [one["answers"] for one in content["messages"]] == [0, 2, 1, 0]


def test_what_is_no_request_tells_nothing() -> None:
    nothing = {"messages": [], "tools": {"": []}, "options": {}}
    assert request_content({"messages": "hello", "tools": [1, {"function": 2}]}) == nothing
    (message,) = request_content({"messages": [calling(arguments="{a")]})["messages"]
    assert message["calls"] == ["get({a)"]


def test_tools_that_must_not_be_called_are_no_tools() -> None:
    assert request_content(request(USER, tool_choice="none"))["tools"] == {}


@pytest.mark.parametrize(("recorded", "asked", "kind", "what"), worked("parts"))
def test_where_two_requests_part(
    recorded: dict[str, Any] | None, asked: dict[str, Any], kind: str, what: str
) -> None:
    before = None if recorded is None else request_content(recorded)
    assert first_divergence(before, request_content(asked)) == (kind, what)


def test_a_schema_may_be_written_in_another_way_if_it_says_the_same() -> None:
    strict = {"additionalProperties": False, "required": ["path"], "type": "object"}
    properties = {"path": {"description": "Where.", "type": "string"}, "description": {"type": "string"}}
    function = {**TOLD["function"], "parameters": {"properties": properties, **strict}}  # type: ignore[dict-item]
    one, other = ({**request(USER), "tools": [tool]} for tool in (TOLD, {**TOLD, "function": function}))
    assert request_content(one) == request_content(other)
    assert request_content(one)["tools"] == {"get": ["Get it.", "Where.", "description", "path"]}


def test_the_conversation_leaves_out_what_acts_on_the_model_alone() -> None:
    one, other = request(USER, temperature=0), {**request(USER), "tools": [TOLD]}
    assert request_content(one, conversation=True) == request_content(other, conversation=True)
