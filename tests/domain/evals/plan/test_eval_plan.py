"""Plans: which runs there are, in which order, under which names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evals_values import CATALOGUE, CHAT, PARALLEL, READ, plan_of, scenario
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import parse
from toolreel_core._plan import Presets
from toolreel_core._settings import LoopConfig
from toolreel_core.evals import CONTROL_RUN, TOOL_RUN, Cell, EvalPlan, Options, estimate_cost

HERE = {"endpoint": {"base_url": "http://127.0.0.1:1", "provider": "router"}}
ALL = {"models": "all", "profiles": "all", "strategies": "raw,production", "trials": 2}


def test_runs_go_task_by_task_trial_by_trial_scenario_by_scenario() -> None:
    plan = plan_of(READ, CHAT, eval={**ALL, "models": "a/one,b"})
    samples = [*plan.samples()]
    assert len(samples) == plan.count == 8 * 2 * 2
    tasks = [*dict.fromkeys(sample.cell.task for sample in samples)]
    first = "a/one:fast"
    assert [(task.model, task.strategy, task.profile) for task in tasks[:3]] == [
        (first, "raw", "default"),
        (first, "raw", "one_recommended"),
        (first, "raw", "hot"),
    ]
    assert [(sample.trial, sample.cell.scenario, sample.version) for sample in samples[:4]] == [
        (1, "read", 3),
        (1, "chat_only", 1),
        (2, "read", 3),
        (2, "chat_only", 1),
    ]
    assert tasks[-1] == Cell("b/three", "default", "production", "")
    assert len({sample.key for sample in samples}) == len(samples)


def test_the_runs_of_one_model_can_be_asked_for() -> None:
    plan = plan_of(eval=ALL)
    assert [*plan.samples("b/three")] == [each for each in plan.samples() if each.cell.model == "b/three"]


def test_what_the_evaluation_asks_for_holds_under_every_strategy() -> None:
    plan = plan_of(
        PARALLEL,
        eval={
            "models": "b",
            "strategies": "all",
            "tool_use_mode": "relaxed",
            "fallback_retries": 1,
            "fix_empty_final": False,
            "tool_failure_policy": "tolerated",
            "tool_allowlist": "echo",
            "seeds": True,
        },
        loop={"max_turns": 3},
        sampling={"temperature": 0},
        request_overrides={"route": "x"},
    )
    for sample in plan.samples():
        found = plan.configuration(sample.cell)
        assert found.config.max_turns == 3
        assert (found.config.fix_empty_final, found.config.fallback_without_tools) == (False, True)
        assert (found.config.tool_failure_policy, found.config.tool_use_mode) == ("tolerated", "relaxed")
        assert parse(found.options) == {"parallel_tool_calls": True, "temperature": 0}
        assert parse(found.overrides) == {"route": "x"}
        assert (found.allowed_tools, found.seeded) == (("echo",), True)


def test_without_tools_only_the_control_is_left() -> None:
    plan = plan_of(READ, CHAT, eval={"models": "b", "tool_use_mode": "disabled"})
    assert [each.name for each in plan.scenarios] == ["chat_only"]
    said = complaint(ConfigError, lambda: plan_of(READ, eval={"models": "b", "tool_use_mode": "disabled"}))
    assert said.startswith("eval.scenarios: with tool_use_mode disabled only chat_only can be run")


def test_auto_is_a_value_of_the_profile_axis_and_never_a_hidden_swap() -> None:
    assert plan_of(eval={}).pairs == (("a/one:fast", "default"), ("b/three", "default"))
    assert plan_of(eval={"profiles": "auto"}).pairs == (
        ("a/one:fast", "one_recommended"),
        ("b/three", "default"),
    )


def label(cell: Cell, **axes: object) -> str:
    return plan_of(eval={"models": "a/one", **axes}).label(cell)


def test_a_label_names_what_is_not_the_same_for_all_runs() -> None:
    cell = Cell("a/one:fast", "default", "production", "read")
    assert label(cell) == "a/one:fast"
    assert label(cell, profiles="default,hot") == "a/one:fast:default"
    assert label(cell, strategies="all") == "a/one:fast:production"
    hot = Cell("a/one:fast", "hot", "raw", "read")
    assert label(hot, profiles="hot", strategies="all") == "a/one:fast:hot:raw"
    any_model = {"models": "b", "profiles": "default,hot", "enforce_applicability": False}
    plan = plan_of(eval=any_model)
    assert plan.label(Cell("b/three", "default", "production", "read")) == "b/three:default"


def test_a_plan_is_told_and_made_again() -> None:
    own = {"preset": {"own": {"config": {"max_tries": 1}}}}
    strategies = {"mine": {"extends": "raw", "config": {"max_turns": 3}, "presets": ["own"]}}
    options = Options.of(
        {"eval": {**ALL, "strategies": "mine"}, "strategy": strategies, "catalogue": own, **HERE}
    )
    plan = EvalPlan(options, CATALOGUE.extended(Presets.of(own)), (READ, CHAT))
    again = EvalPlan.of(plan.tree(), CATALOGUE, [CHAT, READ, PARALLEL])
    assert again == plan
    assert again.digest == plan.digest
    assert [*again.samples()] == [*plan.samples()]
    one = next(plan.samples())
    assert plan.configuration(one.cell).config == LoopConfig(
        max_turns=3, argument_repairs="strict", text_dialects=(), tool_use_mode="enforced", max_tries=1
    )


def test_a_plan_whose_scenario_has_gone_cannot_be_made_again() -> None:
    tree = plan_of(READ).tree()
    said = complaint(ConfigError, lambda: EvalPlan.of(tree, CATALOGUE, [CHAT, scenario("reed")]))
    assert said == "there is no scenario 'read'; did you mean 'reed'?"
    odd = {**tree, "scenarios": []}
    assert EvalPlan.of(odd, CATALOGUE, []).scenarios == ()


def test_a_stored_plan_has_the_last_of_the_scenarios_that_have_its_name() -> None:
    tree = plan_of(READ).tree()
    assert tree["scenarios"] == {"read": 3}
    builtin, stored = scenario("read", 3), scenario("read", 4)
    assert EvalPlan.of(tree, CATALOGUE, [builtin, stored]).scenarios == (stored,)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"eval": {"models": "x"}}, "eval.models: there is no model 'x'"),
        (
            {"eval": {"profiles": "ht"}},
            "eval.profiles: there is no sampling profile 'ht'; did you mean 'hot'?",
        ),
        ({"eval": {"strategies": "rw"}}, "eval.strategies: there is no strategy 'rw'; did you mean 'raw'?"),
        (
            {"endpoint": {"provider": "rotuer"}},
            "endpoint.provider: there is no provider 'rotuer'; did you mean",
        ),
    ],
)
def test_a_word_that_means_nothing_is_told_with_its_place(tables: dict[str, Any], said: str) -> None:
    assert complaint(ConfigError, lambda: plan_of(**tables)).startswith(said)


def test_a_cell_that_is_not_in_the_plan_has_no_configuration() -> None:
    cell = Cell("b/three", "default", "own", "read")
    said = complaint(ConfigError, lambda: plan_of().configuration(cell))
    assert said == "there is no strategy 'own'; there are: production"


ONE_TASK = TOOL_RUN.prompt_tokens + CONTROL_RUN.prompt_tokens


def test_a_plan_comes_to_what_its_runs_are_taken_to_be() -> None:
    estimate = estimate_cost(
        plan_of(READ, CHAT, eval={"trials": 3, "strategies": "raw,production", "jobs": 2})
    )
    assert estimate.runs == 24
    assert estimate.requests == 12 * (TOOL_RUN.requests + CONTROL_RUN.requests)
    assert estimate.prompt_tokens == 12 * ONE_TASK
    assert estimate.minutes == pytest.approx(12 * (TOOL_RUN.seconds + CONTROL_RUN.seconds) / 60 / 2)


def test_an_assumption_is_told_in_words() -> None:
    assert str(TOOL_RUN) == "4 requests, 4,000 tokens in and 300 out, 8.2 s"
