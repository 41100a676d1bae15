"""The runs of a plan: their keys and seeds; every run is in exactly one shard, and stays there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals_values import CHAT, READ, plan_of
from toolreel_core._errors import ConfigError
from toolreel_core.evals import Cell, Sample, Shard

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


def test_cells_of_one_trial_are_spread_over_the_shards() -> None:
    cells = [Cell("m", "default", "raw", f"scenario_{n}") for n in range(400)]
    sizes = Counter(n for cell in cells for n in (1, 2, 3, 4) if Shard(n, 4).trials(cell, 1))
    assert all(70 <= sizes[n] <= 130 for n in (1, 2, 3, 4))


def test_the_shards_of_a_plan_are_the_plan() -> None:
    plan = plan_of(READ, CHAT, eval={"models": "all", "strategies": "raw,production", "trials": 5})
    shards = [replace(plan, shard=Shard(number, 3)) for number in (1, 2, 3)]
    parts = [[*shard.samples()] for shard in shards]
    assert [len(part) for part in parts] == [shard.count for shard in shards]
    assert {shard.whole_count for shard in shards} == {plan.count}
    assert sum(map(len, parts)) == plan.count
    assert {sample.key for part in parts for sample in part} == {sample.key for sample in plan.samples()}
    assert {shard.digest for shard in shards} == {plan.digest}
    order = [sample.key for sample in plan.samples()]
    for part in parts:
        places = [order.index(sample.key) for sample in part]
        assert places == sorted(places)


def test_a_shard_may_spend_its_share() -> None:
    plan = plan_of(budget={"max_cost": 9.0, "max_minutes": 5, "run": {"max_cost": 0.5}})
    budget = replace(plan, shard=Shard(1, 3)).budget
    assert (budget.max_cost, budget.max_tokens, budget.max_minutes) == (3.0, None, 5)
    assert plan.budget.max_cost == 9.0


@pytest.mark.parametrize(
    "text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3 ", "a/b", "\uff11/\uff13", "1/3/5"]
)
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected a shard such as 1/3"):
        Shard.of(text)


def test_a_shard_is_written_as_it_is_read() -> None:
    assert str(Shard.of("16/16")) == "16/16"


CELL = Cell("m", "default", "raw", "happy_path")
SAMPLE = Sample(CELL, 1, 1, "digest")


OTHER_CELLS = [
    replace(SAMPLE, cell=replace(CELL, **{axis: "other"}))
    for axis in ("model", "profile", "strategy", "scenario", "endpoint")
]
OTHERS = [replace(SAMPLE, trial=2), replace(SAMPLE, version=2), replace(SAMPLE, configuration="x")]


def test_all_axes_trial_version_and_configuration_decide_about_the_key() -> None:
    assert len({each.key for each in (SAMPLE, *OTHER_CELLS, *OTHERS)}) == 9
    assert replace(SAMPLE).key == SAMPLE.key


def test_scenario_trial_and_version_alone_decide_about_what_is_drawn() -> None:
    others = [*OTHER_CELLS, *OTHERS]
    same = [replace(SAMPLE, cell=each.cell) for each in OTHER_CELLS if each.cell.scenario == CELL.scenario]
    assert {each.seed for each in (*same, OTHERS[2])} == {SAMPLE.seed}
    assert len({each.seed for each in others}) == 4


def test_an_endpoint_without_a_name_leaves_keys_as_they_always_were() -> None:
    assert SAMPLE.key == "064309f765271fb50770ed5f13e994bafe235924a1ec025f5388f9271391b293"
