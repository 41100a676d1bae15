from __future__ import annotations

import pytest

from tests.evals_values import worked
from toolreel_core._config_checks import Table
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._settings import Price
from toolreel_core.evals import SIZES, Budget, Endpoint, Options, merge_layers, read_prices


def endpoint(**values: object) -> Endpoint:
    return Endpoint.of(Table.of(values, "endpoint"))


def test_at_openrouter_provider_and_key_are_known() -> None:
    found = endpoint()
    assert (found.provider, found.api_key_env) == ("openrouter", "OPENROUTER_API_KEY")
    assert found.chat_url == "https://openrouter.ai/api/v1/chat/completions"
    assert endpoint(base_url="https://eu.openrouter.ai/api").provider == "openrouter"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "https://example.org/openrouter.ai", "https://notopenrouter.ai/api"]
)
def test_no_key_goes_to_a_server_that_it_is_not_for(url: str) -> None:
    found = endpoint(base_url=url)
    assert (found.provider, found.api_key_env) == ("", "")


def test_a_complete_url_is_taken_as_it_is() -> None:
    found = endpoint(base_url="http://here/api", api_prefix="/gateway")
    assert found.chat_url == "http://here/api/gateway/chat/completions"
    assert endpoint(base_url=found.chat_url).chat_url == found.chat_url


def test_whoever_says_nothing_else_waits_for_a_reply_as_long_as_for_all_of_it() -> None:
    assert endpoint(timeout=7).read_timeout == 7
    assert endpoint(timeout=7, read_timeout=3).read_timeout == 3
    assert endpoint(timeout=0).timeout == 0


def test_an_endpoint_is_told_and_read_again() -> None:
    given = {"base_url": "http://here", "headers_env": {"X-Tenant": "TENANT"}, "api_key_header": "api-key"}
    found = endpoint(**given)
    assert (found.headers_env, found.api_key_header) == ((("X-Tenant", "TENANT"),), "api-key")
    assert Endpoint.of(Table.of(found.tree())) == found


def test_a_price_is_for_a_million_tokens_in_and_out() -> None:
    prices = read_prices(Table.of({"a/m": {"prompt": 0.5, "completion": 2}}, "prices"))
    assert prices == (("a/m", Price(0.5, 2)),)
    assert prices[0][1].cost(2_000_000, 500_000) == 2


def test_what_is_not_said_has_its_default() -> None:
    options = Options.of({})
    known = Endpoint(provider="openrouter", api_key_env="OPENROUTER_API_KEY", read_timeout=120)
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


def test_a_later_layer_goes_over_an_earlier_key_by_key() -> None:
    low: Tree = {"eval": {"trials": 2, "models": ["a"]}, "sampling": {"top_p": 1}}
    high: Tree = {"eval": {"models": ["b"]}, "sampling": {"top_k": 1}}
    assert merge_layers([low, high]) == {
        "eval": {"trials": 2, "models": ["b"]},
        "sampling": {"top_p": 1, "top_k": 1},
    }


def test_another_server_gets_no_key_and_no_header_of_the_one_before() -> None:
    of_server: Tree = {
        "api_key_env": "KEY",
        "api_key_header": "api-key",
        "provider": "p",
        "api_prefix": "",
        "headers": {"A": "b"},
        "headers_env": {"C": "D"},
    }
    known: Tree = {"base_url": "x", **of_server, "timeout": 9}
    low: Tree = {"endpoint": known}
    assert merge_layers([low, {"endpoint": {"base_url": "y"}}]) == {
        "endpoint": {"base_url": "y", "timeout": 9}
    }
    assert merge_layers([low, {"endpoint": {"timeout": 1}}])["endpoint"] == {**known, "timeout": 1}
