from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.samples import worked
from toolreel_core._conversation import SystemMessage, UserMessage
from toolreel_core._jsontext import Json
from toolreel_core._plan import OutputSpec, Plan
from toolreel_core._settings import LoopConfig, OutputMode, Provider
from toolreel_core._tools import ToolDefinition

POINT: dict[str, Json] = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
SPEC = OutputSpec.of(POINT, name="point", description="A point.")
PING = ToolDefinition.of("ping")
HI = UserMessage("hi")


def plan_of(*tools: ToolDefinition, mode: OutputMode = "auto", **parts: Any) -> Plan:  # noqa: ANN401 - any part
    return Plan.of(
        model="m", messages="hi", tools=tools, output=SPEC, config=LoopConfig(output_mode=mode), **parts
    )


def bodies(plan: Plan) -> list[Any]:
    all_ = plan.bodies
    return [
        json.loads(body.text) for body in (all_.with_tools, all_.requiring, all_.without_tools, all_.dropped)
    ]


def test_a_native_output_is_a_response_format_of_every_request() -> None:
    wanted = {"name": "point", "description": "A point.", "schema": POINT, "strict": True}
    for body in bodies(plan_of(PING, mode="native")):
        assert body["response_format"] == {"type": "json_schema", "json_schema": wanted}
    nameless = Plan.of(model="m", messages="hi", output={}, config=LoopConfig(output_mode="native"))
    (inner,) = (json.loads(nameless.bodies.with_tools.text)["response_format"]["json_schema"],)
    assert inner.keys() == {"name", "schema", "strict"}
    assert inner["strict"] is False


def test_a_final_tool_is_offered_after_the_others_and_stays_where_they_are_left_out() -> None:
    with_tools, requiring, without_tools, dropped = bodies(plan_of(PING))
    assert [tool["function"]["name"] for tool in with_tools["tools"]] == ["ping", "point"]
    assert "tool_choice" not in with_tools
    assert requiring["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in without_tools["tools"]] == ["point"]
    assert with_tools["tools"][1] == without_tools["tools"][0]
    assert with_tools["tools"][1]["function"]["parameters"] == POINT
    assert with_tools["tools"][1]["function"]["description"].startswith("A point. Gives the final answer")
    assert dropped == {}


def test_a_call_is_demanded_where_the_provider_is_known_to_force_one() -> None:
    plan = plan_of(PING, provider=Provider(supports_required="yes"))
    with_tools, _, without_tools, _ = bodies(plan)
    assert with_tools["tool_choice"] == without_tools["tool_choice"] == "required"
    chosen = plan_of(PING, provider=Provider(supports_required="yes"), options={"tool_choice": "auto"})
    assert bodies(chosen)[0]["tool_choice"] == "auto"


def test_the_final_tool_is_not_streamed_like_a_text() -> None:
    config = LoopConfig(output_mode="tool", stream="final")
    plan = Plan.of(model="m", messages="hi", output=SPEC, config=config)
    streamed = ["stream" in body for body in bodies(plan)]
    assert streamed == [False, False, False, True]


@pytest.mark.parametrize("mode", ["native", "tool"])
def test_the_schema_passes_the_transforms_of_the_provider(mode: OutputMode) -> None:
    plan = plan_of(PING, mode=mode, provider=Provider(schema_transform="gemini_subset"))
    assert "additionalProperties" not in plan.bodies.with_tools.text
    assert plan.bodies.quirks == ("schema_gemini_subset",)


def test_a_text_output_is_an_instruction_in_the_last_leading_system_message() -> None:
    plan = plan_of(PING, mode="text")
    told = (
        "A point.\nYour final answer must be one JSON object that fits this JSON Schema, without any other "
        f"text:\n{SPEC.sent}"
    )
    assert json.loads(plan.bodies.with_tools.text).keys() == {"tools"}
    assert plan.callable_tools == plan.tools
    assert plan.opening == (SystemMessage(told), HI)
    first, second = SystemMessage("a"), SystemMessage("b")
    several = replace(plan, messages=(first, second, HI, second))
    assert several.opening == (first, SystemMessage(f"b\n\n{told}"), HI, second)
    assert plan_of(PING).opening == (HI,)


@pytest.mark.parametrize(
    ("schema", "strict"), worked("strict is sent where every object is closed", "runs-and-plans")
)
def test_strict_is_sent_where_every_object_is_closed(schema: dict[str, Json], *, strict: bool) -> None:
    config = LoopConfig(output_mode="native")
    plan = Plan.of(model="m", messages="hi", output=schema, config=config)
    assert bodies(plan)[0]["response_format"]["json_schema"]["strict"] is strict
