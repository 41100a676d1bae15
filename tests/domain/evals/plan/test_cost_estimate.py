from __future__ import annotations

import pytest

from tests.evals_values import CHAT, READ, plan_of
from toolreel_core.evals._plan.cost_estimate import CONTROL_RUN, TOOL_RUN, AssumedRun, estimate_cost

PRICES = {name: {"prompt": 2, "completion": 10} for name in ("a/one:fast", "b/three")}
ONE_TASK = TOOL_RUN.prompt_tokens + CONTROL_RUN.prompt_tokens


def test_a_plan_comes_to_what_its_runs_are_taken_to_be() -> None:
    estimate = estimate_cost(
        plan_of(READ, CHAT, eval={"trials": 3, "strategies": "raw,production", "jobs": 2})
    )
    assert estimate.runs == 24
    assert estimate.requests == 12 * (TOOL_RUN.requests + CONTROL_RUN.requests)
    assert estimate.prompt_tokens == 12 * ONE_TASK
    assert estimate.tokens == estimate.prompt_tokens + estimate.completion_tokens
    assert estimate.minutes == pytest.approx(12 * (TOOL_RUN.seconds + CONTROL_RUN.seconds) / 60 / 2)


def test_a_price_that_nobody_knows_is_unknown_and_not_nothing() -> None:
    estimate = estimate_cost(plan_of(READ, CHAT))
    assert (estimate.cost, estimate.unpriced) == (None, ("a/one:fast", "b/three"))
    half = estimate_cost(plan_of(READ, CHAT, prices={"b/three": PRICES["b/three"]}))
    whole = estimate_cost(plan_of(READ, CHAT, prices=PRICES))
    assert half.cost is not None
    assert half.unpriced == ("a/one:fast",)
    assert whole.cost == pytest.approx(2 * half.cost)
    assert whole.unpriced == ()


def test_an_assumption_is_told_in_words() -> None:
    assert str(AssumedRun(4, 4000, 300, 8.2)) == "4 requests, 4,000 tokens in and 300 out, 8.2 s"
