"""Plans out of environment, file and command line; what is wrong is said where it was said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.samples import ECHO, complaint, worked
from toolreel._internal import EvalPlanError
from toolreel.evals import load_eval_plan
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Tree, parse
from toolreel_core._loop import start
from toolreel_core._protocol import SendRequest
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import Cell, EvalPlan

PLAN = """
[eval]
models = ["*glm-4.7:*", "mine"]
trials = 3
strategies = "raw, careful"

[sampling]
temperature = 0.5

[strategy.careful]
extends = "production"
config = { max_turns = 4 }

[prices."mine"]
prompt = 1
completion = 2

[[gate]]
metric = "lower_bound"
at_least = 0.8

[catalogue.model.mine]
tags = ["glm-4.7-like"]
"""


def made(path: Path | None = None, given: Tree | None = None, **environ: str) -> EvalPlan:
    variables = {f"OPENROUTER_{name}": value for name, value in environ.items()}
    return load_eval_plan(path, given or {}, environ=variables)


def test_a_file_brings_models_strategies_and_gates_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    plan = made(path)
    assert plan.models == ("z-ai/glm-4.7:nitro", "mine")
    assert [strategy.name for strategy in plan.strategies] == ["raw", "careful"]
    assert parse(plan.options.gates) == [{"metric": "lower_bound", "at_least": 0.8}]
    assert [scenario.name for scenario in plan.scenarios][-1] == "chat_only"
    cell = next(plan.samples("mine")).cell
    assert plan.configuration(cell).text


@pytest.mark.parametrize(
    ("strategy", "further"),
    [
        ("raw", {}),
        ("baseline", {"parallel_tool_calls": False}),
        ("production", {"parallel_tool_calls": False}),
    ],
)
def test_raw_sends_nothing_that_was_not_asked_for(strategy: str, further: dict[str, object]) -> None:
    model = "deepseek/deepseek-v3.2:nitro"
    plan = made(given={"eval": {"models": "all", "strategies": "all"}, "sampling": {"temperature": 0}})
    configuration = plan.configuration(Cell(model, "default", strategy, "happy_path"))
    (asked,) = start(configuration.plan(model, [UserMessage("hi")], ToolSurface((ECHO,)))).effects
    assert isinstance(asked, SendRequest)
    assert json.loads(asked.request.body) == {
        "model": model,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [ECHO.tree()],
        "temperature": 0,
        **further,
    }


@pytest.mark.parametrize(("text", "said"), worked("a slip in a plan", "evaluations"))
def test_a_slip_in_a_file_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    assert complaint(EvalPlanError, lambda: made(path)).startswith(f"{path}: {said}")


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("TRIALS", "0", "expected a whole number of at least 1, got 0"),
        ("MODEL_FILTER", "opnai", "there is no model 'opnai'"),
    ],
)
def test_a_slip_in_the_environment_is_told_with_its_variable(variable: str, value: str, said: str) -> None:
    environ = {f"OPENROUTER_{variable}": value}
    told = complaint(EvalPlanError, lambda: load_eval_plan(None, {}, environ=environ))
    assert told.startswith(f"OPENROUTER_{variable}: {said}")
