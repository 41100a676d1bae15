"""Endpoints with names: their tables, and what they change in a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.evals_values import CATALOGUE, CHAT, READ
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Tree, parse
from toolreel_core.evals import Cell, EvalPlan, Options, merge_layers

TABLES: dict[str, Any] = {
    "fast": {
        "base_url": "https://fast.test",
        "provider": "router",
        "models": {"b/three": "three-fp8"},
        "request_overrides": {"provider": {"only": ["x"]}},
    },
    "slow.2": {"base_url": "http://127.0.0.1:1", "timeout": 600},
}


def at(tables: dict[str, Any] = TABLES, **more: Any) -> EvalPlan:  # noqa: ANN401 - tables of a plan file
    eval_table = {"models": "b", "trials": 2, **more.pop("eval", {})}
    options = Options.of({"eval": eval_table, "endpoints": tables, **more})
    return EvalPlan(options, CATALOGUE, (READ, CHAT))


def test_each_has_its_own_server_and_its_own_presets() -> None:
    plan = at()
    assert [*plan.endpoints] == ["fast", "slow.2"]
    assert plan.endpoint.base_url == plan.endpoint_at("fast").base_url == "https://fast.test"
    assert plan.endpoint_at("slow.2").timeout == 600
    fast, slow = (plan.configuration(replace(task, scenario="read")) for task in plan.tasks())
    assert (fast.model, slow.model) == ("three-fp8", "")
    assert (fast.provider.name, slow.provider.name) == ("router", "")
    assert (parse(fast.overrides), parse(slow.overrides)) == ({"provider": {"only": ["x"]}}, {})
    assert fast.digest != slow.digest
    assert [plan.label(replace(task, scenario="read")) for task in plan.tasks()] == [
        "b/three:fast",
        "b/three:slow.2",
    ]


def test_overrides_of_an_endpoint_go_over_those_of_the_plan() -> None:
    plan = at(request_overrides={"route": "r", "provider": {"only": ["y"], "sort": "price"}})
    found = parse(plan.configuration(replace(next(plan.tasks()), scenario="read")).overrides)
    assert found == {"route": "r", "provider": {"only": ["x"], "sort": "price"}}


def test_a_file_with_several_takes_the_place_of_the_one_of_the_environment() -> None:
    environment: Tree = {"endpoint": {"base_url": "https://proxy", "provider": "openrouter"}}
    options = Options.of(merge_layers([environment, {"endpoints": TABLES}]))
    assert [*options.endpoints] == ["fast", "slow.2"]


def test_what_is_about_no_endpoint_of_the_plan_is_an_error() -> None:
    plan = at()
    assert "endpoint" not in plan.options.tree()
    said = complaint(ConfigError, lambda: plan.endpoint_at("fats"))
    assert said == "there is no endpoint 'fats'; did you mean 'fast'?"
    cell = Cell("b/three", "default", "production", "read")
    assert complaint(ConfigError, lambda: plan.configuration(cell)).startswith("there is no endpoint ''")
