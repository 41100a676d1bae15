from __future__ import annotations

from typing import Any, Final

import pytest

from tests.samples import complaint
from toolreel_core._internal.checks import PlaceError
from toolreel_core._jsontext.canonical import Tree, canonical
from toolreel_core.evals._plan.endpoint import Endpoint, Price
from toolreel_core.evals._plan.options import SIZES, Options, layered

WHOLE: Final[dict[str, Any]] = {
    "eval": {
        "models": "stable, !openai",
        "add_models": ["mine"],
        "profiles": ["auto"],
        "strategies": [],
        "scenarios": ["all"],
        "languages": "ja, en",
        "tool_allowlist": ["state_*"],
        "language_strict": True,
        "enforce_applicability": False,
        "content_tag_fallback": True,
        "fallback_matrix": True,
        "fix_empty_final": False,
        "seeds": True,
        "trials": 3,
        "jobs": 4,
        "verbosity": 0,
        "fallback_retries": 1,
        "empty_response_retries": 0,
        "void_retries": 5,
        "tool_use_mode": "Preferred",
        "tool_failure_policy": "tolerated",
    },
    "endpoint": {"base_url": "http://here"},
    "loop": {"max_turns": 5},
    "sampling": {"temperature": 0},
    "request_overrides": {"route": "fallback"},
    "budget": {"max_cost": 1},
    "prices": {"mine": {"prompt": 1, "completion": 2}},
    "gate": [{"metric": "rate", "at_least": 0.9}],
    "adaptive": {"until": "narrow"},
    "strategy": {"own": {"extends": "raw"}},
    "catalogue": {"preset": {"x": {}}},
}


def test_what_is_not_said_has_its_default() -> None:
    options = Options.of({})
    assert options == Options(endpoint=Endpoint(provider="openrouter", api_key_env="OPENROUTER_API_KEY"))
    assert (options.models, options.profiles, options.strategies) == (None, ("default",), ("production",))
    assert (options.tool_use_mode, options.tool_failure_policy, options.trials) == ("enforced", "fatal", 1)


def test_everything_can_be_said_and_is_told_again() -> None:
    options = Options.of(WHOLE)
    assert options.models == ("stable", "!openai")
    assert options.languages == ("ja", "en")
    assert options.tool_use_mode == "relaxed"
    assert options.prices == (("mine", Price(1, 2)),)
    assert (options.loop, options.gates) == (canonical({"max_turns": 5}), canonical(WHOLE["gate"]))
    assert Options.of(options.tree()) == options
    assert Options.of(Options.of({}).tree()) == Options.of({})


@pytest.mark.parametrize("size", SIZES)
def test_a_size_fills_in_what_nobody_says(size: str) -> None:
    options = Options.of({"eval": {"preset": size.upper(), "trials": 2}})
    assert (options.preset, options.trials) == (size, 2)
    assert Options.of({"eval": {"preset": size}}).trials == SIZES[size]["trials"]


def test_full_is_everything_and_all_is_another_name_for_it() -> None:
    full = Options.of({"eval": {"preset": "all"}})
    assert (full.preset, full.models, full.scenarios, full.trials) == ("full", ("all",), ("all",), 10)
    assert full.profiles == ("default", "recommended", "conversation", "creative", "tool_calling")
    assert full.strategies == ("raw", "baseline", "production")


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"evl": {}}, "there is no key 'evl'; did you mean 'eval'?"),
        ({"eval": {"trails": 1}}, "eval: there is no key 'trails'; did you mean 'trials'?"),
        ({"eval": {"trials": 0}}, "eval.trials: expected a whole number of at least 1, got 0"),
        ({"eval": {"trials": True}}, "eval.trials: expected a whole number of at least 1, got True"),
        ({"eval": {"seeds": 1}}, "eval.seeds: expected true or false, got 1"),
        ({"eval": {"models": 3}}, "eval.models: expected a list of texts, got 3"),
        (
            {"eval": {"tool_use_mode": "enforce"}},
            "eval.tool_use_mode: there is no mode 'enforce'; did you mean 'enforced'?",
        ),
        (
            {"eval": {"tool_failure_policy": "x"}},
            "eval.tool_failure_policy: expected one of fatal, tolerated, got 'x'",
        ),
        ({"eval": {"preset": "smke"}}, "eval.preset: there is no preset 'smke'; did you mean 'smoke'?"),
        ({"loop": {"max_turn": 1}}, "loop: there is no setting 'max_turn'; did you mean 'max_turns'?"),
        ({"sampling": {"model": "m"}}, "sampling.model: it is set by the run itself; leave it out"),
        ({"request_overrides": {"tools": []}}, "request_overrides.tools: it is set by the run itself"),
        ({"gate": {}}, "gate: expected tables [[gate]], got {}"),
        ({"gate": [3]}, "gate: expected a table, got 3"),
    ],
)
def test_a_slip_is_told_with_its_place(tree: object, said: str) -> None:
    assert complaint(PlaceError, lambda: Options.of(tree)).startswith(said)


def test_a_later_layer_goes_over_an_earlier_key_by_key() -> None:
    low: Tree = {"eval": {"trials": 2, "models": ["a"]}, "sampling": {"top_p": 1}}
    high: Tree = {"eval": {"models": ["b"]}, "sampling": {"top_k": 1}}
    assert layered([low, high]) == {
        "eval": {"trials": 2, "models": ["b"]},
        "sampling": {"top_p": 1, "top_k": 1},
    }


def test_another_server_gets_no_key_and_no_header_of_the_one_before() -> None:
    known: Tree = {"base_url": "x", "api_key_env": "KEY", "headers": {"A": "b"}, "timeout": 9}
    low: Tree = {"endpoint": known}
    assert layered([low, {"endpoint": {"base_url": "y"}}]) == {"endpoint": {"base_url": "y", "timeout": 9}}
    assert layered([low, {"endpoint": {"timeout": 1}}])["endpoint"] == {**known, "timeout": 1}
