from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel_core._internal.checks import PlaceError, Table
from toolreel_core.evals._plan.endpoint import Budget, Endpoint, Price, prices_of


def endpoint(**values: object) -> Endpoint:
    return Endpoint.of(Table.of(values, "endpoint"))


def test_at_openrouter_provider_and_key_are_known() -> None:
    found = endpoint()
    assert (found.provider, found.api_key_env) == ("openrouter", "OPENROUTER_API_KEY")
    assert found.url == "https://openrouter.ai/api/v1"
    assert endpoint(base_url="https://eu.openrouter.ai/api").provider == "openrouter"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "https://example.org/openrouter.ai", "https://notopenrouter.ai/api"]
)
def test_no_key_goes_to_a_server_that_it_is_not_for(url: str) -> None:
    found = endpoint(base_url=url)
    assert (found.provider, found.api_key_env) == ("", "")


@pytest.mark.parametrize(
    ("base_url", "prefix", "url"),
    [
        ("http://here/", "/v1", "http://here/v1"),
        ("http://here/v1/", "/v1", "http://here/v1"),
        ("http://here/v1beta/openai", "v1", "http://here/v1beta/openai"),
        ("http://here", "", "http://here"),
    ],
)
def test_the_version_is_said_once(base_url: str, prefix: str, url: str) -> None:
    assert endpoint(base_url=base_url, api_prefix=prefix).url == url


def test_whoever_says_nothing_else_waits_for_a_reply_as_long_as_for_all_of_it() -> None:
    assert endpoint(timeout=7).read_timeout == 7
    assert endpoint(timeout=7, read_timeout=3).read_timeout == 3
    assert endpoint(timeout=0).timeout == 0


def test_an_endpoint_is_told_as_it_is_read() -> None:
    found = endpoint(base_url="http://here", provider="p", headers={"X-Title": "nightly"}, open_timeout=1)
    assert Endpoint.of(Table.of(found.tree())) == found


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"base_url": "here"}, "endpoint.base_url: expected http:// or https:// and a host, without user"),
        ({"base_url": "http://me:pw@here"}, "endpoint.base_url: expected http:// or https:// and a host"),
        (
            {"headers": {"Authorization": "x"}},
            "endpoint.headers.Authorization: leave credentials out; api_key",
        ),
        ({"headers": {"X-Title": 1}}, "endpoint.headers.X-Title: expected a text, got 1"),
        ({"timeout": -1}, "endpoint.timeout: expected a number of at least 0, got -1"),
        ({"url": "x"}, "endpoint: there is no key 'url'; did you mean 'base_url'?"),
    ],
)
def test_an_endpoint_that_cannot_be_used_says_where(values: dict[str, object], said: str) -> None:
    assert complaint(PlaceError, lambda: endpoint(**values)).startswith(said)


def test_a_budget_has_caps_for_the_plan_and_for_one_run() -> None:
    tree = {"max_cost": 5, "max_minutes": 60, "run": {"max_tokens": 20_000}}
    budget = Budget.of(Table.of(tree, "budget"))
    assert budget == Budget(max_cost=5, max_minutes=60, run_max_tokens=20_000)
    assert budget.tree() == tree
    said = complaint(PlaceError, lambda: Budget.of(Table.of({"run": {"max_cost": 0}}, "budget")))
    assert said == "budget.run.max_cost: expected more than 0; leave it out for no cap"
    said = complaint(PlaceError, lambda: Budget.of(Table.of({"run": {"max_cst": 1}}, "budget")))
    assert said == "budget.run: there is no key 'max_cst'; did you mean 'max_cost'?"


def test_a_price_is_for_a_million_tokens_in_and_out() -> None:
    prices = prices_of(Table.of({"a/m": {"prompt": 0.5, "completion": 2}}, "prices"))
    assert prices == (("a/m", Price(0.5, 2)),)
    assert prices[0][1].cost(2_000_000, 500_000) == 2


def test_half_a_price_is_none() -> None:
    table = Table.of({"a/m": {"prompt": 0.5}}, "prices")
    said = complaint(PlaceError, lambda: prices_of(table))
    assert said == 'prices."a/m": expected prompt and completion, for a million tokens each'
