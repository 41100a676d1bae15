"""Plans: which runs there are, in which order, under which names and seeds, and in which shards."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals_values import CATALOGUE, CHAT, PARALLEL, READ, plan_of, scenario, worked
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import parse
from toolreel_core._plan import Presets
from toolreel_core._settings import LoopConfig
from toolreel_core.evals import CONTROL_RUN, TOOL_RUN, Cell, EvalPlan, Options, Sample, Shard, estimate_cost

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
    assert [*plan.samples("b/three")] == [each for each in samples if each.cell.model == "b/three"]


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


@pytest.mark.parametrize(("axes", "cell", "label"), worked("label"))
def test_a_label_names_what_is_not_the_same_for_all_runs(
    axes: dict[str, object], cell: list[str], label: str
) -> None:
    assert plan_of(eval=axes).label(Cell(*cell)) == label


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


def test_what_has_gone_or_is_not_in_the_plan_is_told() -> None:
    tree = plan_of(READ).tree()
    said = complaint(ConfigError, lambda: EvalPlan.of(tree, CATALOGUE, [CHAT, scenario("reed")]))
    assert said == "there is no scenario 'read'; did you mean 'reed'?"
    assert EvalPlan.of({**tree, "scenarios": []}, CATALOGUE, []).scenarios == ()
    cell = Cell("b/three", "default", "own", "read")
    said = complaint(ConfigError, lambda: plan_of().configuration(cell))
    assert said == "there is no strategy 'own'; there are: production"


def test_a_plan_comes_to_what_its_runs_are_taken_to_be() -> None:
    estimate = estimate_cost(
        plan_of(READ, CHAT, eval={"trials": 3, "strategies": "raw,production", "jobs": 2})
    )
    assert estimate.runs == 24
    assert estimate.requests == 12 * (TOOL_RUN.requests + CONTROL_RUN.requests)
    assert estimate.prompt_tokens == 12 * (TOOL_RUN.prompt_tokens + CONTROL_RUN.prompt_tokens)
    assert estimate.minutes == pytest.approx(12 * (TOOL_RUN.seconds + CONTROL_RUN.seconds) / 60 / 2)
    assert str(TOOL_RUN) == "4 requests, 4,000 tokens in and 300 out, 8.2 s"


def test_a_shard_is_estimated_at_its_share_of_the_runs() -> None:
    plan = plan_of(
        READ, CHAT, eval={"models": "all", "trials": 5}, prices={"b/three": {"prompt": 10, "completion": 1}}
    )
    whole = estimate_cost(plan)
    parts = [estimate_cost(replace(plan, shard=Shard(number, 3))) for number in (1, 2, 3)]
    assert whole.cost
    for name in ("runs", "requests", "prompt_tokens", "completion_tokens", "minutes", "cost"):
        assert sum(getattr(part, name) for part in parts) == pytest.approx(getattr(whole, name))
        assert max(getattr(part, name) for part in parts) < getattr(whole, name)


CELLS = st.builds(Cell, *[st.text(max_size=5)] * 5)


@given(CELLS, st.integers(1, 8), st.integers(0, 12), st.integers(0, 12))
def test_every_trial_of_a_cell_is_in_one_shard_and_stays_there_when_trials_are_added(
    cell: Cell, shards: int, few: int, further: int
) -> None:
    parts = [[*Shard(number, shards).trials(cell, few + further)] for number in range(1, shards + 1)]
    assert sorted(trial for part in parts for trial in part) == [*range(1, few + further + 1)]
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for number, part in enumerate(parts, 1):
        assert [trial for trial in part if trial <= few] == [*Shard(number, shards).trials(cell, few)]


def test_the_shards_of_a_plan_are_the_plan() -> None:
    plan = plan_of(READ, CHAT, eval={"models": "all", "strategies": "raw,production", "trials": 5})
    shards = [replace(plan, shard=Shard(number, 3)) for number in (1, 2, 3)]
    parts = [[*shard.samples()] for shard in shards]
    assert [len(part) for part in parts] == [shard.count for shard in shards]
    assert {shard.whole_count for shard in shards} == {plan.count}
    assert sum(map(len, parts)) == plan.count
    assert {sample.key for part in parts for sample in part} == {sample.key for sample in plan.samples()}
    assert {shard.digest for shard in shards} == {plan.digest}
    assert [str(Shard.of(f"{number}/3")) for number in (1, 2, 3)] == [str(each.shard) for each in shards]
    order = [sample.key for sample in plan.samples()]
    for part in parts:
        places = [order.index(sample.key) for sample in part]
        assert places == sorted(places)


def test_a_shard_may_spend_its_share() -> None:
    plan = plan_of(budget={"max_cost": 9.0, "max_minutes": 5, "run": {"max_cost": 0.5}})
    budget = replace(plan, shard=Shard(1, 3)).budget
    assert (budget.max_cost, budget.max_tokens, budget.max_minutes) == (3.0, None, 5)
    assert plan.budget.max_cost == 9.0


CELL = Cell("m", "default", "raw", "happy_path")
SAMPLE = Sample(CELL, 1, 1, "digest")


OTHER_CELLS = [
    replace(SAMPLE, cell=replace(CELL, **{axis: "other"}))
    for axis in ("model", "profile", "strategy", "scenario", "endpoint")
]
OTHERS = [replace(SAMPLE, trial=2), replace(SAMPLE, version=2), replace(SAMPLE, configuration="x")]


def test_all_axes_trial_version_and_configuration_decide_about_the_key() -> None:
    assert len({each.key for each in (SAMPLE, *OTHER_CELLS, *OTHERS)}) == 9
    stored = "064309f765271fb50770ed5f13e994bafe235924a1ec025f5388f9271391b293"
    assert replace(SAMPLE).key == SAMPLE.key == stored, "as always, where the endpoint has no name"


def test_scenario_trial_and_version_alone_decide_about_what_is_drawn() -> None:
    others = [*OTHER_CELLS, *OTHERS]
    same = [replace(SAMPLE, cell=each.cell) for each in OTHER_CELLS if each.cell.scenario == CELL.scenario]
    assert {each.seed for each in (*same, OTHERS[2])} == {SAMPLE.seed}
    assert len({each.seed for each in others}) == 4
