"""The environment variables of the reference harness."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.evals_values import worked
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Tree
from toolreel_core.evals import Options, environment_options, merge_layers

SAID: Final = {name: (value, tree) for name, value, tree in worked("variable")}


def under(**variables: str) -> dict[str, Any]:
    return dict(environment_options({f"OPENROUTER_{name}": value for name, value in variables.items()}))


@pytest.mark.parametrize("name", SAID)
def test_each_variable_says_its_option(name: str) -> None:
    value, tree = SAID[name]
    assert under(**{name: value}) == tree
    Options.of(tree)


def test_an_empty_value_only_removes_a_filter_and_the_prefix() -> None:
    removed = {"eval": {"models": [], "profiles": []}, "endpoint": {"api_prefix": ""}}
    assert under(**dict.fromkeys(SAID, " ")) == removed


@pytest.mark.parametrize(("value", "level"), [("0", 0), ("2", 2), ("true", 1), ("off", 0)])
def test_verbose_is_a_level_or_a_switch(value: str, level: int) -> None:
    assert environment_options({"VERBOSE": value}) == {"eval": {"verbosity": level}}


def test_a_single_option_goes_over_the_json_and_json_overrides_replace_whole_keys() -> None:
    assert under(TEMPERATURE="0.1", LLM_OPTIONS_DEFAULTS_JSON='{"temperature":1,"seed":3}') == {
        "sampling": {"temperature": 0.1, "seed": 3}
    }
    overrides = '{"provider":{"sort":"price"}}'
    assert under(ROUTE="r", PROVIDER_ONLY="a", REQUEST_OVERRIDES_JSON=overrides) == {
        "request_overrides": {"route": "r", "provider": {"sort": "price"}}
    }


def test_the_key_goes_to_the_server_that_is_named_beside_it() -> None:
    tree = under(BASE_URL="https://proxy", API_KEY="secret")
    known = {"provider": "openrouter", "api_key_env": "OPENROUTER_API_KEY"}
    assert tree == {"endpoint": {"base_url": "https://proxy", **known}}


def test_behind_a_gateway_the_provider_is_openrouter_unless_said_otherwise() -> None:
    tree = under(BASE_URL="https://proxy")
    assert Options.of(tree).endpoints[""].provider == "openrouter"
    named: Tree = {"endpoint": {"provider": "llama_cpp"}}
    assert Options.of(merge_layers([tree, named])).endpoints[""].provider == "llama_cpp"
    elsewhere: Tree = {"endpoint": {"base_url": "http://elsewhere"}}
    assert Options.of(merge_layers([tree, elsewhere])).endpoints[""].provider == ""
    assert under(BASE_URL=" ") == {}


def test_full_takes_all_strategies_and_profiles_whatever_the_matrices_say() -> None:
    assert under(EVAL_PRESET="full", STRATEGY_MATRIX="1", PRODUCTION_AUTO_SAMPLING_PROFILE="1") == {
        "eval": {"preset": "full"}
    }
    assert under(EVAL_PRESET="smoke", FULL="1") == {"eval": {"preset": "smoke"}}


@pytest.mark.parametrize(("value", "sent"), [("auto", None), ("a,b", ["a", "b"]), ("FALSE", [])])
def test_transforms_are_sent_unless_they_are_automatic(value: str, sent: list[str] | None) -> None:
    expected = {} if sent is None else {"request_overrides": {"transforms": sent}}
    assert under(TRANSFORMS=value) == expected


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TRIALS", "many", "OPENROUTER_TRIALS: expected a whole number, got 'many'"),
        ("TEMPERATURE", "warm", "OPENROUTER_TEMPERATURE: expected a number, got 'warm'"),
        ("FULL", "maybe", "OPENROUTER_FULL: expected 1 or 0, got 'maybe'"),
        ("LLM_OPTIONS_DEFAULTS_JSON", "{", "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON: expected a JSON object"),
        ("REQUEST_OVERRIDES_JSON", "[]", "OPENROUTER_REQUEST_OVERRIDES_JSON: expected a JSON object, got"),
    ],
)
def test_a_value_that_cannot_be_meant_is_an_error_and_no_default(name: str, value: str, said: str) -> None:
    assert complaint(ConfigError, lambda: under(**{name: value})).startswith(said)
