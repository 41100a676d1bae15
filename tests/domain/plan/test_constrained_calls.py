from __future__ import annotations

import json
from typing import Any, cast

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._plan import Plan
from toolreel_core._schema import violations
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolDefinition

NODE: dict[str, Json] = {
    "type": "object",
    "properties": {"name": {"$ref": "#/$defs/Name"}},
    "required": ["name"],
    "$defs": {"Name": {"type": "string"}},
}
ADD, PING = ToolDefinition.of("lists.add", parameters=NODE), ToolDefinition.of("ping")


def plan_of(form: str, *tools: ToolDefinition, **rest: Any) -> Plan:  # noqa: ANN401 - parts of a plan
    settings = rest.pop("settings", {})
    config = LoopConfig.of({"constrained_calls": form, **settings})
    return Plan.of(model="m", messages="hi", tools=tools or (ADD, PING), config=config, **rest)


def sent(plan: Plan) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(plan.bodies.with_tools.text))


def schema_in(body: dict[str, Any]) -> JsonText:
    return canonical(body["response_format"]["json_schema"]["schema"])


def test_a_request_holds_its_reply_to_one_call() -> None:
    body = sent(plan_of("response_format"))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["final_answer", "lists_add", "ping"]
    schema = schema_in(body)
    for fits in (
        {"name": "lists_add", "arguments": {"name": "milk"}},
        {"name": "ping", "arguments": {}},
        {"name": "final_answer", "arguments": {"answer": "Done."}},
    ):
        assert violations(schema, canonical(cast("Json", fits))) == ()
    for unfit in (
        {"name": "pong", "arguments": {}},
        {"name": "lists_add", "arguments": {"name": 3}},
        {"name": "lists_add", "arguments": {}},
        {"name": "ping"},
        {"name": "ping", "arguments": {}, "more": 1},
    ):
        assert violations(schema, canonical(cast("Json", unfit)))


def test_a_demanded_call_is_no_answer() -> None:
    body = json.loads(plan_of("response_format").bodies.requiring.text)
    answer = canonical({"name": "final_answer", "arguments": {"answer": "Done."}})
    assert violations(schema_in(body), answer)
    assert "tool_choice" not in body


def test_a_run_that_has_to_call_a_tool_is_offered_its_answer_last() -> None:
    last = sent(plan_of("response_format", settings={"tool_use_mode": "enforced"}))["tools"]
    first = sent(plan_of("response_format"))["tools"]
    assert [tool["function"]["name"] for tool in last] == ["lists_add", "ping", "final_answer"]
    assert "only when everything" in last[-1]["function"]["description"]
    assert "at once if the answer needs no other tool" in first[0]["function"]["description"]


def test_no_choice_of_tools_goes_out_with_a_constraint() -> None:
    known = Provider(supports_required="yes")
    typed = plan_of("response_format", provider=known, output={"type": "object"})
    assert "tool_choice" not in sent(typed)
    assert json.loads(typed.bodies.without_tools.text)["tool_choice"] == "required"


@pytest.mark.parametrize(
    "rest",
    [
        {"settings": {"tool_use_mode": "disabled"}},
        {"provider": Provider(supports_tools="no")},
    ],
)
def test_nothing_is_constrained_where_no_tool_is_sent(rest: dict[str, Any]) -> None:
    plan = plan_of("response_format", **rest)
    assert not plan.constrains_calls
    assert plan.answer_tool is None
    assert plan.bodies.with_tools.text == "{}"
    bare = Plan.of(model="m", messages="hi", config=LoopConfig(constrained_calls="response_format"))
    assert not bare.constrains_calls


def test_calls_are_read_out_of_the_text_in_the_form_that_the_constraint_gives_them() -> None:
    assert plan_of("response_format").reading.text_dialects[-1] == "llama_json"
    named = plan_of("response_format", settings={"text_dialects": ("llama_json", "react")})
    assert named.reading.text_dialects == ("llama_json", "react")


@pytest.mark.parametrize("mode", ["native", "text"])
def test_a_typed_answer_is_a_call_too(mode: str) -> None:
    wrong = complaint(
        ConfigError,
        lambda: plan_of("response_format", output={"type": "object"}, settings={"output_mode": mode}),
    )
    assert wrong == (
        "output_mode: constrained_calls makes each reply a call, so the answer is one too; "
        "write output_mode='tool', or constrained_calls='off'"
    )
    native = Provider(supports_json_schema="yes", supports_response_format_with_tools="yes")
    plan = plan_of("response_format", provider=native, output={"type": "object"})
    assert plan.asked_by == "tool"


def test_a_tool_may_not_have_the_name_of_the_answer() -> None:
    taken = ToolDefinition.of("final_answer")
    assert complaint(ConfigError, lambda: plan_of("response_format", taken)) == (
        "constrained_calls: the answer is a call of 'final_answer', and there is a tool of that name; "
        "rename the tool"
    )


def test_a_plan_without_a_constraint_keeps_its_digest() -> None:
    plain = Plan.of(model="m", messages="hi", tools=[PING])
    assert plan_of("off", PING).digest == plain.digest
    assert plan_of("response_format", PING).digest != plain.digest


def test_calls_of_some_tools_can_be_left_out_and_the_tools_stay() -> None:
    plan = plan_of("response_format", options={"temperature": 0})
    body = json.loads(plan.options_without(["lists.add"]).text)
    schema = schema_in(body)
    offered: dict[str, Json] = {"ping": {}, "final_answer": {"answer": "x"}, "lists_add": {"name": "x"}}
    calls = {name: canonical({"name": name, "arguments": each}) for name, each in offered.items()}
    assert [name for name, call in calls.items() if violations(schema, call)] == ["lists_add"]
    rest = {key: value for key, value in sent(plan).items() if key != "response_format"}
    assert {key: value for key, value in body.items() if key != "response_format"} == rest
    assert plan.options_without([]).text == plan.bodies.with_tools.text
