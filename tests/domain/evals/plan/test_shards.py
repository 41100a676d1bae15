"""Shards: every run is in exactly one, and stays there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals_values import CHAT, READ, plan_of
from toolreel_core._errors import ConfigError
from toolreel_core.evals import Cell, Shard

CELLS = st.builds(Cell, *[st.text(max_size=5)] * 5)


@given(CELLS, st.integers(1, 12), st.integers(0, 40))
def test_every_trial_of_a_cell_is_in_one_shard_and_shards_differ_by_one_trial(
    cell: Cell, shards: int, trials: int
) -> None:
    parts = [[*Shard(number, shards).trials(cell, trials)] for number in range(1, shards + 1)]
    assert sorted(trial for part in parts for trial in part) == [*range(1, trials + 1)]
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@given(CELLS, st.integers(1, 12), st.data())
def test_more_trials_leave_a_run_in_its_shard(cell: Cell, shards: int, data: st.DataObject) -> None:
    shard = Shard(data.draw(st.integers(1, shards)), shards)
    few = data.draw(st.integers(0, 30))
    more = [*shard.trials(cell, few + data.draw(st.integers(0, 30)))]
    assert [trial for trial in more if trial <= few] == [*shard.trials(cell, few)]


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
