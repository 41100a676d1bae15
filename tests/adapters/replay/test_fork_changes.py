from __future__ import annotations

import pytest

from tests.adapters.replay.records import ADDING, adding
from tests.samples import PING, complaint
from toolreel._internal import ForkError
from toolreel._replay import NOTHING_CHANGED, Changes
from toolreel.presets import shipped
from toolreel_core._conversation import AssistantMessage, SystemMessage, UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Plan
from toolreel_core._settings import Provider
from toolreel_core._tools import ToolSurface

WAS = Plan.of(
    model="m",
    messages=[SystemMessage("Be brief."), UserMessage("hi"), AssistantMessage("Hello."), UserMessage("Who?")],
    options={"temperature": 0, "parallel_tool_calls": True},
    config=adding(max_turns=3, text_dialects=["hermes_json"], max_tool_calls=9).config,
    provider=Provider(id_style="kimi"),
    overrides={"provider": {"order": ["a"]}},
    presets=("mine",),
    seed=4,
)


def test_without_changes_a_plan_stays_as_it_is() -> None:
    now = NOTHING_CHANGED.plan(WAS)
    assert now == WAS
    assert now.digest == WAS.digest


def test_each_part_changes_alone() -> None:
    for changes, part in (
        (Changes(model="other"), "model"),
        (Changes(prompt="What?"), "messages"),
        (Changes(config={"max_turns": 9}), "config"),
        (Changes(provider={"id_style": "keep"}), "provider"),
        (Changes(options={"temperature": 1}), "options"),
        (Changes(overrides={"top_k": 3}), "overrides"),
        (Changes(tools=ToolSurface((PING,))), "tools"),
        (Changes(seed=0), "seed"),
    ):
        now = changes.plan(WAS)
        parts = ("model", "messages", "config", "provider", "options", "overrides", "tools", "seed")
        assert [name for name in parts if getattr(now, name) != getattr(WAS, name)] == [part]


def test_the_prompt_is_the_last_user_message_and_the_system_message_the_first() -> None:
    now = Changes(prompt="What?", system="Be loud.").plan(WAS)
    assert now.messages == (SystemMessage("Be loud."), *WAS.messages[1:3], UserMessage("What?"))
    assert Changes(system="Be loud.").plan(ADDING).messages == (SystemMessage("Be loud."), *ADDING.messages)


def test_a_plan_without_a_user_message_has_no_prompt_to_change() -> None:
    plan = Plan.of(model="m", messages=[SystemMessage("Be brief.")])
    assert "has no user message" in complaint(ForkError, lambda: Changes(prompt="hi").plan(plan))


def test_settings_options_and_overrides_go_over_the_recorded_ones() -> None:
    now = Changes(
        config={"max_tool_calls": None}, options={"top_p": 1}, overrides={"provider": {"sort": "price"}}
    ).plan(WAS)
    assert (now.config.max_tool_calls, now.config.max_turns) == (None, 3)
    assert now.options == '{"temperature":0,"parallel_tool_calls":true,"top_p":1}'
    assert now.overrides == '{"provider":{"order":["a"],"sort":"price"}}'


def test_a_preset_goes_over_what_was_recorded_and_joins_lists_of_names() -> None:
    now = Changes(preset=shipped().merged(["qwen2_5_coder"])).plan(WAS)
    assert now.config.text_dialects[0] == "hermes_json"
    assert len(now.config.text_dialects) > 1
    assert (now.config.max_turns, now.provider, now.options) == (3, WAS.provider, WAS.options)
    assert now.presets == ("mine", "qwen2_5_coder")


def test_a_setting_goes_over_the_preset() -> None:
    preset = shipped().merged(["qwen2_5_coder"])
    assert Changes(preset=preset, config={"text_dialects": []}).plan(WAS).config.text_dialects == ()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (Changes(config={"max_turn": 3}), "did you mean 'max_turns'?"),
        (Changes(provider={"id_stile": "keep"}), "did you mean 'id_style'?"),
        (Changes(options={"messages": []}), "'messages' is set by the run itself"),
        (Changes(model=""), "expected the name of a model"),
    ],
)
def test_what_makes_no_plan_is_refused(changes: Changes, why: str) -> None:
    assert why in complaint(ConfigError, lambda: changes.plan(WAS))
