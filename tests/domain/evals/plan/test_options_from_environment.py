"""The environment variables of the reference harness."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evals_values import worked
from toolreel_core._jsontext import Tree
from toolreel_core.evals import Options, environment_options, merge_layers

SAID = {name: (value, tree) for name, value, tree in worked("variable")}


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


@pytest.mark.parametrize(("variables", "tree"), worked("environment"))
def test_variables_say_their_options_together(variables: dict[str, str], tree: Tree) -> None:
    """A single option goes over JSON; the key goes to the server that is named beside it."""
    assert environment_options(variables) == tree


def test_behind_a_gateway_the_provider_is_openrouter_unless_said_otherwise() -> None:
    tree = under(BASE_URL="https://proxy")
    assert Options.of(tree).endpoints[""].provider == "openrouter"
    named: Tree = {"endpoint": {"provider": "llama_cpp"}}
    assert Options.of(merge_layers([tree, named])).endpoints[""].provider == "llama_cpp"
    elsewhere: Tree = {"endpoint": {"base_url": "http://elsewhere"}}
    assert Options.of(merge_layers([tree, elsewhere])).endpoints[""].provider == ""
