from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.samples import PLAN
from toolreel_core._loop import exhausted_limit, spent_budget
from toolreel_core._protocol import BudgetSpent, CostUnknown, MaxTurns, State, Tally
from toolreel_core._settings import LoopConfig


def run(tally: Tally | None = None, **settings: Any) -> State:  # noqa: ANN401 - of any setting
    plan = replace(PLAN, config=LoopConfig.of(settings))
    return replace(State.idle(plan), tally=tally or Tally())


def test_the_first_budget_that_is_used_up_is_told() -> None:
    tally = Tally(turns=12, prompt_tokens=9, cost=1.0, at_ms=9)
    assert exhausted_limit(run(tally, max_total_tokens=9, max_cost=1, max_wall_ms=9)) == MaxTurns(12)
    rest = replace(tally, turns=11)
    assert exhausted_limit(run(rest, max_total_tokens=9, max_cost=1)) == BudgetSpent("tokens", 9, 9)
    assert exhausted_limit(run(rest, max_cost=1, max_wall_ms=9)) == BudgetSpent("cost", 1.0, 1.0)
    assert exhausted_limit(run(rest)) is None


@pytest.mark.parametrize("limit", ["max_cost", "max_conversation_cost"])
def test_a_cost_that_nobody_knows_ends_a_run_whose_cost_is_limited(limit: str) -> None:
    unknown = Tally(turns=2, cost=0.1, priced=1, unpriced=1)
    limited = run(unknown, **{limit: 0.5})
    assert spent_budget(limited) == exhausted_limit(limited) == CostUnknown(1, 0.5)
    # Another exchange could not count it either.
    assert exhausted_limit(replace(limited, exchange_began=unknown)) == CostUnknown(1, 0.5)
    assert exhausted_limit(run(unknown, unknown_cost="allow", **{limit: 0.5})) is None
    assert exhausted_limit(run(replace(unknown, unpriced=0), **{limit: 0.5})) is None
    assert exhausted_limit(run(unknown)) is None
