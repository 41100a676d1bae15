"""Prices of models, for all endpoints and for one; caps of the cost, which need them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.evals_values import CATALOGUE, CHAT, READ, plan_of
from tests.samples import ECHO, complaint
from toolreel_core._config_checks import PlaceError
from toolreel_core._conversation import UserMessage
from toolreel_core._plan import Presets
from toolreel_core._settings import Price
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import (
    Configuration,
    EvalPlan,
    Options,
    changed_keys_between,
    check_prices_for_cost_cap,
    estimate_cost,
    with_changed_keys,
)

CHEAP: dict[str, Any] = {"prompt": 1, "completion": 2}
DEAR: dict[str, Any] = {"prompt": 10, "completion": 20}


RUN_CAP: dict[str, Any] = {"run": {"max_cost": 0.5}}


def at_two(there: dict[str, Any], **tables: Any) -> EvalPlan:  # noqa: ANN401 - tables of a plan file
    endpoints = {
        "one": {"base_url": "http://127.0.0.1:1"},
        "two": {"base_url": "http://127.0.0.1:2", "prices": there},
    }
    axes = {"add_models": ["a/one:fast"], "trials": 2, **tables.pop("eval", {})}
    tree = {"eval": axes, "endpoints": endpoints, **tables}
    return EvalPlan(Options.of(tree), CATALOGUE, (READ, CHAT))


def configured(plan: EvalPlan) -> list[Configuration]:
    return [plan.configuration(replace(task, scenario="read")) for task in plan.tasks()]


def test_the_price_of_an_endpoint_goes_over_that_of_the_plan() -> None:
    plan = at_two({"a/one:fast": DEAR}, prices={"a/one:fast": CHEAP})
    for options in (plan.options, EvalPlan.of(plan.tree(), CATALOGUE, (READ, CHAT)).options):
        assert options.price("a/one:fast", "one") == options.price("a/one:fast") == Price(1, 2)
        assert options.price("a/one:fast", "two") == Price(10, 20)
        assert options.price("a/two", "two") is None
    free = at_two({"a/one:fast": {"prompt": 0, "completion": 0}}, prices={"a/one:fast": CHEAP})
    assert free.options.price("a/one:fast", "two") == Price(0, 0), "which is not a lack of a price"


def test_the_estimate_counts_each_endpoint_by_its_price() -> None:
    cheap = estimate_cost(at_two({}, prices={"a/one:fast": CHEAP})).cost
    both = estimate_cost(at_two({"a/one:fast": DEAR}, prices={"a/one:fast": CHEAP})).cost
    assert cheap is not None
    assert both is not None
    assert round(both / cheap, 6) == (1 + 10) / 2
    only = estimate_cost(at_two({"a/one:fast": CHEAP}))
    assert only.cost is not None
    assert round(only.cost / cheap, 6) == 1 / 2
    assert only.unpriced == ("a/one:fast at one",)


@pytest.mark.parametrize(
    ("plan", "place", "model"),
    [
        (at_two({"a/one:fast": CHEAP}, budget={"max_cost": 1}), "budget", "a/one:fast at one"),
        (plan_of(eval={"add_models": ["a/one:fast"]}, budget=RUN_CAP), "budget.run", "a/one:fast"),
        (plan_of(budget={"max_cost": 2}, prices={"b/three": CHEAP}), "budget", "a/one:fast"),
    ],
)
def test_a_cap_names_what_lacks_a_price(plan: EvalPlan, place: str, model: str) -> None:
    said = complaint(PlaceError, lambda: check_prices_for_cost_cap(plan))
    assert said.startswith(f"{place}.max_cost: nobody knows what {model} will cost; write")


def test_a_run_whose_cost_is_limited_has_the_price_of_its_endpoint() -> None:
    capped = at_two({"a/one:fast": DEAR}, prices={"a/one:fast": CHEAP}, budget=RUN_CAP)
    found = configured(capped)
    assert [one.price for one in found] == [Price(1, 2), Price(10, 20)]
    assert [Configuration.of(one.text) for one in found] == found
    assert found[0].digest != found[1].digest
    plan = found[1].plan("m", [UserMessage("hi")], ToolSurface((ECHO,)))
    assert plan.price == Price(10, 20)


def test_without_a_limit_a_price_changes_no_configuration() -> None:
    priced, bare = at_two({"a/one:fast": DEAR}), at_two({})
    assert configured(priced) == configured(bare)
    assert '"price"' not in configured(priced)[0].text


def test_a_script_costs_nothing_so_its_runs_are_not_stopped_by_an_unknown_cost() -> None:
    plan = plan_of(eval={"add_models": ["scripted:good"]}, budget=RUN_CAP)
    (found,) = configured(plan)
    assert (found.price, found.config.max_cost, found.config.needs_costs) == (None, 0.5, False)
    free = plan_of(eval={"add_models": ["scripted:good"]})
    assert '"unknown_cost"' not in configured(free)[0].text


def test_a_limit_that_is_taken_over_brings_the_price_that_it_needs() -> None:
    (bare,) = configured(plan_of(eval={"add_models": ["a/one:fast"]}))
    (capped,) = configured(
        plan_of(eval={"add_models": ["a/one:fast"]}, budget=RUN_CAP, prices={"a/one:fast": CHEAP})
    )
    mixed = with_changed_keys(bare, changed_keys_between(bare, capped), capped.price)
    assert (mixed.price, mixed.config.max_cost) == (Price(1, 2), 0.5)


def test_a_provider_that_reports_costs_needs_no_prices() -> None:
    counting = {"defaults_for": ["router"], "provider": {"reports_cost": "yes"}}
    plan = plan_of(budget={"max_cost": 2})
    complaint(PlaceError, lambda: check_prices_for_cost_cap(plan))
    reporting = CATALOGUE.extended(Presets.of({"preset": {"counting": counting}}))
    check_prices_for_cost_cap(replace(plan, presets=reporting))
