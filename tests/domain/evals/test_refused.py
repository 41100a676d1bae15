"""What a plan, scenario or record may not say: each mistake is told with its place and a remedy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.domain.evals.plan.test_filters import chosen
from tests.domain.evals.records.test_record import broken
from tests.domain.evals.scenarios.test_scenario_file import changed
from tests.evals_values import CATALOGUE, CHAT, READ
from toolreel.evals import built_in_scenario, select_scenarios
from toolreel_core import evals
from toolreel_core._config_checks import Table
from toolreel_core._errors import CodecError, ConfigError
from toolreel_core._jsontext import canonical

ROWS = Path(__file__).with_name("refused.jsonl").read_text("utf-8").splitlines()


def plan_with(tables: dict[str, Any]) -> object:
    here = {"base_url": "https://fast.test", "provider": "router"}
    given = tables if "endpoints" in tables else {"endpoint": here, **tables}
    return evals.gates_of(evals.EvalPlan(evals.Options.of(given), CATALOGUE, (READ, CHAT)).options)


def answers(tree: object, *, effect: bool = False) -> object:
    return evals.read_answers(Table.of({"answers": tree}, "tool", "t"), "t", effect=effect)


READERS: Mapping[str, Callable[[Any], object]] = {
    "answers": answers,
    "effect": lambda tree: answers(tree, effect=True),
    "arguments": lambda tree: evals.parameters_schema(Table.of(tree, "arguments")),
    "check": lambda tree: evals.checks_of([Table.of(tree, "check")], {"look": "", "pay": ""}, ["a", "b"]),
    "draw": lambda tree: evals.draw_values(tree, "1"),
    "scenario": lambda tree: evals.scenario_of(changed(**tree)),
    "plan": plan_with,
    "gate": evals.parse_gate_option,
    "shard": evals.Shard.of,
    "variables": evals.environment_options,
    "filter": chosen,
    "profiles": lambda words: evals.profiles_by_model(CATALOGUE, words, ["a/two"]),
    "placeholder": lambda row: evals.fill_placeholders(row[0], row[1], "tool", "x"),
    "record": lambda tree: evals.record_of(tree if isinstance(tree, str) else broken(tree), "line 3"),
    "configuration": lambda tree: evals.Configuration.of(canonical(tree)),
    "model": evals.script_kind_of_model,
    "scenarios": select_scenarios,
    "built in": built_in_scenario,
}


@pytest.mark.parametrize("row", [*map(json.loads, ROWS)], ids=lambda row: f"{row['what']} {row['told']}"[:60])
def test_a_mistake_is_told_with_its_place(row: dict[str, Any]) -> None:
    with pytest.raises(CodecError if row["what"] == "record" else ConfigError, match=row["told"]):
        READERS[row["what"]](row["tree"])


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="draw: expected what JSON can hold"):
        evals.scenario_of(changed(draw={"a": [{1}]}))
