from __future__ import annotations

import pytest

from tests.evals_values import worked
from toolreel_core._config_checks import Table
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._settings import Price
from toolreel_core.evals import SIZES, Budget, EvalEndpoint, Options, merge_layers, read_prices


def endpoint(**values: object) -> EvalEndpoint:
    return EvalEndpoint.of(Table.of(values, "endpoint"))


@pytest.mark.parametrize(("values", "fields"), worked("endpoint"))
def test_what_an_endpoint_says_and_what_follows_from_its_server(
    values: dict[str, object], fields: dict[str, object]
) -> None:
    """At OpenRouter, provider and key are known; no key goes to a server that it is not for."""
    found = endpoint(**values)
    assert {name: getattr(found, name) for name in fields} == fields


def test_an_endpoint_is_told_and_read_again() -> None:
    given = {"base_url": "http://here", "headers_env": {"X-Tenant": "TENANT"}, "api_key_header": "api-key"}
    found = endpoint(**given)
    assert (found.headers_env, found.api_key_header) == ((("X-Tenant", "TENANT"),), "api-key")
    assert EvalEndpoint.of(Table.of(found.tree())) == found


def test_a_price_is_for_a_million_tokens_in_and_out() -> None:
    prices = read_prices(Table.of({"a/m": {"prompt": 0.5, "completion": 2}}, "prices"))
    assert prices == (("a/m", Price(0.5, 2)),)
    assert prices[0][1].cost(2_000_000, 500_000) == 2


def test_what_is_not_said_has_its_default() -> None:
    options = Options.of({})
    known = EvalEndpoint(provider="openrouter", api_key_env="OPENROUTER_API_KEY", read_timeout=120)
    assert options == Options(endpoints={"": known})
    assert (options.models, options.profiles, options.strategies) == (None, ("default",), ("production",))
    assert (options.tool_use_mode, options.tool_failure_policy, options.trials) == ("enforced", "fatal", 1)


def test_everything_can_be_said_and_is_told_again() -> None:
    (whole,) = worked("all options")
    options = Options.of(whole)
    assert options.models == ("stable", "!openai")
    assert options.tool_use_mode == "relaxed"
    assert options.prices == (("mine", Price(1, 2)),)
    assert (options.budget, options.run_budget) == (Budget(5, max_minutes=60), Budget(max_tokens=20_000))
    assert options.tree()["budget"] == whole["budget"]
    assert (options.loop, options.gates) == (canonical({"max_turns": 5}), canonical(whole["gate"]))
    assert Options.of(options.tree()) == options
    assert Options.of(Options.of({}).tree()) == Options.of({})


def test_a_size_fills_in_what_nobody_says_and_all_is_another_name_for_full() -> None:
    for size, values in SIZES.items():
        options = Options.of({"eval": {"preset": size.upper(), "trials": 2}})
        assert (options.preset, options.trials) == (size, 2)
        assert Options.of({"eval": {"preset": size}}).trials == values["trials"]
    full = Options.of({"eval": {"preset": "all"}})
    assert (full.preset, full.models, full.scenarios, full.trials) == ("full", ("all",), ("all",), 10)
    assert full.profiles == ("default", "recommended", "conversation", "creative", "tool_calling")
    assert full.strategies == ("raw", "baseline", "production")


@pytest.mark.parametrize(("low", "high", "merged"), worked("layers"))
def test_a_later_layer_goes_over_an_earlier_key_by_key(low: Tree, high: Tree, merged: Tree) -> None:
    """Another server gets no key and no header of the one before."""
    assert merge_layers([low, high]) == merged
