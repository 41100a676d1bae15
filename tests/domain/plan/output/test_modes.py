from __future__ import annotations

from typing import Any

import pytest

from tests.samples import worked
from toolreel_core._errors import ConfigError
from toolreel_core._plan import AskedBy, Plan, Preset
from toolreel_core._settings import LoopConfig, OutputMode, Provider
from toolreel_core._tools import ToolDefinition

PING = ToolDefinition.of("ping")


def plan_with(*tools: ToolDefinition, mode: OutputMode = "auto", off: bool = False, **known: Any) -> Plan:  # noqa: ANN401 - any setting of a provider
    config = LoopConfig(output_mode=mode, tool_use_mode="disabled" if off else "relaxed")
    return Plan.of(
        model="m", messages="hi", tools=tools, output={}, config=config, provider=Provider(**known)
    )


@pytest.mark.parametrize(
    ("tools", "known", "mode"),
    worked("the mode is chosen by what is known", "runs-and-plans"),
)
def test_the_mode_is_chosen_by_what_is_known(tools: int, known: dict[str, Any], mode: AskedBy) -> None:
    # Without knowledge, an answer of a run with tools is a call too, and any server can send text.
    assert plan_with(*[PING] * tools, **known).asked_by == mode


def test_a_mode_that_cannot_work_is_refused() -> None:
    with pytest.raises(ConfigError, match="this run sends no tools"):
        plan_with(PING, mode="tool", supports_tools="no")


def test_a_final_tool_may_not_have_the_name_of_a_tool() -> None:
    with pytest.raises(ConfigError, match="there is a tool 'final_answer' already"):
        plan_with(ToolDefinition.of("final_answer"))
    assert plan_with(ToolDefinition.of("final_answer"), mode="text").asked_by == "text"


def test_the_response_format_of_an_output_is_its_own() -> None:
    with pytest.raises(
        ConfigError, match="options: 'response_format' is set by the run itself; the output sets it"
    ):
        Plan.of(model="m", messages="hi", output={}, options={"response_format": {"type": "json_object"}})


def test_a_preset_may_choose_the_mode_and_the_retries() -> None:
    preset = Preset.of("mine", {"config": {"output_mode": "tool", "output_retries": 0}})
    plan = preset.plan(model="m", messages="hi", output={"type": "object"})
    assert (plan.asked_by, plan.config.output_retries) == ("tool", 0)
    other = preset.plan(model="m", messages="hi", output={}, settings={"output_mode": "text"})
    assert other.asked_by == "text"
