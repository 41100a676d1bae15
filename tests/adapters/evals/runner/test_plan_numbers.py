"""Plans over the shipped catalogue: the figures of the reference harness, and what raw really sends."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from typing import Any, Final

import pytest

from tests.evals_values import CHAT, scenario
from tests.samples import ECHO
from tests.servers.chat_server import replying, serving
from toolreel._driver import Ports, run
from toolreel.evals import strategy_differences
from toolreel.http import HttpEndpoint
from toolreel.presets import shipped
from toolreel.testing import ScriptedTools
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Json
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import Cell, EvalPlan, Options

PROFILES: Final = "default,recommended,conversation,creative,tool_calling"
EIGHT: Final = (*(scenario(name) for name in "abcdefg"), CHAT)
FIVE: Final = (*EIGHT[:4], CHAT)
FULL: Final[dict[str, Any]] = {"eval": {"preset": "full"}}


def test_the_snapshot_of_the_reference_is_2175_runs_of_29_pairs() -> None:
    axes = {"models": "all", "profiles": PROFILES, "strategies": "all", "trials": 5}
    plan = EvalPlan(Options.of({"eval": axes}), shipped(), FIVE)
    assert (len(plan.models), len(plan.pairs)) == (17, 29)
    runs = Counter(sample.cell.strategy for sample in plan.samples())
    assert runs == {"raw": 725, "baseline": 725, "production": 725}
    assert plan.count == 2_175


def test_memory_does_not_grow_with_the_runs() -> None:
    plan = EvalPlan(Options.of({"eval": {"preset": "full", "models": "openai"}}), shipped(), EIGHT)
    samples = plan.samples()
    next(samples)
    tracemalloc.start()
    try:
        assert sum(1 for _ in samples) == plan.count - 1
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_each_model_is_run_with_the_profiles_that_are_for_it_letter_for_letter() -> None:
    plan = EvalPlan(Options.of(FULL), shipped(), EIGHT)
    profiles = {model: [each.name for each in plan.profiles[model]] for model in plan.models}
    assert profiles["z-ai/glm-4.7:nitro"] == ["default", "glm_4_7_recommended"]
    assert profiles["z-ai/glm-4.7-flash:nitro"] == ["default", "glm_4_7_flash_tool_calling"]
    assert profiles["deepseek/deepseek-chat-v3-0324:nitro"] == ["default"]
    assert len(profiles["deepseek/deepseek-v3.2:nitro"]) == 4
    other = {"models": "", "add_models": ["z-ai/glm-4.7", "Z-AI/glm-4.7:nitro"], "profiles": "recommended"}
    plan = EvalPlan(Options.of({"eval": other}), shipped(), EIGHT)
    assert {model: len(plan.profiles[model]) for model in other["add_models"]} == dict.fromkeys(
        other["add_models"], 1
    )
    assert ("z-ai/glm-4.7", "default") in plan.pairs


def test_strategies_differ_in_what_they_know_and_models_that_need_the_same_stand_together() -> None:
    options = Options.of({"eval": {"models": "stable,z_ai", "strategies": "all"}})
    told = [
        (found.before, found.after, len(found.models), [str(change) for change in found.changes])
        for found in strategy_differences(EvalPlan(options, shipped(), FIVE))
    ]
    assert [each[:3] for each in told] == [
        ("raw", "baseline", 8),
        ("baseline", "production", 1),
        ("baseline", "production", 7),
    ]
    assert "request.parallel_tool_calls" in told[0][3]
    asking = ["config.nudge_no_tool_calls", "config.accept_suspected_calls", "config.text_dialects+marked"]
    assert told[2][3] == asking


def test_a_local_model_that_writes_calls_as_text_is_understood_in_production_alone() -> None:
    name = "qwen2.5-coder-1.5b"
    options = Options.of(
        {
            "eval": {"add_models": [name], "strategies": "all"},
            "endpoint": {"base_url": "http://127.0.0.1:8080", "provider": "llama_cpp"},
        }
    )
    plan = EvalPlan(options, shipped(), FIVE)
    assert plan.models == (name,)
    found = {sample.cell.strategy: plan.configuration(sample.cell) for sample in plan.samples()}
    assert [bool(each.config.text_dialects) for each in found.values()] == [False, False, True]
    assert "json_fenced" in found["production"].config.text_dialects
    assert "qwen2_5_coder" in found["production"].presets
    assert [each.config.constrained_calls for each in found.values()] == ["off", "off", "response_format"]
    assert "weak_local_models" in found["production"].presets


@pytest.mark.parametrize(
    ("strategy", "further"),
    [
        ("raw", {}),
        ("baseline", {"parallel_tool_calls": False}),
        ("production", {"parallel_tool_calls": False}),
    ],
)
def test_raw_sends_nothing_that_was_not_asked_for(strategy: str, further: dict[str, object]) -> None:
    options = Options.of({"eval": {"models": "all", "strategies": "all"}, "sampling": {"temperature": 0}})
    plan = EvalPlan(options, shipped(), FIVE)
    cell = Cell("deepseek/deepseek-v3.2:nitro", "default", strategy, "a")
    configuration = plan.configuration(cell)
    made = configuration.plan(cell.model, [UserMessage("hi")], ToolSurface((ECHO,)))
    reply: Json = {
        "choices": [{"message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]
    }
    answers = 1 + configuration.config.nudge_no_tool_calls
    with serving(*[replying(reply)] * answers) as server, HttpEndpoint(server.url) as endpoint:
        run(made, Ports(endpoint, ScriptedTools({})))
    sent = json.loads(server.seen[0].body)
    tools = [ECHO.tree()]
    assert sent == {
        "model": cell.model,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": tools,
        "temperature": 0,
        **further,
    }
