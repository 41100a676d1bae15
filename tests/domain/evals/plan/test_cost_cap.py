"""A cap on the cost, where the cost is known and where it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.evals_values import CATALOGUE, plan_of
from tests.samples import complaint
from toolreel_core._internal import PlaceError
from toolreel_core._plan import Presets
from toolreel_core.evals import check_cost_cap

CAPPED: dict[str, Any] = {"max_cost": 2}
PRICE = {"prompt": 1, "completion": 2}
REPORTING = Presets.of(
    {"preset": {"counting": {"defaults_for": ["router"], "provider": {"reports_cost": "yes"}}}}
)


def test_a_cap_without_any_price_is_refused_and_names_the_models() -> None:
    plan = plan_of(eval={"models": "a/one,b"}, budget=CAPPED, prices={"b/three": PRICE})
    said = complaint(PlaceError, lambda: check_cost_cap(plan))
    assert said == (
        "budget.max_cost: nobody knows what a/one:fast will cost; "
        'write [prices."MODEL"] with prompt and completion, name a provider that reports costs, such as '
        "openrouter, or leave max_cost out and limit max_tokens"
    )


def test_of_many_models_only_the_first_are_named() -> None:
    plan = plan_of(eval={"add_models": [f"x/{number}" for number in range(7)]}, budget=CAPPED)
    said = complaint(PlaceError, lambda: check_cost_cap(plan))
    assert "what x/0, x/1, x/2, x/3, x/4 and 2 others will cost" in said


@pytest.mark.parametrize(
    ("models", "budget", "prices"),
    [
        ("a/one:fast", {}, {}),
        ("a/one:fast", {"max_tokens": 5}, {}),
        ("a/one:fast", CAPPED, {"a/one:fast": PRICE}),
        ("scripted:good", CAPPED, {}),
    ],
)
def test_a_cap_is_accepted_where_the_cost_will_be_known(
    models: str, budget: dict[str, Any], prices: dict[str, Any]
) -> None:
    check_cost_cap(plan_of(eval={"add_models": [models]}, budget=budget, prices=prices))


def test_a_provider_that_reports_costs_needs_no_prices() -> None:
    plan = plan_of(budget=CAPPED)
    complaint(PlaceError, lambda: check_cost_cap(plan))
    check_cost_cap(replace(plan, presets=CATALOGUE.extended(REPORTING)))
