from __future__ import annotations

from toolreel_core._jsontext.canonical import parse
from toolreel_core._settings.config import LoopConfig
from toolreel_core.evals._plan.options import Options
from toolreel_core.evals._plan.run_settings import asked_of_every_run


def test_what_nobody_says_is_an_enforced_run_whose_failures_are_fatal() -> None:
    asked = asked_of_every_run(Options.of({}))
    assert LoopConfig.of(asked.changes()["config"]) == LoopConfig(tool_use_mode="enforced")
    assert parse(asked.request_overrides) == {}


def test_all_options_of_the_loop_are_asked_for_and_its_own_settings_go_before() -> None:
    axes = {"tool_use_mode": "relaxed", "tool_failure_policy": "tolerated", "fallback_retries": 2}
    tree = {"eval": axes, "loop": {"fix_empty_final": False}, "request_overrides": {"route": "x"}}
    asked = asked_of_every_run(Options.of(tree))
    assert LoopConfig.of(asked.changes()["config"]) == LoopConfig(
        tool_failure_policy="tolerated", fallback_without_tools=True, fix_empty_final=False
    )
    assert parse(asked.request_overrides) == {"route": "x"}


def test_the_caps_of_one_run_are_limits_of_its_loop() -> None:
    run = {"max_cost": 0.5, "max_tokens": 20_000, "max_minutes": 1.5}
    config = LoopConfig.of(asked_of_every_run(Options.of({"budget": {"run": run}})).changes()["config"])
    assert (config.max_cost, config.max_total_tokens, config.max_wall_ms) == (0.5, 20_000, 90_000)
