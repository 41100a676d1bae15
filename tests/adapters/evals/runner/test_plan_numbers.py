"""Plans over the shipped catalogue: the figures of the reference harness, and what raw really sends."""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

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


def test_the_snapshot_of_the_reference_is_2175_runs_of_29_pairs() -> None:
    axes = {"models": "all", "profiles": PROFILES, "strategies": "all", "trials": 5}
    plan = EvalPlan(Options.of({"eval": axes}), shipped(), FIVE)
    assert (len(plan.models), len(plan.pairs)) == (17, 29)
    runs = Counter(sample.cell.strategy for sample in plan.samples())
    assert runs == {"raw": 725, "baseline": 725, "production": 725}
    assert plan.count == 2_175


def test_strategies_differ_in_what_they_know_and_models_that_need_the_same_stand_together() -> None:
    options = Options.of({"eval": {"models": "stable,z_ai", "strategies": "all"}})
    told = [
        (found.before, found.after, len(found.models), [*found.changes])
        for found in strategy_differences(EvalPlan(options, shipped(), FIVE))
    ]
    assert [each[:3] for each in told] == [
        ("raw", "baseline", 8),
        ("baseline", "production", 1),
        ("baseline", "production", 7),
    ]
    assert "request.parallel_tool_calls: (not sent) -> false" in told[0][3]
    asking = [
        "config.nudge_no_tool_calls: 0 -> 1",
        "config.accept_suspected_calls: true -> false",
        "config.text_dialects+marked",
    ]
    assert told[2][3] == asking


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
