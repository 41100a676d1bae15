"""What a plan may not say: each mistake is told with its place, and mostly with what was meant."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.evals_values import CATALOGUE, CHAT, READ
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core.evals import EvalPlan, Options, gates_of

FAST: Final = {"base_url": "https://fast.test", "provider": "router"}
BOTH: Final = {"no_regression_of": "production", "against": "raw"}
AXES: Final[list[tuple[object, str]]] = [
    ({"models": "x"}, ".models: there is no model 'x'"),
    ({"models": 3}, ".models: expected a list of texts, got 3"),
    ({"profiles": "ht"}, ".profiles: there is no sampling profile 'ht'; did you mean 'hot'?"),
    ({"strategies": "rw"}, ".strategies: there is no strategy 'rw'; did you mean 'raw'?"),
    ({"trails": 1}, ": there is no key 'trails'; did you mean 'trials'?"),
    ({"trials": 0}, ".trials: expected a whole number of at least 1, got 0"),
    ({"trials": True}, ".trials: expected a whole number of at least 1, got True"),
    ({"seeds": 1}, ".seeds: expected true or false, got 1"),
    ({"tool_use_mode": "enforce"}, ".tool_use_mode: expected one of relaxed, enforced, disabled, got 'enfor"),
    ({"tool_failure_policy": "x"}, ".tool_failure_policy: expected one of fatal, tolerated, got 'x'"),
    ({"accept_void": ["transport.rate"]}, ".accept_void: there is no void category 'transport.rate'"),
    ({"accept_void": ["loop.max_turns"]}, ".accept_void: 'loop.max_turns' is no void run, so that it"),
    ({"min_coverage": 90}, ".min_coverage: expected a number from 0 to 1, got 90"),
    ({"preset": "smke"}, ".preset: there is no preset 'smke'; did you mean 'smoke'?"),
]
ENDPOINT: Final[list[tuple[object, str]]] = [
    ({"provider": "rotuer"}, ".provider: there is no provider 'rotuer'; did you mean 'router'?"),
    ({"base_url": "here"}, ".base_url: expected http:// or https:// and a host, without user"),
    ({"base_url": "http://me:pw@here"}, ".base_url: expected http:// or https:// and a host"),
    (
        {"base_url": "http://me:pw@here?key=k"},
        ".base_url: expected http:// or https:// and a host, without user and password, got 'http://here'",
    ),
    ({"base_url": "http://here/?v=1&api-key=k"}, ".base_url: leave credentials out; api_key_env"),
    ({"headers": {"Authorization": "x"}}, ".headers.Authorization: leave credentials out; api_key"),
    ({"headers": {"X-Title": 1}}, ".headers.X-Title: expected a text, got 1"),
    ({"headers_env": {"X-A": 1}}, ".headers_env.X-A: expected a text, got 1"),
    ({"headers_env": {"X-A": " "}}, ".headers_env.X-A: expected the name of an environment var"),
    ({"headers": {"A": "x"}, "headers_env": {"a": "X"}}, ".headers_env.a: it has a value in headers, too"),
    ({"api_prefix": "/v1?x=1"}, ".api_prefix: expected a path such as /v1, without a query"),
    ({"timeout": -1}, ".timeout: expected a number of at least 0, got -1"),
    ({"url": "x"}, ": there is no key 'url'; did you mean 'base_url'?"),
]
ENDPOINTS: Final[list[tuple[object, str]]] = [
    ({"a b": FAST}, '."a b": a name of an endpoint has letters, digits'),
    ({"a": {}}, ".a.base_url: is missing; write the URL of the server"),
    ({"a": {"base_url": "x"}}, ".a.base_url: expected http:// or https://"),
    ({"a": {**FAST, "modles": {}}}, ".a: there is no key 'modles'; did you mean 'models'?"),
    ({"a": {**FAST, "request_overrides": {"tools": []}}}, ".a.request_overrides.tools: it is set by the run"),
    ({"a": {**FAST, "provider": "rooter"}}, ".a.provider: there is no provider 'rooter'; did you mean"),
    ({"a": {**FAST, "models": {"b/there": "x"}}}, '.a.models."b/there": there is no model'),
]
GATES: Final[list[tuple[object, str]]] = [
    ({}, ": expected tables [[gate]], got {}"),
    ([3], ": expected a table, got 3"),
    ([{}], ": a gate has a metric, no_regression_of, or nothing_broke_in"),
    ([{"metric": "rates", "at_least": 1}], ": there is no metric 'rates'; did you mean 'rate'?"),
    ([{"metric": "rate"}], ": a gate about a metric has either at_least or at_most"),
    ([{"metric": "rate", "at_least": 0, "at_most": 1}], ": a gate about a metric has either at_least or"),
    ([{"metric": "rate", "at_least": "high"}], ".at_least: expected a number of at least 0, got 'high'"),
    ([{"metric": "rate", "at_least": True}], ".at_least: expected a number of at least 0, got True"),
    ([{"metric": "rate", "atleast": 1}], ": there is no key 'atleast'; did you mean 'at_least'?"),
    ([{"no_regression_of": "production"}], ": no_regression_of and against each name a strategy"),
    ([{**BOTH, "alpha": 0.05, "margin": 0.02}], ": either alpha, for a test, or margin, for the end of an"),
    ([{**BOTH, "margin": 2}], ".margin: expected a number above 0 and below 1, got 2"),
    ([{**BOTH, "alpha": 5}], ".alpha: expected a number above 0 and below 1, got 5"),
    ([{**BOTH, "about": "these"}], ".about: expected one of scenarios-such-as-these, these-scenarios, got"),
]
STRATEGIES: Final[list[tuple[object, str]]] = [
    ({"raw": {}}, ".raw: there is a strategy of that name; choose another"),
    ({"mine": {"extends": "rw"}}, ".mine.extends: there is no strategy 'rw'; did you mean 'raw'?"),
    ({"mine": {"presets": ["of"]}}, ".mine.presets: there is no preset 'of'; did you mean 'off'?"),
    ({"mine": {"confg": {}}}, ".mine: there is no key 'confg'; did you mean 'config'?"),
]
OTHERS: Final[list[tuple[dict[str, Any], str]]] = [
    ({"evl": {}}, "there is no key 'evl'; did you mean 'eval'?"),
    ({"loop": {"max_turn": 1}}, "loop: there is no setting 'max_turn'; did you mean 'max_turns'?"),
    ({"sampling": {"model": "m"}}, "sampling.model: it is set by the run itself; leave it out"),
    ({"request_overrides": {"tools": []}}, "request_overrides.tools: it is set by the run itself"),
    ({"budget": {"run": {"max_cost": 0}}}, "budget.run.max_cost: expected more than 0; leave it out for"),
    ({"budget": {"run": {"max_cst": 1}}}, "budget.run: there is no key 'max_cst'; did you mean 'max_cost'?"),
    ({"prices": {"a/m": {"prompt": 0.5}}}, 'prices."a/m": expected prompt and completion, for a million'),
    (
        {"endpoints": {"a": FAST}, "endpoint": {"timeout": 3}},
        "endpoint.timeout: the plan has tables [endpoints.NAME], each of which says where it is",
    ),
]
BY_TABLE: Final = {
    "eval": AXES,
    "endpoint": ENDPOINT,
    "endpoints": ENDPOINTS,
    "gate": GATES,
    "strategy": STRATEGIES,
}


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        *(({name: values}, name + said) for name, mistakes in BY_TABLE.items() for values, said in mistakes),
        *OTHERS,
    ],
)
def test_a_mistake_is_told_with_its_place(tables: dict[str, Any], said: str) -> None:
    given = tables if "endpoints" in tables else {"endpoint": FAST, **tables}
    found = complaint(
        ConfigError, lambda: gates_of(EvalPlan(Options.of(given), CATALOGUE, (READ, CHAT)).options)
    )
    assert found.startswith(said)
